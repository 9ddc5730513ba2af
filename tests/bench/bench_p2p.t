#!/bin/sh
# gpubind-bench p2p on the simulated driver: pairs with and without peer access, one GPU,
# none, and copies that fail. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"

# on DEVICES PEERS OPTION...
on() {
    export GPUBIND_SIM_DEVICES="$1" GPUBIND_SIM_PEERS="$2"
    shift 2
    bench p2p --size 100000 --repeats 7 "$@"
}

on 2 all --json
is 'two GPUs: succeeds' "$status" 0
holds 'two GPUs: each pair says what it can' '
assert report["subcommand"] == "p2p" and report["notes"] == [] and len(report["machine"]) == 4
assert [(r["from"], r["to"]) for r in of(measure="pair", can_access="yes")] == [(0, 1), (1, 0)]
assert all(r["native_atomics"] == r["unified_addressing"] == "yes" and r["performance_rank"] == 0
           for r in of(measure="pair"))'
holds 'two GPUs: each kind, off and on, both orders, and within each' '
kinds = ["latency", "ping-pong", "one-way", "both-ways"]
assert [(r["access"], r["from"], r["to"], r["measure"]) for r in rows[2:18]] == [
    (access, i, 1 - i, kind) for access in ("off", "on") for i in (0, 1) for kind in kinds]
assert [r["from"] for r in of(measure="local")] == [0, 1] and len(rows) == 20
assert all(r["us"] > 0 and r["GB_per_s"] > 0 and 1 <= r["times"] <= 7 and r["data"] == "right"
           and r["bytes"] == (8 if r["measure"] == "latency" else 100000) for r in rows[2:])'

on 3 011/100/110 --json --progress
is 'three GPUs, two without access: succeeds' "$status" 0
holds '... they are named' '
assert [note.split(":")[0] for note in report["notes"]] == [
    "GPU 1 cannot access GPU 2"]
assert [r["can_access"] for r in of(measure="pair", **{"from": 1})] == ["yes", "no"]'
holds '... and measured without it only' '
assert len(of(measure="one-way", access="off")) == 6
on = [(r["from"], r["to"]) for r in of(measure="one-way", access="on")]
assert on == [(0, 1), (0, 2), (1, 0), (2, 0), (2, 1)]'
is '... with progress' "$(grep -c '^gpubind-bench: one-way, GPU [0-2] to [0-2], peer access o' "$tmp/err")" 11
on 2 none
is 'no access at all: succeeds' "$status $(grep -c '^note: GPU . cannot access GPU .:' "$tmp/out")" '0 2'
is '... and there are no matrices with it' "$(grep -c 'peer access on' "$tmp/out")" 0
check '... but some without' grep -qxE ' +0 +- +[0-9.]+' "$tmp/out"

on 2 all --csv
is 'CSV: as many cells in each row as names' "$(grep -v '^#' "$tmp/out" | awk -F, '{ print NF }' | sort -u)" 13
is 'CSV: names' "$(grep -v '^#' "$tmp/out" | sed -n 1p)" \
    'measure,from,to,access,bytes,times,us,GB_per_s,data,can_access,performance_rank,native_atomics,unified_addressing'

on 1 all
is 'one GPU: succeeds' "$status" 0
check '... says what it can measure' grep -q '^note: one GPU is visible, .* copies within its memory$' "$tmp/out"
check '... and does' grep -qE '^ +0 +100000 +[0-9]+ +[0-9.]+ +[0-9.]+  right$' "$tmp/out"
on 0 all
said 'no GPU' 125 'no GPU is visible: there is nothing to measure'

unset GPUBIND_SIM_DEVICES GPUBIND_SIM_PEERS
run mpi 3 gpubind-bench p2p --size 1K --repeats 5 --json
is 'three ranks: one of them measures' "$status" 0
holds '... and says so' 'assert "rank 0 alone" in report["notes"][-1]'

# ---- what fails
for fault in cuMemcpyPeerAsync:4=719 cuMemcpyPeerAsync:9=719late cuStreamSynchronize:40=700 \
             cuEventElapsedTime:3=400 cuMemcpyDtoDAsync_v2:1=1; do
    export GPUBIND_SIM_FAIL="$fault"
    on 2 all
    said "$fault" 125 'a copy from GPU [01] to GPU [01] failed: error [0-9]*'
done
export GPUBIND_SIM_FAIL=cuCtxEnablePeerAccess:2=711
on 2 all --json
is 'access that is refused: succeeds' "$status" 0
holds '... the pair is named, and measured without it only' '
assert report["notes"] == ["peer access of GPU 1 to GPU 0 cannot be turned on: error 711 (?)"]
assert len(of(measure="one-way", access="off")) == 2
assert [r["from"] for r in of(measure="one-way", access="on")] == [1]'
for fault in 'cuMemAlloc_v2:3=2 GPU 1: the GPU has no 100000 bytes left' \
             'cuEventCreate:1=2 GPU 0: an event cannot be made' \
             'cuDevicePrimaryCtxRetain:2=2 GPU 1: the GPU cannot be used'; do
    export GPUBIND_SIM_FAIL="${fault%% *}"
    on 2 all
    said "${fault%% *}" 125 "${fault#* }: error [0-9]*"
done
export GPUBIND_SIM_FAIL=cuMemcpyPeerAsync:4=719
run mpi 2 gpubind-bench p2p --size 1K
said 'a failure of one rank ends all, with one sentence' 125 'a copy from GPU 0 to GPU 1 failed'
unset GPUBIND_SIM_FAIL

unset GPUBIND_SIM_FAIL
on 2 all --size 1 --json
holds 'less than a ping-pong of 8 bytes' '
assert [r["bytes"] for r in rows[2:6]] == [8, 1, 1, 1] and all(r["data"] == "right" for r in rows[2:])'
on 2 all --size 0
said 'no size' 125 "--size: '0' is no size"
on 2 all --sizes 8
said "another subcommand's option" 125 "unknown option '--sizes'; the nearest is --size (gpubind-bench p2p --help lists them)"
on 2 all --repeats 0
said 'no repeats' 125 "--repeats: '0' is not a number from 1"
on 2 all --csv --json
said 'two formats' 125 '--csv and --json exclude each other'
for svg in --svg=x.svg '--svg x.svg'; do
    # shellcheck disable=SC2086 # words
    on 2 all $svg
    said "a picture: $svg" 125 '--svg: gpubind-plot draws the pictures: gpubind-bench p2p --json >FILE.json, then'
done
on 2 all --size 100G
said 'more memory than there is' 125 'GPU 0: the GPU has no 107374182400 bytes left'
nothing_left 'nothing is left'
done_testing
