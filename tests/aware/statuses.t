#!/bin/sh
# The statuses of lists of requests, by functions of MPI 4.1: those of newer.c where the MPI has none, or
# no others.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

[ -x "$top_builddir/tests/aware/statuses" ] || skip_all 'configured without MPI'
[ -z "$SANITIZED" ] || skip_all 'sanitizers are to be loaded first'

preloaded "$top_builddir/src/aware/.libs/libgpubind-aware.so.0:$top_builddir/tests/aware/.libs/libnewer.so" \
    "$top_builddir/tests/aware/statuses"
for setting in simulated 'no peers' 'host path' GPU; do
    for n in 1 2 3; do on "$setting" $n; done
done

if has_mpich; then
    over_mpich statuses newer
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
    # The program has them by libgpubind-aware alone.
    link=$aware over_mpich statuses
    for n in 1 2; do on simulated $n; done
fi
nothing_left 'nothing is left behind'
done_testing
