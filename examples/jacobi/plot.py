#!/usr/bin/env python3
"""Pictures of what jacobi measured, as SVG on stdout.

usage: plot.py bars RESULTS.csv [TITLE]
           time a step of each version; the file is what jacobi --csv printed, of one run
           or of several, one behind the other
       plot.py timeline TIMELINE.csv [VERSION [STEPS [TITLE]]]
           when kernels and exchanges ran, from jacobi --timeline; the last version, and two
           steps, unless others are named
"""
import csv
import math
import sys
from xml.sax.saxutils import escape

WIDTH = 960
LEFT, RIGHT = 130, 34
STYLE = """  <style>
    text { font: 13px sans-serif; fill: #2b2b2b; }
    .title { font-size: 15px; font-weight: bold; }
    .small { font-size: 12px; fill: #5a5a5a; }
    .y { text-anchor: end; } .x { text-anchor: middle; }
    .card { fill: #fbfaf6; stroke: #c9c6bc; }
    .grid { stroke: #dedbd0; } .frame { fill: none; stroke: #a8a498; }
    .interior { fill: #33689e; } .exchange { fill: #a9501c; } .boundary { fill: #6f9a3c; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6e4de; } .small { fill: #b0ada5; }
      .card { fill: #1d1e20; stroke: #45474b; }
      .grid { stroke: #36383c; } .frame { stroke: #6a6c70; }
      .interior { fill: #7fb2e5; } .exchange { fill: #e39763; } .boundary { fill: #a7cf75; }
    }
  </style>
"""
# kind in the timeline: class of its colour, word in the legend
KINDS = {
    "boundary": ("boundary", "boundary rows"),
    "interior": ("interior", "inner rows"),
    "whole": ("interior", "all rows"),
    "exchange": ("exchange", "exchange"),
}


class Wrong(Exception):
    """A sentence about the input."""


def read(path, columns):
    """The rows of a CSV file as dictionaries; later header lines are passed over."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise Wrong(f"{path}: {error}") from error
    rows = [row for row in rows if row.get("version") != "version"]
    if not rows or any(row.get(name) is None for row in rows for name in columns):
        raise Wrong(f"{path}: not lines of {','.join(columns)}")
    return rows


def number(text, path):
    """A number of the file."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Wrong(f"{path}: '{text}' is no number")
    return value


def text_at(x, y, text, classes=""):
    """A line of text."""
    chosen = f' class="{classes}"' if classes else ""
    return f'  <text{chosen} x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>\n'


def bar(x, y, width, height, kind, says):
    """A rectangle that says what it is under the pointer."""
    return (f'  <rect class="{kind}" x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" '
            f'height="{height}"><title>{escape(says)}</title></rect>\n')


def legend(x, y, entries):
    """(class, word) pairs, side by side."""
    out = ""
    for kind, word in entries:
        out += f'  <rect class="{kind}" x="{x:.1f}" y="{y - 10:.1f}" width="12" height="12"/>\n'
        out += text_at(x + 18, y, word, "small")
        x += 44 + 6.6 * len(word)
    return out


def ticks(high, most=8):
    """Round numbers from 0 up to high."""
    power = 10 ** math.floor(math.log10(high / most))
    step = next(power * digit for digit in (1, 2, 5, 10, 20) if high <= most * power * digit)
    return [i * step for i in range(int(high / step) + 1)]


def picture(label, title, height, body):
    """The whole file."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            f'width="{WIDTH}" height="{height}"\n     role="img" '
            f'aria-label="{escape(label, {chr(34): "&quot;"})}">\n{STYLE}'
            f'  <rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="10"/>\n'
            + text_at(22, 30, title, "title") + body + "</svg>\n")


def axis(top, bottom, high, scale, word):
    """Lines down from top to bottom, their numbers below."""
    out = ""
    for tick in ticks(high):
        x = LEFT + tick * scale
        out += f'  <path class="grid" d="M{x:.1f} {top}V{bottom}"/>\n'
        out += text_at(x, bottom + 18, f"{tick:g}", "small x")
    out += f'  <path class="frame" d="M{LEFT} {top}V{bottom}"/>\n'
    return out + text_at((LEFT + WIDTH - RIGHT) / 2, bottom + 36, word, "small x")


# ---- time a step

def name_of_run(row):
    """The rows of one run have it in common."""
    norm = row["norm_every"]
    words = f'{row["rows"]} x {row["columns"]} {row["type"]}, {row["ranks"]} ranks'
    if norm != "0":
        words += ", norm each step" if norm == "1" else f", norm each {norm} steps"
    return words


def draw_run(rows, path, top):
    """The bars of a run; returns them and where they end."""
    times = [number(row["us"], path) for row in rows]
    high = max(times)
    if high <= 0:
        raise Wrong(f"{path}: a step takes no time")
    scale = (WIDTH - LEFT - RIGHT - 150) / high
    bottom = top + 14 + 26 * len(rows)
    out = text_at(22, top, name_of_run(rows[0])) + axis(top + 10, bottom, high, scale, "us a step")
    for i, (row, us) in enumerate(zip(rows, times)):
        y = top + 16 + 26 * i
        alone = number(row["us_alone"], path) if row["us_alone"] else us
        alone = min(alone, us)
        out += text_at(LEFT - 8, y + 13, row["version"], "y")
        out += bar(LEFT, y, alone * scale, 17, "interior",
                   f'{row["version"]}: {alone:.1f} us without messages')
        says = f"{us:.1f} us"
        if us > alone:
            out += bar(LEFT + alone * scale, y, (us - alone) * scale, 17, "exchange",
                       f'{row["version"]}: {us - alone:.1f} us more with messages')
        if row["us_alone"]:
            says += f", exposed {max(us - alone, 0):.1f}"
        out += text_at(LEFT + us * scale + 8, y + 13, says, "small")
    return out, bottom + 36


def bars(path, title=None):
    """Of each run the versions' times, the exposed messages in another colour."""
    rows = read(path, ["version", "ranks", "rows", "columns", "type", "norm_every", "us", "us_alone"])
    runs = {}
    for row in rows:
        runs.setdefault(name_of_run(row), []).append(row)
    body = legend(22, 54, [("interior", "the same kernels without messages"),
                           ("exchange", "exposed communication")])
    top = 84
    for run in runs.values():
        drawn, end = draw_run(run, path, top)
        body += drawn
        top = end + 32
    return picture("Time a step of the versions", title or "Jacobi: time a step by version",
                   top - 16, body)


# ---- timeline

def choose_spans(rows, version, steps, path):
    """Those of the version and of its first steps; returns them and its name."""
    version = version or rows[-1]["version"]
    spans = [row for row in rows if row["version"] == version]
    if not spans:
        raise Wrong(f"{path}: no version {version}")
    for row in spans:
        row["begin"], row["end"] = number(row["begin_us"], path), number(row["end_us"], path)
        if row["kind"] not in KINDS or row["end"] < row["begin"]:
            raise Wrong(f"{path}: {row['kind']} from {row['begin_us']} to {row['end_us']} is no span")
    spans = [row for row in spans if number(row["step"], path) < steps]
    if not spans:
        raise Wrong(f"{path}: no step is below {steps}")
    return spans, version


def timeline(path, version=None, steps="2", title=None):
    """One lane a rank and stream."""
    if not steps.isdigit() or steps == "0":
        raise Wrong(f"STEPS: '{steps}' is no number from 1 on")
    rows = read(path, ["version", "rank", "step", "lane", "kind", "begin_us", "end_us"])
    spans, version = choose_spans(rows, version, int(steps), path)
    begin = min(row["begin"] for row in spans)
    high = max(row["end"] for row in spans) - begin
    if high <= 0:
        raise Wrong(f"{path}: nothing takes time")
    scale = (WIDTH - LEFT - RIGHT) / high
    lanes = sorted({(int(number(row["rank"], path)), row["lane"]) for row in spans})
    top, place, y = 72, {}, 80
    for i, lane in enumerate(lanes):
        y += 8 if i and lanes[i - 1][0] != lane[0] else 0
        place[lane] = y
        y += 26
    kinds = [kind for kind in KINDS if any(row["kind"] == kind for row in spans)]
    body = legend(22, 54, [KINDS[kind] for kind in kinds]) + axis(top, y, high, scale, "us")
    for (rank, lane), at in place.items():
        body += text_at(LEFT - 8, at + 14, f"rank {rank}, {lane}", "y small")
    for row in spans:
        body += bar(LEFT + (row["begin"] - begin) * scale, place[int(row["rank"]), row["lane"]],
                    max((row["end"] - row["begin"]) * scale, 1), 19, KINDS[row["kind"]][0],
                    f'rank {row["rank"]}, step {row["step"]}, {KINDS[row["kind"]][1]}: '
                    f'{row["end"] - row["begin"]:.1f} us')
    return picture("When kernels and exchanges ran",
                   title or f"Jacobi, version {version}: {steps} steps", y + 52, body)


def main(arguments):
    """Returns the exit status."""
    pictures = {"bars": (bars, 2), "timeline": (timeline, 4)}
    if arguments in (["--help"], ["-h"]):
        print(__doc__.strip())
        return 0
    draw, most = pictures.get(arguments[0] if arguments else "", (None, 0))
    if not draw or not 1 <= len(arguments) - 1 <= most:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        sys.stdout.write(draw(*arguments[1:]))
    except Wrong as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
