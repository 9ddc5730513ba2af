#!/bin/sh
# Datatypes over GPU memory, in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/layouts
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated kernels 'no peers' GPU; do
    on "$setting" 2 layouts
    on "$setting" 3 layouts
done
nothing_left 'nothing is left behind'
done_testing
