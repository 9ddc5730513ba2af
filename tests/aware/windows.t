#!/bin/sh
# Windows of GPU memory: rare uses.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/windows
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated 'no IPC' GPU; do
    on "$setting" 3 windows
    ! is_wanted "$setting" ||
        is "$setting: page-locked memory is had" "$(grep -c 'page-locked' "$tmp/err")" 0
done
for setting in simulated GPU; do
    on "$setting" 3 without_cuda
done
OMPI_MCA_osc=sm on simulated 2 windows # as Open MPI 4.1 on a machine without a network
nothing_left 'nothing is left behind'
done_testing
