#!/bin/sh
# Requests that MPI's error leaves active: failing.c stands for such an MPI.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

[ -x "$top_builddir/tests/aware/active" ] || skip_all 'configured without MPI'
[ -z "$SANITIZED" ] || skip_all 'sanitizers are to be loaded first'

preloaded "$top_builddir/src/aware/.libs/libgpubind-aware.so.0:$top_builddir/tests/aware/.libs/libfailing.so" \
    "$top_builddir/tests/aware/active"
for setting in simulated 'host path' GPU; do
    for n in 1 2 3; do on "$setting" $n; done
done

if has_mpich; then
    over_mpich active failing
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
fi
nothing_left 'nothing is left behind'
done_testing
