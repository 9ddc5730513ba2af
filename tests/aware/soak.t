#!/bin/sh
# Plain MPI functions with GPU memory, mixed at random.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/soak

for setting in simulated 'slow copies' 'no peers' 'kernels, locks' 'no driver' GPU; do
    on "$setting" 3 2 11
done
on simulated 4 2 12
on GPU 4 2 12
nothing_left 'nothing is left behind'
done_testing
