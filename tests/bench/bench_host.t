#!/bin/sh
# gpubind-bench host on the simulated driver: one rank and several, failures. No time is
# looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"

small='--size 100000 --repeats 5 --chunks 32K-256K'
# shellcheck disable=SC2086 # words
host() { bench host $small "$@"; }

host --json
is 'one rank: succeeds' "$status" 0
holds 'one rank: copies' '
assert report["subcommand"] == "host" and len(report["machine"]) == 3
assert [(r["memory"], r["way"]) for r in of(measure="copies")] == [
    ("pageable", "up"), ("pageable", "down"),
    ("page-locked", "up"), ("page-locked", "down"), ("page-locked", "both")]
assert all(r["GB_per_s"] > 0 and r["ms"] > 0 and 1 <= r["times"] <= 5 and r["data"] == "right"
           and r["bytes"] == 100000 for r in rows)'
holds 'one rank: chunks up to the size, the last one shorter' '
assert [(r["chunk"], r["order"]) for r in of(measure="chunks")] == [
    (chunk, order) for chunk in (32768, 65536)
    for order in ("one stream", "depth first", "breadth first")]'
case $(cat /sys/devices/system/node/has_memory 2>/dev/null) in
*[-,]*) holds 'NUMA nodes: each of them, up and down, or why not' '
nodes = {r["numa_node"] for r in of(measure="numa")}
assert len(nodes) + sum("NUMA node" in note for note in report["notes"]) >= 2
assert all(len(of(measure="numa", numa_node=node)) == 2 for node in nodes)' ;;
*) holds 'NUMA nodes: there is one, and it says so' '
assert of(measure="numa") == []
assert any("has one NUMA node" in note for note in report["notes"])' ;;
esac
holds 'one rank: nothing to compare it with' '
assert of(measure="together") == [] and any("one rank:" in note for note in report["notes"])'

# shellcheck disable=SC2086 # words
run mpi 3 gpubind-bench host $small --measure together --json --progress
is 'three ranks at once: succeeds' "$status" 0
holds '... each alone, all at once, and the sums' '
whens = [("alone", r) for r in (0, 1, 2)] + [("alone, sum", None)]
whens += [("all at once", r) for r in (0, 1, 2)] + [("all at once, sum", None)]
assert [(r["way"], r["when"], r["rank"]) for r in rows] == [
    (way, when, rank) for way in ("up", "down") for when, rank in whens]
assert abs(sum(r["GB_per_s"] for r in rows[:3]) / rows[3]["GB_per_s"] - 1) < 1e-3
assert all(r["data"] == "right" for r in rows) and len(report["machine"]) == 5'
is '... with progress' "$(grep -c '^gpubind-bench: copies [a-z]*, ' "$tmp/err")" 8

host --csv --measure copies,chunks
is 'CSV: cells of each row' "$(grep -v '^#' "$tmp/out" | awk -F, '{ print NF }' | sort -u)" 14
is 'CSV: what was asked for' "$(grep -v '^#' "$tmp/out" | sed 1d | cut -d, -f1 | sort | uniq -c | xargs)" \
    '6 chunks 5 copies'
host --measure copies
check 'the table has its rows' grep -qE '^  page-locked  both  100000 +5( +[0-9.]+){2}  right$' "$tmp/out"

# ---- what fails
for fault in 'cuMemcpyHtoDAsync_v2:2=719 a copy to the GPU failed' \
             'cuMemcpyDtoHAsync_v2:3=719 a copy from the GPU failed' \
             'cuMemHostRegister_v2:3=2 host memory cannot be page-locked' \
             'cuMemAlloc_v2:2=2 rank 0: the GPU has no 100000 bytes left'; do
    export GPUBIND_SIM_FAIL="${fault%% *}"
    host --measure copies
    said "${fault%% *}" 125 "${fault#* }: error [0-9]*"
done
export GPUBIND_SIM_FAIL=cuMemcpyDtoDAsync_v2:2=719late
host --measure chunks
said "$GPUBIND_SIM_FAIL" 125 'a copy in chunks failed: error 719'
for fault in cuMemHostRegister_v2:2=2 cuMemcpyHtoDAsync_v2:4=719 cuMemcpyDtoHAsync_v2:2=719; do
    export GPUBIND_SIM_FAIL="$fault" GPUBIND_SIM_RANK=1
    # shellcheck disable=SC2086 # words
    run mpi 3 gpubind-bench host $small --measure together
    said "$fault in one of three ranks" 125 'rank 1: [a-zA-Z -]*: error [0-9]*'
done
unset GPUBIND_SIM_FAIL GPUBIND_SIM_RANK
GPUBIND_SIM_DEVICES=0
export GPUBIND_SIM_DEVICES
host
said 'no GPU' 125 'rank 0: no GPU is visible'
unset GPUBIND_SIM_DEVICES
host --measure all
said 'an unknown measure' 125 "--measure: 'all' is none of copies|chunks|numa|together"
host --chunks 8-4
said 'chunks that go down' 125 "--chunks: '8-4' goes down"
host --window 4
said "another subcommand's option" 125 "unknown option '--window' (gpubind-bench host --help lists them)"
nothing_left 'nothing is left'
done_testing
