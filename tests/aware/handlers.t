#!/bin/sh
# Error handlers of the application that leave by longjmp, or that communicate.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

program=$top_builddir/tests/aware/handlers
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2 3; do on "$setting" $n; done
done

# Over MPICH, beside the MPI that was configured.
if has_mpich; then
    over_mpich handlers
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
fi
nothing_left 'nothing is left behind'
done_testing
