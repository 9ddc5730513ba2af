#!/bin/sh
# gpubind-bench put and peer-kernel: what they refuse, without a GPU; and on real GPUs, where
# GPUBIND_TEST_GPU=1, that their data are right. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
real_gpu=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_GPU=//p')
real_libraries=${LD_LIBRARY_PATH-}
. "$top_srcdir/tests/bench.sh"

# refuses N DESCRIPTION PATTERN OPTION...
refuses() {
    ranks=$1 what=$2 pattern=$3
    shift 3
    run mpi "$ranks" gpubind-bench "$@"
    said "$what" 125 "$pattern"
}
refuses 2 'put: an odd size' '--size: 17 bytes are no multiple of 16' put --size 17
refuses 1 'peer-kernel: a size that is no power of 2' '--size: 100000 bytes are no power of 2' \
    peer-kernel --size 100000
refuses 1 'peer-kernel: too small a size' '--size: 2048 bytes are no power of 2 from 4K on' \
    peer-kernel --size 2K
refuses 2 "put: another subcommand's option" "unknown option '--repeats'" put --repeats 3
refuses 2 'put: no time' "--time: '0' is not a number from 1" put --time 0
# The simulated driver runs none of these kernels.
no_kernels='the kernels cannot be loaded: error\|has no kernels: it was built without nvcc'
for ranks in 1 2 3; do
    refuses $ranks "put: no kernels, ranks: $ranks" "$no_kernels" put --size 64K
done
refuses 1 'peer-kernel: no kernels' "$no_kernels" peer-kernel --size 64K

LD_LIBRARY_PATH=$real_libraries
if [ -z "$real_gpu" ] || gpubind-bench put --size 2K 2>&1 | grep -q 'built without nvcc'; then
    skip 'on GPUs' 'GPUBIND_TEST_GPU is not 1, or no nvcc'
else
    for ranks in 1 2 3; do
        run mpi "$ranks" gpubind-bench put --size 4M --time 1 --json
        is "put, $ranks ranks: succeeds" "$status" 0
        [ "$status" = 0 ] || diag "$(cat "$tmp/err")"
        holds '... and its data are right' '
assert all(row["data"] in ("right", "none") for row in rows)
assert len(of(what="put", by="block")) >= 20 and len(of(what="get", by="thread")) >= 20'
    done
    bench peer-kernel --size 4M --time 1 --json
    is 'peer-kernel: succeeds' "$status" 0
    [ "$status" = 0 ] || diag "$(cat "$tmp/err")"
    holds '... and its data are right' '
assert all(row["data"] == "right" for row in rows)
assert len(of(memory_of=0)) == 4'
fi
nothing_left 'nothing is left'
done_testing
