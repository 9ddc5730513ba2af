#!/bin/sh
# Types of more elements than an int counts receive direct messages, over an MPI that has such types.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

program=$top_builddir/tests/aware/large_counts
[ -x "$program" ] || skip_all 'configured without MPI'
[ -z "$SANITIZED" ] || skip_all 'sanitizers map too much memory'
for setting in simulated GPU; do on "$setting" 2; done

# Over MPICH, beside the MPI that was configured.
if has_mpich; then
    over_mpich large_counts
    MPIRUN=$hydra
    for setting in simulated 'no peers' 'host path' GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
fi
nothing_left 'nothing is left behind'
done_testing
