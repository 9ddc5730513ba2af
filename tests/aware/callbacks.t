#!/bin/sh
# Callbacks of the application that MPI calls communicate with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/callbacks
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2 3; do
        on "$setting" $n 100
        on "$setting" $n 70000
    done
done
nothing_left 'nothing is left behind'
done_testing
