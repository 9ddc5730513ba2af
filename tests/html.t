#!/bin/sh
# make html: the documents and the manual for a browser, and where their links lead.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

python=python3
! /usr/bin/python3 -c 'import markdown' 2>/dev/null || python=/usr/bin/python3
command -v "$python" >/dev/null || skip_all 'no python3'
have_markdown=false have_mandoc=false
! "$python" -c 'import markdown' 2>/dev/null || have_markdown=true
! command -v mandoc >/dev/null || have_mandoc=true
$have_markdown || $have_mandoc || skip_all 'neither mandoc nor python3-markdown'

# links FOLDER: each link, picture and anchor in the folder's pages that leads nowhere, and each page
# that the index does not lead to.
cat >"$tmp/links.py" <<'PYTHON'
import os, sys
from html.parser import HTMLParser
from urllib.parse import unquote

class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = [], []
        self.feed(open(path, encoding="utf-8").read())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            elif name in ("href", "src"):
                self.links.append(value)

top = sys.argv[1]
pages = {os.path.relpath(os.path.join(folder, file), top): Page(os.path.join(folder, file))
         for folder, _, files in os.walk(top) for file in files if file.endswith(".html")}
leads = {}
for name, page in pages.items():
    for id in set(page.ids):
        if page.ids.count(id) > 1:
            print(f"{name}: two places are called {id}")
    for link in page.links:
        path, _, anchor = link.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(name), unquote(path))) if path else name
        leads.setdefault(name, set()).add(to)
        if ":" in path or path.startswith("/"):
            print(f"{name}: {link} is not relative")
        elif not os.path.isfile(os.path.join(top, to)):
            print(f"{name}: {link} leads nowhere")
        elif anchor and anchor not in pages[to].ids:
            print(f"{name}: {link}: no such place")
found, next_ones = set(), ["index.html"]
while next_ones:
    name = next_ones.pop()
    if name not in found:
        found.add(name)
        next_ones += leads.get(name, ())
for name in sorted(set(pages) - found):
    print(f"{name} is not reached from the index")
PYTHON
links() { python3 "$tmp/links.py" "$1"; }

# ---- what make makes

run env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$top_builddir" html "html_folder=$tmp/html"
is 'make html' "$status" 0
is '... every link and picture leads somewhere' "$(links "$tmp/html")" ''
# entry NAME FILE: the index has NAME, and it leads to FILE.
entry() { check "the index has $1" grep -qF "<a href=\"$2\">$1</a>" "$tmp/html/index.html"; }
if $have_mandoc; then
    for page in "$top_srcdir"/man/*.[1-9]; do
        name=${page##*/}
        other=$(sed -n 's,^\.so man[0-9]/,,p' "$page")
        entry "${name%.*}(${name##*.})" "man/${other:-$name}.html"
    done
    check 'pages name each other by links' grep -q '<a href="gpubind.7.html">' "$tmp/html/man/gpubind.1.html"
else
    skip 'the manual' 'no mandoc'
fi
if $have_markdown; then
    for document in "$top_srcdir"/docs/*.md "$top_srcdir/README.md"; do
        file=${document#"$top_srcdir/"}
        check "the index leads to $file" grep -qF "<a href=\"${file%.md}.html\">" "$tmp/html/index.html"
    done
    ! $have_mandoc || check 'documents name pages by links' \
        grep -q '<a href="../man/gpubind-aware.7.html">gpubind-aware(7)</a>' "$tmp/html/docs/gpu-aware.html"
    is 'no Markdown is left as it was' \
        "$(grep -lE '^(#+ |```|- |\| )' "$tmp"/html/*.html "$tmp"/html/docs/*.html)" ''
else
    skip 'the documents' 'no python3-markdown'
fi

# ---- a link that leads nowhere is found

mkdir "$tmp/wrong"
cp -r "$tmp/html/." "$tmp/wrong"
echo '<p id="a"><a href="none.html"></a><a href="#b"></a><img src="/x"></p><p id="a">' >>"$tmp/wrong/index.html"
echo >"$tmp/wrong/alone.html"
is 'what is wrong in a page is found' "$(links "$tmp/wrong")" 'index.html: two places are called a
index.html: none.html leads nowhere
index.html: #b: no such place
index.html: /x is not relative
alone.html is not reached from the index'

# ---- what is not there is left out, and named

mkdir "$tmp/none"
echo 'raise ImportError' >"$tmp/none/markdown.py"
if $have_mandoc; then
    run env PYTHONPATH="$tmp/none" "$python" "$top_srcdir/docs/to_html.py" "$top_srcdir" "$tmp/part" mandoc
    is 'without Python-Markdown: one line' "$status $(cat "$tmp/err")" \
        '0 to_html.py: the documents are left out: there is no Python module markdown (Debian: python3-markdown)'
    is '... and the manual' "$(links "$tmp/part") $(ls "$tmp/part/man" | wc -l)" \
        " $(grep -L '^\.so ' "$top_srcdir"/man/*.[1-9] | wc -l)"
fi
if $have_markdown; then
    run "$python" "$top_srcdir/docs/to_html.py" "$top_srcdir" "$tmp/part" no-such-mandoc
    is 'without mandoc: one line' "$status $(cat "$tmp/err")" \
        '0 to_html.py: the manual is left out: there is no mandoc'
    is '... and the documents' "$(links "$tmp/part") $(ls "$tmp/part/docs" | grep -c html)" \
        " $(ls "$top_srcdir"/docs/*.md | wc -l)"
fi
run env PYTHONPATH="$tmp/none" "$python" "$top_srcdir/docs/to_html.py" "$top_srcdir" "$tmp/part" no-such-mandoc
is 'without both: an error' "$status $(cat "$tmp/err")" \
    '1 to_html.py: there is neither mandoc nor Python'\''s module markdown'

# ---- a folder of somebody's

mkdir -p "$tmp/home/docs" && echo data >"$tmp/home/docs/file"
run "$python" "$top_srcdir/docs/to_html.py" "$top_srcdir" "$tmp/home" mandoc
is 'a folder with other files: an error' "$status $(tail -n 1 "$tmp/err")" \
    "1 to_html.py: $tmp/home holds what is no HTML of gpubind's; name another folder"
is '... which stay' "$(cat "$tmp/home/docs/file")" data
done_testing
