#!/bin/sh
# Plain MPI functions with GPU memory, mixed at random.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/soak

for setting in simulated 'slow copies' 'kernels, locks' threads 'no driver' GPU; do
    on "$setting" 2 3 11
    on "$setting" 4 3 12
done
nothing_left 'nothing is left behind'
done_testing
