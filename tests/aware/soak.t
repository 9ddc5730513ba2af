#!/bin/sh
# Plain MPI functions with GPU memory, mixed at random.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/soak

for setting in simulated 'slow copies' 'no peers' 'kernels, locks' 'no driver' GPU; do
    on "$setting" 3 2 11
done
on simulated 4 2 12
# Each rank with a GPU of its own, and a NCCL.
if [ -z "$SANITIZED" ] && [ -n "${MPICC-}" ]; then
    check 'the fake NCCL compiles' \
        "$MPICC" -shared -fPIC -o "$tmp/cuda/libnccl.so.2" "$top_srcdir/tests/bench/nccl.c"
    export GPUBIND_COLLECTIVES=nccl GPUBIND_SIM_DEVICES=3
    on simulated 3 2 13
    unset GPUBIND_COLLECTIVES GPUBIND_SIM_DEVICES
    : >"$tmp/cuda/libnccl.so.2"
fi
on GPU 4 2 12
nothing_left 'nothing is left behind'
done_testing
