#!/bin/sh
# gpubind-bench stream on the simulated driver: all measures, right data, alone and beside a fake NCCL. No time
# is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"
quick='--time 1 --warmup 1'
# A machine may have NCCL: this one cannot be opened.
mkdir "$tmp/none" "$tmp/fake"
: >"$tmp/none/libnccl.so.2"
driver=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$tmp/none:$driver
GPUBIND_SIM_JOB=${tmp##*.}
export GPUBIND_SIM_JOB

# ---- refused

# rejects N PATTERN [OPTION...]
rejects() {
    ranks=$1 pattern=$2
    shift 2
    run mpi "$ranks" gpubind-bench stream "$@"
    said "refused: $ranks ranks${*:+, $*}" 125 "$pattern"
}
rejects 1 'stream needs two ranks (mpirun -np 2 gpubind gpubind-bench stream)'
rejects 2 "--measure: 'late' is none of latency|waited|exchange|window" --measure late
rejects 2 "unknown option '--pairs' (gpubind-bench stream --help lists them)" --pairs
rejects 2 "--sizes: '1T' is no size" --sizes 1T
GPUBIND_SIM_DEVICES=0
export GPUBIND_SIM_DEVICES
rejects 2 'rank 0: no GPU is visible'
unset GPUBIND_SIM_DEVICES
GPUBIND_SIM_MEMORY=1048576
export GPUBIND_SIM_MEMORY
rejects 2 'rank 0: the GPU has no 2097152 bytes left: .* (--sizes chooses smaller ones)' --measure latency --sizes 2M
unset GPUBIND_SIM_MEMORY

# ---- alone

# stream N OPTION...
stream() {
    ranks=$1
    shift
    # shellcheck disable=SC2086 # words
    run mpi "$ranks" gpubind-bench stream $quick "$@"
}
stream 2 --sizes 8,5,64K,1M --json --progress
is 'two ranks: succeeds' "$status" 0
holds 'two ranks: all measures, sizes and methods' '
assert [(r["measure"], r["bytes"], r["method"]) for r in rows] == [
    (measure, size, method) for measure in ("latency", "waited", "exchange", "window")
    for size in (8, 5, 65536, 1 << 20) for method in ("gpubind", "persistent", "copy")
    if (measure, method) != ("window", "persistent")]
assert {r["data"] for r in rows} == {"right"}
assert all(0 < r["us_min"] <= r["us"] <= r["us_p99"] and 8 <= r["iterations"] <= 2000 for r in rows)
assert all(r["x_nccl"] is None and r["x_copy"] >= 0 for r in rows) and all(r["x_copy"] == 1 for r in of(method="copy"))'
holds '... windows, turns and speeds' '
assert {(r["measure"], r["queued"]) for r in rows} == {("latency", 50), ("waited", 1), ("exchange", 20), ("window", 2)}
assert all(r["window"] == ((16 if r["bytes"] > 65536 else 64) if r["measure"] == "window" else 1) for r in rows)
for r in rows:
    ways = {"exchange": 2, "window": 1}.get(r["measure"])
    assert r["GB_per_s"] is None if not ways else (
        abs(ways * r["window"] * r["bytes"] / r["us"] / 1e3 / r["GB_per_s"] - 1) < 0.02)
assert len(report["notes"]) == 1 and report["notes"][0].startswith("NCCL is not measured: ")'
check '... progress' grep -qx 'gpubind-bench: window 64K' "$tmp/err"
GPUBIND_SIM_KERNELS=1
export GPUBIND_SIM_KERNELS
stream 2 --sizes 8,64K --iterations 8 --json
is 'captured, too: succeeds' "$status" 0
holds '... graphs of messages and of persistent requests' '
assert [(r["measure"], r["bytes"], r["method"]) for r in rows] == [
    (measure, size, method) for measure in ("latency", "waited", "exchange", "window")
    for size in (8, 65536) for method in ("gpubind", "persistent", "gpubind graph", "persistent graph", "copy")
    if measure != "window" or "persistent" not in method]
assert {r["data"] for r in rows} == {"right"}'
unset GPUBIND_SIM_KERNELS
stream 3 --measure waited,exchange --sizes 8 --iterations 5 --csv
is 'three ranks: the first two measure, as often as asked for' \
    "$status $(grep -c 'of 3 ranks the first two measure' "$tmp/out") $(grep -E '^(waited|exchange),' "$tmp/out" | cut -d, -f1,2,6 | xargs)" \
    '0 1 waited,gpubind,5 waited,persistent,5 waited,copy,5 exchange,gpubind,5 exchange,persistent,5 exchange,copy,5'
stream 2 --measure window --sizes 2M
is 'a table without a column of NCCL' \
    "$status $(grep -c 'x nccl' "$tmp/out") $(grep -cE '^  (gpubind|copy) +2M +16 .* right$' "$tmp/out")" '0 0 2'
GPUBIND_SIM_DEVICES=1
export GPUBIND_SIM_DEVICES
stream 2 --measure latency,exchange --sizes 8,64K --csv
is 'two ranks share a GPU' "$status $(grep -c ',right$' "$tmp/out")" '0 12'
unset GPUBIND_SIM_DEVICES

# ---- beside NCCL: a fake one, whose MPI takes GPU memory

aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
if [ -n "$SANITIZED" ] || [ ! -e "$aware" ]; then
    skip 'beside NCCL' 'a program with sanitizers, or no shared library'
elif ! "$MPICC" -shared -fPIC -o "$tmp/fake/libnccl.so.2" "$top_srcdir/tests/bench/nccl.c" 2>"$tmp/err"; then
    not_ok 'the fake NCCL compiles'
else
    LD_LIBRARY_PATH=$tmp/fake:$driver
    # shellcheck disable=SC2086 # words
    run mpi 2 env "LD_PRELOAD=$aware" gpubind-bench stream $quick --sizes 8,64K --json
    is 'beside NCCL: succeeds' "$status" 0
    holds 'beside NCCL: all methods are right' '
assert [(r["measure"], r["bytes"], r["method"]) for r in rows] == [
    (measure, size, method) for measure in ("latency", "waited", "exchange", "window")
    for size in (8, 65536) for method in ("gpubind", "persistent", "nccl", "copy")
    if (measure, method) != ("window", "persistent")]
assert {r["data"] for r in rows} == {"right"} and not report["notes"]
assert all(r["x_nccl"] == 1 for r in of(method="nccl")) and all(r["x_nccl"] >= 0 for r in rows)
assert "NCCL: 2.8.4" in report["machine"]'
fi
nothing_left 'nothing is left'
done_testing
