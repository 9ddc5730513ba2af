#!/bin/sh
# Large collectives in plain MPI functions, whose ranks agree how they go.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/agree
[ -x "$program" ] || skip_all 'configured without MPI'

for setting in simulated 'slow copies' 'one device' 'no IPC' GPU; do
    on "$setting" 2 agree
done
on simulated 3 agree
on simulated 4 agree
on GPU 4 agree
nothing_left 'nothing is left behind'
done_testing
