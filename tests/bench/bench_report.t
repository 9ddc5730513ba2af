#!/bin/sh
# gpubind-bench report on the simulated driver: its file and its roofline. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"

# file DESCRIPTION FILE PYTHON: the file is JSON, of which as "report" with "sections", by their
# subcommands, the assertions are true.
file() {
    if command -v python3 >/dev/null; then
        check "$1" python3 -c "
import json, sys
report = json.load(open(sys.argv[1]))
sections = {section['subcommand']: section for section in report['sections']}
absent = [section['not_measured'] for section in report['sections']
          if section['not_measured'] and section['subcommand'] != 'coll']
assert sections['coll']['results'] or sections['coll']['not_measured']
assert all(not section['results'] for section in report['sections'] if section['not_measured'])
$3" "$2"
    else
        skip "$1" 'no python3'
    fi
}

# ---- a run

# Kernels are not measured on the simulated driver, which says so.
kernels='kernels cannot be loaded\|has no kernels: it was built without nvcc'
quick='--size 100000 --repeats 1 --sizes 8,64K --time 1'
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench report $quick --json --output "$tmp/all.json"
is 'two ranks: succeeds' "$status" 0
holds 'two ranks: the roofline' '
assert [r["subcommand"] for r in rows] == ["p2p"] * 4 + ["host"] * 4 + ["pt2pt"] * 2 + ["halo"]
assert all(r["GB_per_s"] > 0 for r in rows)
assert all(abs(100 * r["GB_per_s"] / r["ceiling_GB_per_s"] / r["percent"] - 1) < 1e-2
           for r in rows if r["percent"])
assert rows[3]["ceiling"] == "memory of 6144 bits at 2 x 3201 MHz"
assert rows[0]["ceiling"] == "not known" and rows[0]["percent"] is None'
check 'two ranks: the file has the same' cmp "$tmp/out" "$tmp/all.json"
file 'two ranks: the file has all sections' "$tmp/all.json" "
assert report['subcommand'] == 'report' and report['version']
assert list(sections) == ['p2p', 'peer-kernel', 'host', 'coll', 'pt2pt', 'stream', 'halo', 'put']
assert all(section['title'] and section['about'] for section in report['sections'])
assert len(sections['p2p']['results']) == 20 and len(sections['halo']['results']) >= 48
assert {row['measure'] for row in sections['pt2pt']['results']} >= {'latency', 'bandwidth'}
assert all(row['data'] in ('right', 'unchecked', None) for section in report['sections']
           for row in section['results'])
assert sections['host']['machine'][0].endswith(' host: 2 ranks')"
file '... and says which could not be measured' "$tmp/all.json" "
assert len(absent) == 2 and sections['put']['not_measured'] and sections['peer-kernel']['not_measured']"
check '... and why' sh -c "grep -q '\"not_measured\": \".*\\($kernels\\)' '$tmp/all.json'"
for python in python3 /usr/bin/python3; do
    "$python" -c 'import matplotlib' 2>/dev/null && break
done
if "$python" -c 'import matplotlib' 2>/dev/null; then
    run "$python" "$top_builddir/bench/plot/gpubind-plot" "$tmp/all.json" -o "$tmp/all.svg"
    is '... and can be drawn' "$status $(grep -c '>Halo exchanges<' "$tmp/all.svg")" '0 1'
else
    skip '... and can be drawn' 'no python3-matplotlib'
fi

# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/all.json"
is 'one rank: succeeds' "$status" 0
is 'one rank: says how to draw' "$(tail -n 1 "$tmp/out")" \
    "all results: $tmp/all.json; to draw them: gpubind-plot $tmp/all.json -o $tmp/all.svg"
file 'one rank: says how to get messages' "$tmp/all.json" "
assert any(why.startswith('it needs an even number of ranks; this was one of 1 (mpirun -np 2')
           for why in absent)
assert any('half of memory of 6144 bits' in row['ceiling'] for row in report['results'])"
export GPUBIND_SIM_DEVICES=8
# shellcheck disable=SC2086 # words
run mpi 3 gpubind-bench report $quick --output "$tmp/all.json"
unset GPUBIND_SIM_DEVICES
is 'three ranks, eight GPUs: succeeds' "$status" 0
file 'three ranks, eight GPUs: all but the messages' "$tmp/all.json" "
assert any('this was one of 3' in why for why in absent)
assert len(absent) == 3 and report['machine'][-1].startswith('GPU 7') and 'to GPU 0-6' in report['machine'][-1]"
run env GPUBIND_SIM_DEVICES=1 sh -c 'cd "$0" && "$@"' "$tmp" \
    timeout $((60 * TEST_PATIENCE)) "$MPIRUN" -np 1 gpubind-bench report --size 1K --repeats 1
is 'one GPU: succeeds' "$status" 0
file 'one GPU: a file of its own name' "$tmp/gpubind-report.json" "
assert any('one GPU is visible' in note for note in sections['p2p']['notes'])
assert any(row['what'] == 'memory of the slowest GPU' for row in report['results'])"

aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
if [ -z "$SANITIZED" ] && [ -e "$aware" ]; then
    # shellcheck disable=SC2086 # words
    run mpi 2 env "LD_PRELOAD=$aware" gpubind-bench report $quick --output "$tmp/all.json"
    is 'under --gpu-aware: succeeds' "$status" 0
    file 'under --gpu-aware: collectives, too' "$tmp/all.json" "
results = [row for row in sections['coll']['results'] if row['method'] == 'mpi']
assert len(results) == 16 and all(row['data'] == 'right' for row in results)"
else
    skip 'under --gpu-aware' 'a program with sanitizers, or no shared library'
fi

# ---- what fails

export GPUBIND_SIM_FAIL=cuMemcpyPeerAsync:1=719
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/all.json"
is 'a part that fails: the others are there' "$status $(grep -c '^  host ' "$tmp/out")" '125 2'
is '... and it is said' "$(sed -n 's/: error 719.*//; /^gpubind-bench:/p' "$tmp/err")" \
    'gpubind-bench: p2p: a copy from GPU 0 to GPU 1 failed'
file '... in the file, too' "$tmp/all.json" "
assert sections['p2p']['not_measured'].startswith('a copy from GPU 0 to GPU 1 failed: error 719')"
unset GPUBIND_SIM_FAIL
export GPUBIND_PATH=nowhere
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/all.json"
is 'no library: the others are there' "$status $(grep -c '^  host ' "$tmp/out")" '125 2'
file '... and each section that needs it says so' "$tmp/all.json" "
assert sum(why.startswith('gpubind_init: GPUBIND_PATH') for why in absent) == 3"
unset GPUBIND_PATH
# Whichever call makes it: small messages go another way when their receiver is late.
export GPUBIND_SIM_FAIL=cuMemcpyDtoDAsync_v2:40=719 GPUBIND_SIM_RANK=0
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench report $quick --output "$tmp/died.json"
unset GPUBIND_SIM_FAIL GPUBIND_SIM_RANK
is 'a call that fails in a part ends the job' \
    "$status $(grep -cE '^gpubind-bench: rank 0: [A-Za-z_]+: .*a copy failed: CUDA error 719' "$tmp/err")" '125 1'
file '... what was measured before it is in the file' "$tmp/died.json" "
assert sections['p2p']['results'] and sections['host']['results'] and len(report['results']) == 8
assert sections['pt2pt']['not_measured'] == sections['halo']['not_measured'] == 'the job ended before'"
is '... and no other one is left' "$(find "$tmp" -name 'died*')" "$tmp/died.json"
echo earlier >"$tmp/earlier"
export GPUBIND_SIM_DEVICES=0
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/earlier"
is 'nothing is measured: an earlier file stays' "$status $(cat "$tmp/earlier")" '125 earlier'
# shellcheck disable=SC2086 # words
bench report $quick --output "$tmp/none"
said 'no GPU' 125 'no GPU is visible: there is nothing to measure'
check '... and no file is left' test ! -e "$tmp/none"
unset GPUBIND_SIM_DEVICES
bench report --output "$tmp/no/such"
said 'a file that cannot be written' 125 "--output: $tmp/no/such cannot be written: No such file"
for name in node7.html x.svg x.pdf; do
    bench report --output "$tmp/$name"
    said "a picture: $name" 125 "--output: $tmp/$name would hold JSON: gpubind-plot draws (--output FILE.json"
done
bench report --pairs
said "another subcommand's option" 125 "unknown option '--pairs' (gpubind-bench report --help lists them)"
nothing_left 'nothing is left'
done_testing
