#!/bin/sh
# Types of many small blocks over GPU memory, in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/irregular
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated 'no peers' GPU; do
    on "$setting" 2
done
# One kernel packs a message, and one unpacks it; no copies of rows.
for setting in kernels 'kernels, locks'; do
    on "$setting" 2 2 0
    on "$setting" 3 2 0
done
nothing_left 'nothing is left behind'
done_testing
