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
        self.open, self.words, self.ids, self.links = [], '', [], []
    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert name != 'src' and (name != 'href' or value.startswith('#')), (tag, value)
            if name == 'id':
                assert value not in self.ids, value
                self.ids.append(value)
            elif name == 'href':
                self.links.append(value[1:])
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
assert set(parser.links) == set(parser.ids)
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
assert 'copies one way, slowest pair (1 to 0) 450.00 390.00 86.67 18 NVLinks of 25 GB/s' in words
assert 'more not measured' in words
assert 'two GPUs <\"A\" & B>' in words and 'Not measured: it needs <more> ranks' in words
assert len(pictures) == 6
lines = [line.getAttribute('points').split() for line in pictures[2].getElementsByTagName('polyline')]
assert [len(line) for line in lines] == [2, 2]
assert len(pictures[3].getElementsByTagName('polyline')) == 2
cells = [e for e in pictures[0].getElementsByTagName('rect') if e.getAttribute('fill-opacity')]
assert len(cells) == 4 + 4 + 1 + 4, len(cells)"
else
    skip 'recorded results' 'unit_bench_page is not built here'
fi

# ---- a run

# Kernels are not measured on the simulated driver, which says so.
kernels='kernels cannot be loaded\|has no kernels: it was built without nvcc'
quick='--size 100000 --repeats 1 --sizes 8,64K --time 1'
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench report $quick --json --svg "$tmp/svg" --output "$tmp/page"
is 'two ranks: succeeds' "$status" 0
holds 'two ranks: verdicts' '
assert [r["subcommand"] for r in rows] == ["p2p"] * 4 + ["host"] * 4 + ["pt2pt"] * 2 + ["halo"]
assert all(r["GB_per_s"] > 0 for r in rows)
assert all(abs(100 * r["GB_per_s"] / r["ceiling_GB_per_s"] / r["percent"] - 1) < 1e-2
           for r in rows if r["percent"])
assert rows[3]["ceiling"] == "memory of 6144 bits at 2 x 3201 MHz"
assert rows[0]["ceiling"] == "not known" and rows[0]["percent"] is None'
page 'two ranks: the page has all sections' "$tmp/page" "
assert len(pictures) == 4
for title in ('Ceilings, and what was measured', 'Between GPUs', 'Kernels in another',
              'Between GPUs and their host', 'Messages between ranks', 'Halo exchanges',
              'Puts, gets and signals of kernels'):
    assert title in words, title
assert parser.ids == ['p2p', 'peer-kernel', 'host', 'pt2pt', 'halo', 'put']
assert words.count('right') > 70 and 'wrong' not in words"
is '... and says which could not be measured' \
    "$(grep -c "Not measured: .*\($kernels\)" "$tmp/page") $(grep -c 'Not measured' "$tmp/page")" '2 2'
is_picture 'two ranks: the verdicts are drawn' "$tmp/svg" 10

# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/page"
is 'one rank: succeeds' "$status" 0
page 'one rank: says how to get messages' "$tmp/page" "
assert 'Not measured: it needs an even number of ranks; this was one of 1 (mpirun -np 2' in words
assert 'half of memory of 6144 bits' in words and len(pictures) == 3"
export GPUBIND_SIM_DEVICES=8
# shellcheck disable=SC2086 # words
run mpi 3 gpubind-bench report $quick --output "$tmp/page"
unset GPUBIND_SIM_DEVICES
is 'three ranks, eight GPUs: succeeds' "$status" 0
page 'three ranks, eight GPUs: all but the messages' "$tmp/page" "
assert 'this was one of 3' in words
assert len(pictures) == 3 and 'GPU 7' in words and 'to GPU 0-6' in words"
run env GPUBIND_SIM_DEVICES=1 sh -c 'cd "$0" && "$@"' "$tmp" \
    timeout 60 "$MPIRUN" -np 1 gpubind-bench report --size 1K --repeats 1
is 'one GPU: succeeds' "$status" 0
page 'one GPU: a page of its own name' "$tmp/gpubind-report.html" "
assert 'one GPU is visible' in words and 'memory of the slowest GPU' in words"

# ---- what fails

export GPUBIND_SIM_FAIL=cuMemcpyPeerAsync:1=719
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/page"
is 'a part that fails: the others are there' "$status $(grep -c '^  host ' "$tmp/out")" '125 2'
is '... and it is said' "$(sed -n 's/: error 719.*//; /^gpubind-bench:/p' "$tmp/err")" \
    'gpubind-bench: p2p: a copy from GPU 0 to GPU 1 failed'
page '... in the page, too' "$tmp/page" "
assert 'Not measured: a copy from GPU 0 to GPU 1 failed: error 719' in words and len(pictures) == 2"
unset GPUBIND_SIM_FAIL
export GPUBIND_PATH=nowhere
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/page"
is 'no library: the others are there' "$status $(grep -c '^  host ' "$tmp/out")" '125 2'
page '... and each section that needs it says so' "$tmp/page" "
assert words.count('Not measured: gpubind_init: GPUBIND_PATH') == 2 and len(pictures) == 2"
unset GPUBIND_PATH
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
