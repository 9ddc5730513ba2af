#!/bin/sh
# Accumulates to GPU memory, by kernels and by the host.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

program=$top_builddir/tests/aware/accumulate
[ -x "$program" ] || skip_all 'configured without MPI'
export GPUBIND_VERBOSE=1
some=some
[ -e "$top_builddir/src/gpu/kernel_built.c" ] || some=none # without nvcc

# on_and SETTING N NAME some|none: and whether the GPU has computed.
on_and() {
    is_wanted "$1" || return 0
    on "$1" "$2" "$3"
    computed=none
    if grep -q 'of which the GPU computed [1-9]' "$tmp/err"; then computed=some; fi
    is "$1, $2 ranks: of $3 the GPU computes $4" "$computed" "$4"
}

on_and simulated 2 accumulate none
for n in 1 2 3; do
    on_and kernels $n accumulate "$some"
done
on_and 'kernels, locks' 2 accumulate "$some"
GPUBIND_COPY_BLOCKS=0 on_and kernels 2 accumulate none
GPUBIND_PACK_MEMORY=0 on_and kernels 2 accumulate "$some"
export GPUBIND_SIM_DEVICES=1
on_and kernels 2 accumulate "$some"
unset GPUBIND_SIM_DEVICES
export GPUBIND_SIM_IPC=refuse # a rank's own memory is mapped even then
on_and kernels 2 accumulate "$some"
unset GPUBIND_SIM_IPC
for n in 1 2 3; do
    on GPU $n accumulate
done

program=$top_builddir/tests/aware/swap
on_and simulated 2 comparisons none
for n in 1 2 3; do
    on_and kernels $n comparisons "$some"
done
on 'no IPC' 2 comparisons
GPUBIND_COPY_BLOCKS=0 on_and kernels 2 comparisons none
on GPU 2 comparisons
program=$top_builddir/tests/aware/accumulate

# fault FAULT: rank 1 has it.
fault() {
    start kernels 2 env GPUBIND_SIM_RANK=1 "GPUBIND_SIM_FAIL=$1" "$program"
    ! grep -q 'hangs:\|Segmentation' "$tmp/out" "$tmp/err"
    is "$1: no hang, no crash" $? 0
}
if is_wanted kernels && [ "$some" = some ]; then
    for fault in cuModuleLoadData:1+=999 cuLaunchKernel:1=999; do
        fault "$fault"
        is 'the host computes' "$status" 0
    done
    for fault in cuLaunchKernel:9=999 cuLaunchKernel:9=719late; do
        fault "$fault"
        is 'the job ends' "$((status != 0))" 1
        check 'it is said why' grep -q 'gpubind: GPU memory of rank 0' "$tmp/err"
    done
fi

# Over MPICH, beside the MPI that was configured.
if has_mpich; then
    over_mpich accumulate
    MPIRUN=$hydra
    on_and simulated 2 'over MPICH' none
    on_and kernels 1 'over MPICH' "$some"
    on_and kernels 3 'over MPICH' "$some"
fi
nothing_left 'nothing is left behind'
done_testing
