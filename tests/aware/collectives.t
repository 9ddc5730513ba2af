#!/bin/sh
# Collectives with GPU memory, in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/collectives
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated kernels GPU; do
    on "$setting" 2 collectives
    on "$setting" 3 collectives
    on "$setting" 4 collectives
done
nothing_left 'nothing is left behind'
done_testing
