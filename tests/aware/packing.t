#!/bin/sh
# MPI_Pack, MPI_Unpack and MPI_Reduce_local with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/packing
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated kernels GPU; do
    for n in 1 2 3; do
        on "$setting" $n packing
    done
done
nothing_left 'nothing is left behind'
done_testing
