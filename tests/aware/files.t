#!/bin/sh
# Files that are read to and written from GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/files
[ -x "$program" ] || skip_all 'configured without MPI'
export "TEST_FILE=$tmp/data"
for setting in simulated kernels GPU; do
    for n in 1 2 3; do
        on "$setting" $n files
    done
done
program=$top_builddir/tests/aware/large_files
for setting in simulated GPU; do
    on "$setting" 2 'large files'
done
nothing_left 'nothing is left behind'
done_testing
