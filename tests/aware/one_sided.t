#!/bin/sh
# One-sided communication with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/one_sided
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated 'no IPC' 'no peers' 'one device' kernels GPU; do
    for n in 1 2 3; do
        on "$setting" $n one_sided
    done
done
export OMPI_MCA_osc=sm # with which Open MPI 4.1 makes windows of its own memory alone, as without a network
on simulated 3 one_sided
on 'no IPC' 2 one_sided
unset OMPI_MCA_osc
on 'host path' 2 one_sided
nothing_left 'nothing is left behind'
done_testing
