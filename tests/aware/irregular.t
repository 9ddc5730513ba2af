#!/bin/sh
# Types of many small blocks over GPU memory, in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/irregular
[ -x "$program" ] || skip_all 'configured without MPI'
export GPUBIND_SIM_ILLEGAL=0
for setting in simulated 'no peers' GPU; do
    on "$setting" 2
done
# One kernel packs a message, and one unpacks it; there are no copies of rows, but some where a receiver is late.
for setting in kernels 'kernels, locks'; do
    on "$setting" 2 2 4
    on "$setting" 3 2 4
done
# By way of host memory, where there are as few copies.
on 'kernels, no peers' 2 2 4
# Without kernels, or memory for what they need.
export GPUBIND_COPY_BLOCKS=0
on kernels 2 0 100000
unset GPUBIND_COPY_BLOCKS
export GPUBIND_PACK_MEMORY=0
on kernels 2 0 100000
unset GPUBIND_PACK_MEMORY
nothing_left 'nothing is left behind'
done_testing
