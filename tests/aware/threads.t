#!/bin/sh
# Several threads with GPU memory in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/threads
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    on "$setting" 2 threads
done
nothing_left 'nothing is left behind'
done_testing
