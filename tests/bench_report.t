#!/bin/sh
# gpubind-bench report: the page of recorded results, and a whole run on the simulated
# driver. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"

# page DESCRIPTION FILE PYTHON: the file is HTML whose elements are closed in their order,
# with pictures that are XML and nothing from elsewhere; of its words, as "words", and its
# pictures, as "pictures", the assertions are true.
page() {
    if command -v python3 >/dev/null; then
        check "$1" python3 -c "
import html.parser, re, sys, xml.dom.minidom
text = open(sys.argv[1]).read()
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.words = [], ''
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name not in ('src', 'href'), (tag, value)
        if tag != 'meta':
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        pass
    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, tag
        self.words += ' '
    def handle_data(self, data):
        if 'style' not in self.open:
            self.words += data
parser = Page()
parser.feed(text)
parser.close()
assert parser.open == [] and text.startswith('<!DOCTYPE html>')
words = ' '.join(parser.words.split())
pictures = [xml.dom.minidom.parseString(picture)
            for picture in re.findall('<svg.*?</svg>', text, re.S)]
$3" "$2"
    else
        skip "$1" 'no python3'
    fi
}

# ---- recorded

if [ -x "$top_builddir/tests/unit_bench_page" ]; then
    run "$top_builddir/tests/unit_bench_page" "$tmp/page"
    page 'recorded results' "$tmp/page" "
assert 'copies one way, slowest pair (1 to 0) 390.00 450.00 86.67 18 NVLinks of 25 GB/s' in words
assert 'two GPUs <\"A\" & B>' in words and 'Not measured: it needs <more> ranks' in words
assert len(pictures) == 3
lines = [line.getAttribute('points').split() for line in pictures[1].getElementsByTagName('polyline')]
assert [len(line) for line in lines] == [2, 2]
assert len(pictures[2].getElementsByTagName('polyline')) == 2
cells = [e for e in pictures[0].getElementsByTagName('rect') if e.getAttribute('fill-opacity')]
assert len(cells) == 4 + 4 + 1 + 4, len(cells)"
else
    skip 'recorded results' 'unit_bench_page is not built here'
fi

# ---- a run

quick='--size 100000 --repeats 3 --sizes 8,64K --time 1'
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench report $quick --json --svg "$tmp/svg" --output "$tmp/page"
is 'two ranks: succeeds' "$status" 0
holds 'two ranks: verdicts' '
assert [r["subcommand"] for r in rows] == ["p2p"] * 3 + ["host"] * 4 + ["pt2pt"]
assert all(r["GB_per_s"] > 0 for r in rows)
assert all(abs(100 * r["GB_per_s"] / r["ceiling_GB_per_s"] / r["percent"] - 1) < 1e-2
           for r in rows if r["percent"])
assert rows[2]["ceiling"] == "memory of 6144 bits at 2 x 3201 MHz"
assert rows[0]["ceiling"] == "not known" and rows[0]["percent"] is None'
page 'two ranks: the page has all sections' "$tmp/page" "
assert len(pictures) == 3 and 'Not measured' not in words
for title in ('Verdicts', 'Between GPUs', 'Between GPUs and their host', 'Messages between ranks'):
    assert title in words, title
assert words.count('right') > 30 and 'wrong' not in words"
is_picture 'two ranks: the verdicts are drawn' "$tmp/svg" 10

# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/page"
is 'one rank: succeeds' "$status" 0
page 'one rank: says how to get messages' "$tmp/page" "
assert 'Not measured: it needs an even number of ranks; this was one of 1 (mpirun -np 2' in words
assert len(pictures) == 2"
run env GPUBIND_SIM_DEVICES=1 sh -c 'cd "$0" && "$@"' "$tmp" \
    timeout 60 "$MPIRUN" -np 1 gpubind-bench report --size 1K --repeats 3
is 'one GPU: succeeds' "$status" 0
page 'one GPU: a page of its own name' "$tmp/gpubind-report.html" "
assert 'one GPU is visible' in words and 'memory of the slowest GPU' in words"

# ---- what fails

export GPUBIND_SIM_FAIL=cuMemHostRegister_v2:7=2
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/page"
is 'a part that fails: the others are there' "$status $(grep -c '^  p2p ' "$tmp/out")" '125 3'
is '... and it is said' "$(grep '^gpubind-bench:' "$tmp/err")" \
    'gpubind-bench: host: host memory cannot be page-locked: error 2 (CUDA_ERROR_OUT_OF_MEMORY)'
page '... in the page, too' "$tmp/page" "
assert 'Not measured: host memory cannot be page-locked' in words and len(pictures) == 1"
unset GPUBIND_SIM_FAIL
export GPUBIND_SIM_DEVICES=0
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/none"
said 'no GPU' 125 'no GPU is visible: there is nothing to measure'
check '... and no page is left' test ! -e "$tmp/none"
unset GPUBIND_SIM_DEVICES
bench report --output "$tmp/no/such"
said 'a page that cannot be written' 125 "--output: $tmp/no/such cannot be written"
bench report --pairs
said "another subcommand's option" 125 "unknown option '--pairs' (gpubind-bench report --help lists them)"
nothing_left 'nothing is left'
done_testing
