#!/bin/sh
# gpubind-bench coll on the simulated driver under libgpubind-aware, and on host memory: all
# operations, right data, beside a fake NCCL and without one. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"
all=allreduce,bcast,alltoall,allgather,reduce_scatter_block,reduce,gather,scatter,alltoallv,neighbor_alltoall,iallreduce,ibcast,ialltoall,iallgather
quick='--time 1 --warmup 1'
# A machine may have NCCL: this one cannot be opened.
mkdir "$tmp/none" "$tmp/fake"
: >"$tmp/none/libnccl.so.2"
driver=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$tmp/none:$driver

# ---- refused

# rejects PATTERN [OPTION...]
rejects() {
    pattern=$1
    shift
    run mpi 2 gpubind-bench coll "$@"
    said "refused: $*" 125 "$pattern"
}
rejects "--operations: 'allred' is none of allreduce|" --operations bcast,allred
rejects "--operations: '' is none of allreduce|" --operations bcast,
rejects "option '--operations' needs a value" --operations
rejects '--sizes: 12 bytes are no multiple of 8' --sizes 8,12
rejects '--sizes: 536870912 bytes are more than 256M' --sizes 512M
rejects "--iterations: '0' is not a number" --iterations 0
rejects '--csv and --json exclude each other' --csv --json
rejects "unknown option '--pairs' (gpubind-bench coll --help lists them)" --pairs
rejects "option '--host' takes no value" --host=1
GPUBIND_SIM_DEVICES=0
export GPUBIND_SIM_DEVICES
rejects 'rank 0: no GPU is visible (--host measures host memory)'
unset GPUBIND_SIM_DEVICES
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench coll $quick --sizes 8
if [ "$status" = 0 ]; then
    skip 'an MPI without CUDA is not given GPU memory' 'this one is CUDA-aware'
else
    said 'an MPI without CUDA is not given GPU memory' 125 'gpubind --gpu-aware makes it so'
fi

# ---- host memory

# shellcheck disable=SC2086 # words
run mpi 3 gpubind-bench coll $quick --host --operations $all --sizes 8,4K-8K --json --progress
is 'host memory: succeeds' "$status" 0
holds 'host memory: operations and sizes' '
assert [(r["operation"], r["bytes"]) for r in rows] == [
    (name, size) for name in "'$all'".split(",") for size in (8, 4096, 8192)]
assert {(r["method"], r["buffers"], r["ranks"], r["data"]) for r in rows} == {("mpi", "host", 3, "right")}
assert {r["operation"] for r in rows if r["bytes_of"] == "buffer"} == {"allreduce", "bcast", "reduce", "iallreduce", "ibcast"}
assert all(r["bytes_of"] in ("buffer", "block") for r in rows)
assert all(0 < r["us_min"] <= r["us"] <= r["us_p99"] and 8 <= r["iterations"] <= 2000 for r in rows)
assert report["notes"] == ["NCCL is not measured: it takes no host memory"]
assert all(r["x_nccl"] is None for r in rows)'
check 'host memory: progress' grep -qx 'gpubind-bench: iallgather 8K' "$tmp/err"
# shellcheck disable=SC2086 # words
run mpi 2 gpubind-bench coll $quick --host --iterations 5 --sizes 64K --csv
is 'host memory: four operations, as often as asked for' \
    "$status $(grep '^[a-z]*,mpi' "$tmp/out" | cut -d, -f1,5,7 | xargs)" \
    '0 allreduce,65536,5 bcast,65536,5 alltoall,65536,5 allgather,65536,5'

# ---- GPU memory, under the library that --gpu-aware preloads

aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
if [ -n "$SANITIZED" ] || [ ! -e "$aware" ]; then
    skip 'GPU memory' 'a program with sanitizers, or no shared library'
    nothing_left 'nothing is left'
    done_testing
    exit
fi
# coll N OPTION...
coll() {
    ranks=$1
    shift
    # shellcheck disable=SC2086 # words
    run mpi "$ranks" env "GPUBIND_SIM_JOB=${tmp##*.}" "LD_PRELOAD=$aware" gpubind-bench coll $quick "$@"
}
for n in 1 2 3 4; do
    coll $n --operations $all --sizes 8,64K,1208 --json
    is "$n ranks: succeeds" "$status" 0
    holds "$n ranks: all operations, right data, no NCCL" '
assert [(r["operation"], r["bytes"]) for r in rows] == [
    (name, size) for name in "'$all'".split(",") for size in (8, 65536, 1208)]
assert all((r["method"], r["buffers"], r["ranks"], r["data"]) == ("mpi", "gpu", '$n', "right") for r in rows)
assert all(r["us"] > 0 and r["x_nccl"] is None for r in rows)
assert len(report["notes"]) == 1 and report["notes"][0].startswith("NCCL is not measured: ")
assert "libnccl.so.2" in report["notes"][0]'
done
export GPUBIND_SIM_MEMORY=1048576
coll 2 --sizes 8M
said 'buffers that the GPU has no memory for' 125 'rank 0: the GPU has no 16777216 bytes left: .* (--sizes chooses smaller ones)'
unset GPUBIND_SIM_MEMORY
coll 2 --sizes 2M --operations bcast,gather
is 'a table without a column of NCCL' \
    "$status $(grep -c 'x nccl' "$tmp/out") $(grep -cE '^  mpi +2M +[0-9]+( +[0-9.]+){3}  right$' "$tmp/out")" '0 0 2'
is '... says once that it is not there' "$(grep -c '^note: ' "$tmp/out")" 1
# shellcheck disable=SC2016 # for that shell
check '... and what the size is that of' \
    sh -c 'grep -q "^bcast, size is that of the whole buffer" "$0" && grep -q "^gather, size is that of a block" "$0"' "$tmp/out"

# ---- beside NCCL: a fake one

LD_LIBRARY_PATH=$tmp/fake:$driver
if ! "$MPICC" -shared -fPIC -o "$tmp/fake/libnccl.so.2" "$top_srcdir/tests/bench/nccl.c" 2>"$tmp/err"; then
    not_ok 'the fake NCCL compiles'
fi
export GPUBIND_SIM_DEVICES=4
for n in 1 3 4; do
    coll $n --operations $all --sizes 8,1M --json
    is "beside NCCL, $n ranks: succeeds" "$status" 0
    holds "beside NCCL, $n ranks: both are right" '
assert [(r["operation"], r["bytes"], r["method"]) for r in rows] == [
    (name, size, by) for name in "'$all'".split(",") for size in (8, 1 << 20) for by in ("mpi", "nccl")]
assert {r["data"] for r in rows} == {"right"} and not report["notes"]
assert all(r["x_nccl"] == 1 for r in of(method="nccl")) and all(r["x_nccl"] >= 0 for r in rows)
assert "NCCL: 2.8.4" in report["machine"]'
done
coll 2 --sizes 8 --operations allreduce
check 'a table with NCCL' grep -qE '^  nccl +8 +[0-9]+( +[0-9.]+){3} +1.000  right$' "$tmp/out"

# absent DESCRIPTION N PATTERN: NCCL is left out for this reason, MPI is measured.
absent() {
    coll "$2" --sizes 8 --operations allreduce
    is "$1: MPI alone is measured" \
        "$status $(grep -cE '^  (mpi|nccl) ' "$tmp/out") $(grep -c "^note: NCCL is not measured: $3" "$tmp/out")" '0 1 1'
}
FAKE_NCCL_FAILS=1
export FAKE_NCCL_FAILS
absent 'a rank that fails to start NCCL' 3 'ncclCommInitRank: a fake failure$'
unset FAKE_NCCL_FAILS
export GPUBIND_SIM_DEVICES=2
absent 'ranks that share a GPU' 3 'ranks 0 and 2 share the GPU '
export GPUBIND_SIM_DEVICES=4
echo 'int ncclSend;' >"$tmp/part.c"
check 'half a library compiles' "$MPICC" -shared -fPIC -o "$tmp/none/libnccl.so.2" "$tmp/part.c"
# shellcheck disable=SC2016 # for that shell
run mpi 3 env "GPUBIND_SIM_JOB=${tmp##*.}" "LD_PRELOAD=$aware" sh -c '
    case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 1) LD_LIBRARY_PATH=$0:$LD_LIBRARY_PATH ;; esac
    exec gpubind-bench coll --time 1 --warmup 1 --sizes 8 --operations allreduce' "$tmp/none"
is 'one rank has another NCCL: MPI alone is measured' \
    "$status $(grep -cE '^  (mpi|nccl) ' "$tmp/out") $(grep '^note: ' "$tmp/out")" \
    '0 1 note: NCCL is not measured: libnccl.so.2 has no ncclGetVersion'

# ---- wrong data

FAKE_NCCL_WRONG=2
export FAKE_NCCL_WRONG
coll 4 --sizes 8,64K --operations allreduce,bcast --csv
is 'wrong data: the status, and the rows that say so' \
    "$status $(grep ',wrong$' "$tmp/out" | cut -d, -f1,2,5 | xargs)" '1 allreduce,nccl,8 allreduce,nccl,65536'
is '... with operation, size and rank' "$(grep '^gpubind-bench: ' "$tmp/err")" \
    "$(printf 'gpubind-bench: allreduce of %s by nccl: rank 2 received wrong data\n' 8 64K
       echo 'gpubind-bench: data arrived wrong, in the rows that say so')"
unset FAKE_NCCL_WRONG
nothing_left 'nothing is left'
done_testing
