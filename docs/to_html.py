#!/usr/bin/env python3
"""Write the documents and the manual as HTML: to_html.py SOURCES OUT [MANDOC].

OUT has the tree of SOURCES: README.md becomes README.html, docs/NAME.md docs/NAME.html, and
man/PAGE.N man/PAGE.N.html; what an earlier run has left there is removed. Without MANDOC the manual is left out, without Python's module markdown
the documents are; the one line on stderr says so.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

try:
    import markdown
except ImportError:
    markdown = None

# The order in which they are listed; other documents of the folder follow.
ORDER = ["README.md", "docs/tutorial.md", "docs/install.md", "docs/placement.md",
         "docs/gpu-aware.md", "docs/applications.md", "docs/library.md", "docs/measurements.md",
         "docs/mpis.md"]
LAST = ["CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md"]
SECTIONS = {"1": "Commands", "7": "Overviews", "3": "Functions of the library"}

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body>
<nav><a href="{up}index.html">gpubind</a>{trail}</nav>
<main>
{body}
</main>
</body>
</html>
"""


class Site:
    """What there is to write, and where it goes; names are paths below SOURCES."""

    def __init__(self, sources, out, mandoc):
        self.sources, self.out, self.mandoc = Path(sources), Path(out), mandoc
        self.documents = self.find_documents() if markdown else []
        self.pages, self.aliases = self.find_pages() if mandoc else ({}, {})

    def find_documents(self):
        found = sorted(str(p.relative_to(self.sources)) for p in self.sources.glob("docs/*.md"))
        names = ORDER + [name for name in found if name not in ORDER] + LAST
        return [name for name in names if (self.sources / name).exists()]

    def find_pages(self):
        """"gpubind.1" -> its text, and names of functions -> the page that has them."""
        pages, aliases = {}, {}
        for path in sorted(self.sources.glob("man/*.[137]"), key=lambda path: path.stem):
            text = path.read_text(encoding="utf-8")
            other = re.match(r"\.so man\d/(\S+)", text)
            if other:
                aliases[path.name] = other.group(1)
            else:
                pages[path.name] = text
        return pages, aliases

    def page_of(self, name):
        """The file of a manual page, below OUT, or None."""
        name = self.aliases.get(name, name)
        return f"man/{name}.html" if name in self.pages else None

    def write(self, name, title, body, trail=""):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * name.count("/")
        trail = f" / {html.escape(trail)}" if trail else ""
        path.write_text(PAGE.format(title=html.escape(title), body=body, up=up, trail=trail),
                        encoding="utf-8")

    def link_pages(self, text, name):
        """gpubind(1) and <b>gpubind</b>(1), where they are no link or code, become links."""
        def link(match):
            opened, page, closed, section = match.groups()
            target = self.page_of(f"{page}.{section}")
            if not target or target == name:
                return match.group(0)
            to = os.path.relpath(target, os.path.dirname(name) or ".")
            return f'<a href="{to}">{opened}{page}{closed}({section})</a>'

        pattern = re.compile(r"(<b>|)\b([A-Za-z][\w-]*)(</b>|)\(([137])\)")
        parts = re.split(r"(<pre.*?</pre>|<a .*?</a>|<code>.*?</code>|<h\d.*?</h\d>)", text,
                         flags=re.DOTALL)
        return "".join(part if i % 2 else pattern.sub(link, part) for i, part in enumerate(parts))


# ---- the manual

def unroff(text):
    text = re.sub(r"\\f[BIRP]", "", text).replace(r"\-", "-").replace(r"\(aq", "'")
    return " ".join(re.sub(r"(?m)^\.[A-Z]+ ", "", text).split())


def described(roff):
    """What NAME says behind the dash."""
    names = re.search(r"^\.SH NAME\n(.*?)^\.SH", roff, re.MULTILINE | re.DOTALL).group(1)
    return unroff(names).split(" - ", 1)[-1]


def contents(body):
    """A list of the sections, where there are many."""
    heads = re.findall(r'<h1 class="Sh" id="([^"]+)">.*?>(.*?)</a></h1>', body, re.DOTALL)
    if len(heads) < 8:
        return ""
    links = " &middot; ".join(f'<a href="#{anchor}">{" ".join(words.split())}</a>'
                              for anchor, words in heads)
    return f'<p class="contents">{links}</p>\n'


def write_page(site, name):
    said = subprocess.run([site.mandoc, "-T", "html", "-O", "fragment", site.sources / "man" / name],
                          stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    body = re.sub(r'<table class="(head|foot)">.*?</table>\n?', "", said, flags=re.DOTALL)
    body = body.replace("\n<br/>\n", "\n").replace("</pre>\n<pre>", "\n\n")
    body = re.sub("(?s)(?<=<pre>).*?(?=</pre>)", lambda match: textwrap.dedent(match.group()), body)
    base, section = name.rsplit(".", 1)
    title = f"{base}({section})"
    file = f"man/{name}.html"
    site.write(file, title, f"<h1>{title}</h1>\n" + contents(body) + site.link_pages(body, file),
               title)


# ---- the documents

def title_of(site, name):
    text = (site.sources / name).read_text(encoding="utf-8")
    return re.search(r"^# (.*)", text, re.MULTILINE).group(1)


def lead(site, target, name):
    """Where a link of a document leads in HTML; None: nowhere."""
    path, _, anchor = target.partition("#")
    if re.match(r"[a-z]+:", target) or not path:
        return target
    whole = os.path.normpath(os.path.join(os.path.dirname(name), path))
    if whole in site.documents:
        to = re.sub(r"\.md$", ".html", whole)
    elif whole.startswith("man/"):
        to = site.page_of(whole[4:])
    elif whole.startswith("docs/pictures/"):
        to = whole
    else:
        to = None
    if not to:
        return None
    return os.path.relpath(to, os.path.dirname(name) or ".") + (f"#{anchor}" if anchor else "")


def write_document(site, name):
    text = (site.sources / name).read_text(encoding="utf-8")
    # GitHub takes a list right below a line of text.
    text = re.sub(r"(?m)^((?![-\d| ]|```).+)\n(- |1\. )", r"\1\n\n\2", text)
    body = markdown.markdown(text, extensions=["tables", "fenced_code", "toc", "sane_lists"])

    def link(match):
        to = lead(site, html.unescape(match.group(1)), name)
        return f'<a href="{html.escape(to)}">{match.group(2)}</a>' if to else match.group(2)

    body = re.sub(r'<a href="([^"]*)">(.*?)</a>', link, body, flags=re.DOTALL)
    # A picture leads to itself alone, which a phone can enlarge.
    body = re.sub(r'<img [^>]*src="([^"]*)"[^>]*>', r'<a href="\1">\g<0></a>', body)
    file = re.sub(r"\.md$", ".html", name)
    title = title_of(site, name)
    site.write(file, title, site.link_pages(body, file), title if title != "gpubind" else "")


# ---- the index, and all

def index_documents(site):
    items = "".join(f'<li><a href="{re.sub("[.]md$", ".html", name)}">'
                    f'{html.escape("Overview" if name == "README.md" else title_of(site, name))}</a>'
                    "</li>\n" for name in site.documents)
    return f"<h2>Documents</h2>\n<ul>\n{items}</ul>\n" if items else ""


def index_pages(site):
    text = ""
    for section, title in SECTIONS.items():
        text += f"<h2>{title}</h2>\n<dl>\n"
        for name, roff in site.pages.items():
            if not name.endswith("." + section):
                continue
            names = [name] + [a for a, to in site.aliases.items() if to == name]
            links = ", ".join(f'<a href="man/{name}.html">{n[:-2]}({section})</a>' for n in names)
            text += f"<dt>{links}</dt><dd>{html.escape(described(roff))}</dd>\n"
        text += "</dl>\n"
    return text if site.pages else ""


def is_old(out):
    """It is empty, or an earlier run has written it, the style sheet first."""
    names = {path.name for path in out.iterdir()} if out.is_dir() else {""}
    return not names or ("style.css" in names and names <= {"docs", "man", "style.css"} |
                         {name for name in names if name.endswith(".html")})


def write_all(site):
    shutil.rmtree(site.out, ignore_errors=True)
    (site.out / "docs").mkdir(parents=True)
    shutil.copy(site.sources / "docs/style.css", site.out)
    pictures = site.out / "docs/pictures"
    pictures.mkdir()
    for picture in site.sources.glob("docs/pictures/*.svg"):
        shutil.copy(picture, pictures)
    for name in site.documents:
        write_document(site, name)
    for name in site.pages:
        write_page(site, name)
    site.write("index.html", "gpubind", "<h1>gpubind</h1>\n"
               "<p>The right GPU for every MPI rank, and messages between GPUs.</p>\n"
               + index_documents(site) + index_pages(site))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: to_html.py SOURCES OUT [MANDOC]")
    mandoc = shutil.which(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else None
    if not mandoc and not markdown:
        sys.exit("to_html.py: there is neither mandoc nor Python's module markdown")
    if not mandoc:
        print("to_html.py: the manual is left out: there is no mandoc", file=sys.stderr)
    if not markdown:
        print("to_html.py: the documents are left out: there is no Python module markdown "
              "(Debian: python3-markdown)", file=sys.stderr)
    site = Site(sys.argv[1], sys.argv[2], mandoc)
    if site.out.exists() and not is_old(site.out):
        sys.exit(f"to_html.py: {site.out} holds what is no HTML of gpubind's; name another folder")
    write_all(site)
    return 0


if __name__ == "__main__":
    sys.exit(main())
