#!/bin/sh
# Where the driver fails, or a rank is killed, programs with GPU memory in plain MPI functions end, and
# say why; where there is a slower way, they go on.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/soak
[ -x "$program" ] || skip_all 'configured without MPI'
[ "$real_gpu" != only ] || skip_all 'faults are simulated'

# faulty FAULT SECONDS: rank 1 has it.
faulty() {
    start simulated 2 env GPUBIND_SIM_RANK=1 "GPUBIND_SIM_FAIL=$1" "$program" "$2" 3
    ! grep -q 'hangs:\|Segmentation' "$tmp/out" "$tmp/err"
    is "$1: no hang, no crash" $? 0
}

for fault in cuMemcpyDtoHAsync_v2:9=999 cuMemcpyDtoHAsync_v2:1+=999 cuMemcpyHtoDAsync_v2:2=719late \
    cuMemcpy2DAsync_v2:9=999; do
    faulty "$fault" 5
    is 'the job ends' "$((status != 0))" 1
    check 'it is said why' grep -q 'gpubind: a buffer of an MPI call, GPU memory at 0x' "$tmp/err"
done
for fault in cuMemHostRegister_v2:1+=2 cuStreamCreateWithPriority:3=2 cuPointerSetAttribute:1+=999 \
    cuIpcGetMemHandle:1+=999 cuIpcOpenMemHandle_v2:1+=999 cuIpcOpenMemHandle_v2:3=2 \
    cuCtxSetFlags:1+=999 cuThreadExchangeStreamCaptureMode:1+=999; do
    faulty "$fault" 0.5
    is 'the slower way' "$status" 0
done

# At absolute addresses the copies of an allocation end before another one is looked at.
program=$top_builddir/tests/aware/failed_copies
start simulated 1 env 'GPUBIND_SIM_FAIL=cuMemcpyDtoHAsync_v2:1+=999,cuMemcpy2DAsync_v2:1+=999' "$program"
relay 'a message of two allocations, copies fail'
program=$top_builddir/tests/aware/soak

# Messages go directly through files of memory: each of them refused.
refused() {
    start "$1" 2 env LD_PRELOAD="$top_builddir/tests/mpi/.libs/librefuse_memfd.so" GPUBIND_VERBOSE=1 \
        "$2" "$program" 0.5 3
    ! grep -q 'hangs:\|Segmentation' "$tmp/out" "$tmp/err"
    is "$2, $1: no hang, no crash" $? 0
}
if [ -z "$SANITIZED" ]; then
    refused simulated ALL=1
    is 'no segment: the slower way' "$status" 0
    check 'none go directly' grep -q 'from GPU memory: 0 by gpubind' "$tmp/err"
    refused 'no peers' REFUSED=gpubind-aware-data
    is 'neither GPU memory nor host memory can be mapped: the job ends' "$((status != 0))" 1
    check 'it is said why' grep -q 'from rank [01] of MPI_COMM_WORLD is lost' "$tmp/err"
fi

# shellcheck disable=SC2016 # for the ranks' shell
start simulated 3 sh -c '
    [ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" != 1 ] || { (sleep 0.7; kill -9 $$) & }
    exec "$@"' sh "$program" 30 5
is 'a rank is killed: the job ends' "$((status != 0))" 1
! grep -q 'hangs:' "$tmp/out" "$tmp/err"
is 'nobody hangs' $? 0
nothing_left 'nothing is left behind'
done_testing
