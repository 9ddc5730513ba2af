#!/bin/sh
# Datatypes, MPI_PROC_NULL, empty messages.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 3 types
for setting in simulated 'no peers' kernels 'network path' 'no driver' GPU; do
    on "$setting" 2 regular
done
everywhere 2 types_as_mpi
done_testing
