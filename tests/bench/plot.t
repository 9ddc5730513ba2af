#!/bin/sh
# gpubind-plot: pictures of recorded results in each format, what --help and the manual page
# say, and what it refuses. A quick run refuses little and draws once.
quick=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_QUICK=//p')
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

program=$top_builddir/bench/plot/gpubind-plot
recorded=$top_srcdir/tests/plot
page=$top_srcdir/man/gpubind-plot.1
command -v python3 >/dev/null || skip_all 'no python3'
# The one that Debian's packages are for, where another comes first.
for python in python3 /usr/bin/python3; do
    "$python" -c 'import matplotlib' 2>/dev/null && break
done
# Its cache of fonts is made once.
[ -z "${XDG_CACHE_HOME-}${HOME-}" ] && export HOME="$tmp"
plot() { run bounded "$python" "$program" "$@"; }

# ---- --help, --version, the manual page

plot --version
is '--version' "$status $(cat "$tmp/out")" "0 $(sed -n '1s/.*"gpubind \([^"]*\)".*/gpubind-plot \1/p' "$page")"
plot --help
is '--help: succeeds' "$status" 0
help_options() { sed -nE 's/^  -([a-zA-Z]), (--.*)/-\1 \2/p' "$1" | sort; }
man_options() {
    awk '/^\.SH / { on = $2 == "OPTIONS" } on && tag { print } { tag = /^\.TP/ }' "$1" |
        sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/^(-.), /\1 /' | sort
}
check '--help: options were found' test "$(help_options "$tmp/out" | wc -l)" = 6
is '--help and gpubind-plot(1) have the same options' "$(man_options "$page")" "$(help_options "$tmp/out")"
sed '/^.fB.-l/d' "$page" >"$tmp/changed"
check '... and a difference would be noticed' \
    test "$(man_options "$tmp/changed")" != "$(help_options "$tmp/out")"
linted "$page" 'gpubind-plot(1)'

# ---- refused: one sentence, status 1, no file

# refuses DESCRIPTION PATTERN [WORD...]
refuses() {
    what=$1 pattern=$2
    shift 2
    plot "$@"
    if [ "$status" = 1 ] && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] &&
        grep -q "^gpubind-plot: $pattern" "$tmp/err"; then
        ok "$what"
    else
        not_ok "$what"
        diag "status $status, not 1, or not one sentence with '$pattern'"
    fi
}
mkdir "$tmp/d"
svg=$tmp/d/x.svg
refuses 'no file' 'no file is given' -o "$svg"
refuses 'no such file' "$tmp/none.json cannot be read: No such file" -o "$svg" "$tmp/none.json"
# written TEXT: as an input.
written() { printf %b "$1" >"$tmp/in.json"; }
bad=$tmp/in.json
written 'measure,method\n' && refuses 'CSV' "$bad is no JSON (line 1): gpubind-bench writes it with --json" -o "$svg" "$bad"
if [ -z "$quick" ]; then
    refuses 'two files' "'b.json' is one word too many" -o "$svg" a.json b.json
    refuses 'no picture' 'no picture is named' "$recorded/p2p.json"
    refuses 'an unknown option' "unknown option '--svg' (gpubind-plot --help" --svg x
    refuses 'an unknown letter' "unknown option '-x'" -x
    refuses 'no value' "option '--output' needs a value" "$recorded/p2p.json" --output
    refuses 'a value too many' "option '--list' takes no value" --list=1
    for name in x x.jpg svg .svg; do
        refuses "a picture called $name" "--output: the name of $name ends in none of .svg, .png, .pdf and .html" \
            -o "$name" "$recorded/p2p.json"
    done
    refuses 'a folder' "$tmp/d cannot be read: Is a directory" -o "$svg" "$tmp/d"
    written '' && refuses 'nothing' "$bad is empty" -o "$svg" "$bad"
    written ' \n' && refuses 'blanks' "$bad is empty" -o "$svg" "$bad"
    refuses 'an empty standard input' 'standard input is empty' -o "$svg" -
    written '\377\376\n\001' && refuses 'no text' "$bad is no JSON" -o "$svg" "$bad"
    head -c 300 "$recorded/p2p.json" >"$bad" && refuses 'half a file' "$bad is no JSON (line [0-9]*)" -o "$svg" "$bad"
    for json in '[]' '3' '{}' '{"results": []}' '{"subcommand": "p2q", "results": []}' \
                '{"subcommand": "p2p"}' '{"subcommand": "p2p", "results": {}}' \
                '{"subcommand": ["p2p"], "results": []}' '{"subcommand": "p2p", "results": [1]}' \
                '{"nodes": [], "ranks": 2}' \
                '{"subcommand": "report", "results": [], "sections": [{"results": []}]}'; do
        written "$json"
        refuses "JSON of another program: $json" "$bad: this JSON was not written by gpubind-bench" -o "$svg" "$bad"
    done
    for json in '{"subcommand": "p2p", "results": []}' \
                '{"subcommand": "p2p", "machine": 3, "notes": {}, "sections": 4, "results": [{}]}' \
                '{"subcommand": "pt2pt", "results": [{"measure": "latency", "bytes": 8, "us": 0}]}' \
                '{"subcommand": "pt2pt", "results": [{"measure": "latency", "bytes": 8, "us": "8"}]}' \
                '{"subcommand": "pt2pt", "results": [{"measure": "latency", "bytes": 8, "us": NaN}]}' \
                '{"subcommand": "report", "results": [], "sections": [{"subcommand": "put", "results": []}]}'; do
        written "$json"
        refuses "nothing to draw: $json" "$bad has no results that could be drawn" -o "$svg" "$bad"
    done
fi
refuses 'a panel that is not there' "--only: 'put' is no panel of this file" --only latency-on,put -o "$svg" "$recorded/p2p.json"

# ---- what can be drawn

plot --list "$recorded/p2p.json"
is '--list' "$status $(sed 's/ .*//' "$tmp/out" | xargs)" \
    "0 $(for m in latency ping-pong one-way both-ways; do echo "p2p/$m-off p2p/$m-on"; done | xargs) p2p/local"
plot --list --only halo,put-warp "$top_srcdir/docs/pictures/report-2-h200.json"
is '--list of a report' "$status $(sed 's/ .*//' "$tmp/out" | xargs)" '0 halo/stream halo/graph halo/started put/put-warp'

# ---- without matplotlib

mkdir "$tmp/modules" && echo 'raise ImportError' >"$tmp/modules/matplotlib.py"
PYTHONPATH=$tmp/modules
export PYTHONPATH
executable=$("$python" -c 'import sys; print(sys.executable)')
case $executable in
/usr/bin/*)
    refuses 'no matplotlib: names the package' '.* has no matplotlib: install the package python3-matplotlib$' \
        -o "$svg" "$recorded/p2p.json" ;;
esac
distribution=$python python=$tmp/modules/python3
ln -s "$executable" "$python"
refuses 'no matplotlib, and not the Python of the distribution' \
    ".* has no matplotlib: '$python -m pip install matplotlib' gets it$" -o "$svg" "$recorded/p2p.json"
if [ -x /usr/bin/python3 ]; then
    echo 'import sys
if not sys.executable.startswith("/usr/bin/"): raise ImportError' >"$tmp/modules/matplotlib.py"
    refuses 'no matplotlib, but that of the distribution has it' \
        ".* has no matplotlib: /usr/bin/python3 has it, so type '/usr/bin/python3 $program ...'$" -o "$svg" "$recorded/p2p.json"
else
    skip 'no matplotlib, but that of the distribution has it' 'no /usr/bin/python3'
fi
python=$distribution
unset PYTHONPATH
is 'no file is left of all these' "$(ls -A "$tmp/d")" ''
if ! "$python" -c 'import matplotlib' 2>/dev/null; then
    skip 'pictures' 'no python3-matplotlib'
    done_testing
    exit
fi

# ---- pictures

# draws FILE PYTHON: as SVG; of its words, as "words", the assertions are true.
draws() {
    plot "$1" -o "$svg"
    is "$(basename "$1"): drawn" "$status $(cat "$tmp/out")" '0 '
    check "$(basename "$1"): has its words" "$python" -c "
import re, sys, xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1]).documentElement
words = [''.join(part.data for part in text.childNodes if part.nodeType == part.TEXT_NODE)
         for text in svg.getElementsByTagName('text')]
assert svg.tagName == 'svg' and not any(word in ('nan', 'inf') for word in words), words
$2" "$svg"
}
draws "$recorded/p2p.json" "
assert any(word.endswith(' p2p: 3 GPUs of one process') for word in words)
assert 'one way: copies behind each other, peer access on, GB/s' in words
assert words.count('from GPU') == words.count('to GPU') == 8
assert words.count('-') == 4 * 3 + 4 * 4 and words.count('GPU 2') == 1
assert any(word.startswith('GPU 1 cannot access GPU 2: ') for word in words)"
if [ -n "$quick" ]; then
    skip 'the other subcommands, PNG and PDF' 'a quick run'
    nothing_left 'nothing is left'
    done_testing
    exit
fi
draws "$recorded/pt2pt.json" "
for word in ('latency: half a ping-pong, us', 'bandwidth: one way, GB/s', 'gpubind', 'mpi', '512',
             'message size in bytes', 'message rate, million/s', 'first-new, mpi'):
    assert word in words, word"
draws "$recorded/coll.json" "
for word in ('allreduce, us', 'alltoall, us', 'reduce_scatter_block, us', 'bytes of the whole buffer'):
    assert words.count(word) == 1, word
assert words.count('bytes of a block, as one rank has for another') == 2
assert words.count('mpi') == words.count('nccl') == 3 and words.count('32K') == 3"
draws "$recorded/stream.json" "
for word in ('half a ping-pong on streams, queued ahead, us', 'a window one way and a reply, GB/s'):
    assert words.count(word) == 1, word
assert words.count('nccl') == words.count('copy') == 4 and words.count('persistent') == 3"
# Legends of seven entries: none lies over the other panel's.
draws "$top_srcdir/docs/pictures/stream.json" "
def span(text):
    size = float(re.search('([0-9.]+)px', text.getAttribute('style'))[1])
    word, x = text.firstChild.data, float(text.getAttribute('x'))
    width = 0.45 * size * len(word)
    x -= {'middle': width / 2, 'end': width}.get(re.search('anchor: ([a-z]+)', text.getAttribute('style'))[1], 0)
    return word, float(text.getAttribute('y')), x, x + width
rows = {}
for text in svg.getElementsByTagName('text'):
    if text.getAttribute('x') and 'rotate(-0 ' in text.getAttribute('transform'):
        word, y, left, right = span(text)
        rows.setdefault(round(y), []).append((left, right, word))
for row in map(sorted, rows.values()):
    for (_, right, word), (left, _, other) in zip(row, row[1:]):
        assert right <= left, (word, other)
assert words.count('persistent graph') == 3 and len(rows) > 20
assert all(right < 10.4 * 72 for row in rows.values() for _, right, _ in row)"
draws "$recorded/host.json" "
for word in ('page-locked, both', 'breadth first', 'all at once', 'down, all at once, sum', 'rank'):
    assert word in words, word"
draws "$recorded/halo.json" "
assert words.count('cube, corners, meet, in turn') == 2
assert 'in a stream, slowest rank, us' in words and 'ranks' in words"
draws "$top_srcdir/docs/pictures/report-2-h200.json" "
for word in ('share of what the links and memories could do, %', 'Halo exchanges', '388', 'put_signal',
             '86.4 %: 389 of 450 GB/s, 18 NVLinks of 25 GB/s', 'memory of GPU 1', 'peak 900: 2 x 18 '
             'NVLinks of 25 GB/s', 'peak 63.0: PCIe 5.0 x16; 126: 2 x PCIe 5.0 x16'):
    assert word in words, word
assert sum(word.startswith('put by') for word in words) == 8"
cp "$svg" "$tmp/first.svg"
plot "$top_srcdir/docs/pictures/report-2-h200.json" -o "$svg"
check 'drawn again it is the same' cmp "$svg" "$tmp/first.svg"

# shellcheck disable=SC2016 # a dollar
sed 's/"data": "right"/"data": "wrong"/; s/18 NVLinks/<18> \&amp; $NVLinks$/' \
    "$top_srcdir/docs/pictures/report-2-h200.json" >"$bad"
draws "$bad" "
assert 'data arrived wrong in 8 of the results' in words
assert '86.4 %: 389 of 450 GB/s, <18> &amp; \$NVLinks\$ of 25 GB/s' in words"
# shellcheck disable=SC2016 # a dollar
plot "$recorded/p2p.json" --only latency-on --title 'two <GPUs>, $x$' -o "$svg"
check '--only and --title' sh -c 'grep -q "two &lt;GPUs&gt;, .x.<" "$0" && ! grep -q "access off" "$0"' "$svg"
"$python" "$program" - -o "$tmp/d/x.PNG" <"$recorded/p2p.json"
plot "$recorded/p2p.json" -o "$tmp/d/x.html"
check 'HTML' sh -c 'head -n 1 "$0" | grep -q "^<!DOCTYPE html>$" && grep -q "^<svg" "$0"' "$tmp/d/x.html"
check 'PNG, from the standard input' sh -c 'head -c 4 "$0" | grep -q PNG' "$tmp/d/x.PNG"
plot "$top_srcdir/docs/pictures/report-2-h200.json" -o "$tmp/d/x.pdf"
check 'PDF' sh -c 'head -c 5 "$0" | grep -q %PDF-' "$tmp/d/x.pdf"
is 'PDF: a page for each subcommand and one for all' "$(grep -aoE '/Type /Page[^s]' "$tmp/d/x.pdf" | wc -l)" 7

# ---- results that are not as they are written, files that cannot be

written '{"subcommand": "p2p", "results": [{"measure": "local", "GB_per_s": 3}]}'
refuses 'a row without a column' "$bad: the results are not as gpubind-bench writes them (KeyError" -o "$tmp/d/y.svg" "$bad"
written '{"subcommand": "halo", "results": [{"way": "graph", "us": 3, "case": [], "ranks": 1}]}'
refuses 'a row with a list' "$bad: the results are not as gpubind-bench writes them (TypeError" -o "$tmp/d/y.svg" "$bad"
refuses 'no such folder' "$tmp/no/x.svg cannot be written: No such file" -o "$tmp/no/x.svg" "$recorded/p2p.json"
mkdir "$tmp/d/y.svg"
refuses 'a folder' "$tmp/d/y.svg cannot be written: Is a directory" -o "$tmp/d/y.svg" "$recorded/p2p.json"
is 'nothing half-written is left' "$(cd "$tmp/d" && echo *)" 'x.PNG x.html x.pdf x.svg y.svg'
nothing_left 'nothing is left'
done_testing
