#!/bin/sh
# Partitioned messages from and to GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/partitioned
[ -x "$program" ] || skip_all 'configured without MPI'
run mpi 1 "$program"
why=$(sed -n 's/^1[.][.]0 # SKIP //p' "$tmp/out")
[ -z "$why" ] || skip_all "$why"
limit=20 start simulated 2 env GPUBIND_GPU_AWARE=off "$program" host
[ "$status" = 0 ] || skip_all "this MPI does it wrong with host memory, too: status $status"
for setting in simulated kernels GPU; do
    for n in 1 2 3; do
        on "$setting" $n partitioned
    done
done
nothing_left 'nothing is left behind'
done_testing
