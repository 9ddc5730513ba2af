#!/bin/sh
# GPU memory in plain MPI functions, and streams.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/order

for setting in simulated 'slow copies' 'kernels, locks' 'no driver' GPU; do
    on "$setting" 2
done
[ -n "$quick" ] || on simulated 3
done_testing
