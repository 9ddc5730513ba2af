#!/bin/sh
# Errors of calls to GPU memory of windows go to the window's error handler.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

program=$top_builddir/tests/aware/window_errors
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2; do
        on "$setting" $n window_errors
    done
done

# Over MPICH, beside the MPI that was configured.
if has_mpich; then
    over_mpich window_errors
    for setting in simulated GPU; do
        MPIRUN=$hydra on "$setting" 2 'over MPICH'
    done
fi
nothing_left 'nothing is left behind'
done_testing
