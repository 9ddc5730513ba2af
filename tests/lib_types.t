#!/bin/sh
# Datatypes, MPI_PROC_NULL, empty messages.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 3 types
everywhere 2 types_as_mpi
done_testing
