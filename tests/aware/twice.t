#!/bin/sh
# Neighbourhood collectives in which a rank is a neighbour more than once.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

program=$top_builddir/tests/aware/twice
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2 3; do
        on "$setting" $n
        ! is_wanted "$setting" || is "$setting: nothing is said" "$(cat "$tmp/err")" ''
    done
done

# Over MPICH, beside the MPI that was configured: it has an order of its own.
if has_mpich; then
    over_mpich twice
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
fi
nothing_left 'nothing is left behind'
done_testing
