#!/bin/sh
# mpi4py's own test suite over the MPI that was configured, with all arrays in GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no MPI'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
mpi_library=$(ldd "$aware" 2>/dev/null | awk '$1 ~ /^libmpich[.]so/ { print $3 }')
. "$top_srcdir/tests/aware/mpi4py.sh"

on_gpus 1 2
if [ "$(nproc)" -ge 4 ]; then
    on_gpus 4
else
    skip 'arrays of the GPU, 4 ranks' 'fewer than four cores'
fi
on_windows 1 2
on_host
example
nothing_left 'nothing is left behind'
done_testing
