#!/bin/sh
# Datatypes over GPU memory, in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/layouts
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated kernels 'no peers' GPU; do
    on "$setting" 2 layouts
    on "$setting" 3 layouts
done
# What is at absolute addresses is TiB apart.
if [ -z "$SANITIZED" ]; then
    ulimit -S -v $((64 << 20)) # KiB
    on simulated 2 layouts
    ulimit -S -v unlimited
else
    skip 'simulated, 64 GiB of address space' 'sanitizers take more'
fi
nothing_left 'nothing is left behind'
done_testing
