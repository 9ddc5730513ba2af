#!/bin/sh
# Calls of the driver that fail, ranks that die, receives that come late.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

# failing SETTING WHAT LIST [some]: `ranks failures` while these calls fail, as
# tests/sim/faults.c reads it.
failing() {
    what=$2
    export GPUBIND_SIM_FAIL="$3"
    start "$1" 2 "$program" failures ${4+"$4"}
    setting="$1, $what"
    relay failures
    unset GPUBIND_SIM_FAIL
}
# some SUFFIX CALL...: they fail now and then, at odd places. SUFFIX late: what they
# queued fails, when it is waited for.
some() {
    suffix=$1 separator=
    shift
    for call in "$@"; do
        for fault in 3=700 8=719 9=719 17=2 30=700; do
            printf '%s' "$separator$call:$fault$suffix"
            separator=,
        done
    done
}
copies='cuMemcpyAsync cuMemcpyDtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyHtoDAsync_v2
    cuMemcpyBatchAsync_v2 cuLaunchKernel'
for setting in simulated 'no peers' 'network path' kernels; do
    # shellcheck disable=SC2086 # words
    failing "$setting" 'copies fail' "$(some '' $copies)" some
    # shellcheck disable=SC2086
    failing "$setting" 'copies fail later' "$(some late $copies)" some
done
for rank in 0 1; do
    export GPUBIND_SIM_RANK=$rank
    # shellcheck disable=SC2086
    failing simulated "copies of rank $rank fail" "$(some '' $copies)" some
    # shellcheck disable=SC2086
    failing 'no peers' "copies of rank $rank fail" "$(some '' $copies)" some
done
unset GPUBIND_SIM_RANK

# A call that always fails: the library does without, or says so.
for call in cuIpcGetMemHandle cuIpcOpenMemHandle_v2 cuStreamWaitEvent cuEventCreate \
    cuEventRecord cuEventQuery cuMemHostRegister_v2 cuMemcpyDtoDAsync_v2 cuCtxEnablePeerAccess \
    cuMemcpyBatchAsync_v2 cuStreamIsCapturing cuThreadExchangeStreamCaptureMode \
    cuModuleLoadData cuDeviceGetUuid_v2 cuDeviceGetPCIBusId cuDeviceCanAccessPeer; do
    failing simulated "$call always fails" "$call:1+=999"
done
export GPUBIND_SIM_RANK=1 GPUBIND_SIM_FAIL='cuIpcOpenMemHandle_v2:2+=999'
for setting in simulated kernels 'slow copies' locks; do on "$setting" 2 bounce_refused; done
unset GPUBIND_SIM_RANK GPUBIND_SIM_FAIL
failing 'no peers' 'nothing can be page-locked' 'cuMemHostRegister_v2:1+=2'
failing 'no peers' 'a device is lost' 'cuMemcpyDtoHAsync_v2:4+=719'

for nbytes in 1000 4000000; do
    for setting in simulated 'network path'; do
        began=$(date +%s)
        limit=30 start "$setting" 3 "$program" die "$nbytes"
        check "$setting: a rank dies, messages of $nbytes bytes: the job ends" \
            test "$status" != 0 -a "$status" != 124 -a $(($(date +%s) - began)) -lt $((25 * TEST_PATIENCE))
    done
done
nothing_left 'nothing is left behind'

# waiting SETTING CASE SENTENCE: once, after a second, or more on a loaded machine.
waiting() {
    is_wanted "$1" || return 0
    export GPUBIND_WAIT_NOTICE=1
    on "$1" 2 mixed "$2"
    unset GPUBIND_WAIT_NOTICE
    is "$1: what is said of $2" "$(sed -n 's/^gpubind: //p' "$tmp/err" | grep -c "^$3")" 1
}
for setting in simulated 'network path'; do
    waiting "$setting" by_mpi 'rank 1: a receive waits since [0-9]* s for MPI_GPUSend or another send of gpubind, and rank 0 has sent a message with tag 3 by MPI'
    waiting "$setting" receive_first 'rank 1: a receive from rank 0 with tag 4 waits since [0-9]* s'
    waiting "$setting" probe_first 'rank 1: a receive from any rank with any tag waits since [0-9]* s'
    waiting "$setting" left 'rank 1: messages that were never received: 1, the first from rank 0 with tag 8'
done
waiting simulated not_received 'rank 0: a message to rank 1 with tag 6 was sent [0-9]* s ago, and nobody'

# At the limit of what a receiver keeps small sends wait, and say so; nonblocking ones pass.
for setting in simulated 'network path'; do
    is_wanted "$setting" || continue
    export GPUBIND_UNEXPECTED=0 GPUBIND_WAIT_NOTICE=1
    on "$setting" 2 unexpected_limit
    is "$setting: a small send beyond GPUBIND_UNEXPECTED waits, and says so" \
        "$(grep -c '^gpubind: rank 1: a message to rank 0 with tag [0-9]* waits since [0-9]* s' "$tmp/err")" 1
    unset GPUBIND_UNEXPECTED GPUBIND_WAIT_NOTICE
done

if is_wanted simulated; then
    on simulated 2 late
    is 'a late receive: said once' "$(grep -c '^gpubind: ' "$tmp/err")" 1
fi
done_testing
