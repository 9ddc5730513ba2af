#!/bin/sh
# One-sided communication with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

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

program=$top_builddir/tests/aware/one_copy
export GPUBIND_SIM_FAIL=cuMemcpyDtoHAsync_v2:1+=719,cuMemcpyHtoDAsync_v2:1+=719
on simulated 2 'one copy'
on simulated 3 'one copy'
unset GPUBIND_SIM_FAIL
on GPU 2 'one copy'

program=$top_builddir/tests/aware/window_habits
for setting in simulated 'no IPC' kernels 'host path' GPU; do
    on "$setting" 2 'habits'
done
on simulated 1 'habits'
on simulated 3 'habits'
OMPI_MCA_osc=sm on simulated 2 'habits'

# Over MPICH, beside the MPI that was configured.
if has_mpich; then
    over_mpich one_sided
    for n in 1 2 3; do
        MPIRUN=$hydra on simulated $n 'over MPICH'
    done
    MPIRUN=$hydra on 'no IPC' 2 'over MPICH'
    over_mpich window_habits
    MPIRUN=$hydra on simulated 2 'habits over MPICH'
fi
nothing_left 'nothing is left behind'
done_testing
