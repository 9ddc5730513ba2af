#!/bin/sh
# gpubind-bench halo on the simulated driver: every
# grid in every way, right data, a path on which some are not possible. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"

# The first 1, 2, 4 and so on ranks, and all of them.
for n in 1 2 3; do
    run mpi $n gpubind-bench halo --repeats 1 --json --progress
    is "$n ranks: succeeds" "$status" 0
    holds "$n ranks: each grid, asked and in turn, started and on the stream" '
grids = [("rows of 64 KiB", "open"), ("rows of 64 KiB", "meet"), ("rows of 1 MiB", "open"),
         ("rows of 1 MiB", "meet"), ("square", "meet"), ("cube, corners", "meet")]
counts = [n for n in (1, 2) if n < '$n'] + ['$n']
assert [(r["ranks"], r["grid"], r["borders"], r["neighbours"], r["way"])
        for r in rows if r["way"] != "graph"] == [
    (n, *grid, turn, way) for n in counts for grid in grids for turn in ("asked", "in turn")
    for way in ("start, wait", "stream")]
assert rows[-1]["case"] == "cube, corners, meet, in turn"
assert all(r["data"] == "right" and r["us"] > 0 and r["times"] == 20 for r in rows)'
    holds "$n ranks: bytes that a rank sends" '
n = '$n'
assert {r["bytes"] for r in of(grid="rows of 64 KiB", borders="meet")} == {131072}
assert {r["bytes"] for r in of(grid="rows of 1 MiB", borders="open", ranks=n)} == {min(n - 1, 2) << 20}
assert {r["bytes"] for r in of(grid="rows of 1 MiB", borders="open", ranks=1)} == {0}
assert {r["bytes"] for r in of(grid="square")} == {32768}
assert {r["bytes"] for r in of(grid="cube, corners")} == {8 * (6 * 128 * 128 + 12 * 128 + 8)}'
    check "$n ranks: progress" \
        grep -q "^gpubind-bench: $n ranks*, cube, corners, stream, in turn\$" "$tmp/err"
done
check 'a way that is not there is named' \
    sh -c 'grep -q "\"graph is left out where it is not possible: " "$0" || grep -q "\"graph\"" "$0"' "$tmp/out"

run mpi 2 gpubind-bench halo --repeats 1
is 'a table' "$status $(grep -c '  right$' "$tmp/out")" "0 $(grep -c '^  [rsc][a-z]*[ ,].*, [ai][sn]' "$tmp/out")"
export GPUBIND_PATH=network
run mpi 2 gpubind-bench halo --repeats 1 --csv
is 'another node: succeeds' "$status" 0
is '... and all data are right' "$(grep -vc ',right$' "$tmp/out")" "$(grep -c '^#\|^case,' "$tmp/out")"
unset GPUBIND_PATH
export GPUBIND_SIM_DEVICES=0
run mpi 2 gpubind-bench halo --repeats 1
said 'no GPU' 125 'no GPU is visible'
unset GPUBIND_SIM_DEVICES
run mpi 1 gpubind-bench halo --sizes 4
said "another subcommand's option" 125 "unknown option '--sizes' (gpubind-bench halo --help lists them)"
nothing_left 'nothing is left'
done_testing
