#!/bin/sh
# Windows, and streams that put to them, get from them, signal and wait; also where these
# do not reach each other.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'slower copies' 'one device' GPU; do
    for ranks in 1 2 3 5; do
        on "$setting" $ranks windows
    done
done
on 'three devices' 3 windows
on 'small memory' 2 windows
for setting in 'no peers' 'no mappings' 'shared path' 'host path' 'slow shared' 'no eager, no peers' \
    'network threads' 'slow network threads' 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 windows_apart served
    on "$setting" 2 windows_ends
    on "$setting" 2 windows_ends left
done
for setting in 'no peers' 'network threads' 'one way round'; do
    on "$setting" 3 windows_apart served
done
for setting in 'network path' 'GPU network'; do
    on "$setting" 2 windows_apart refused
done
for setting in simulated GPU; do
    on "$setting" 2 windows_ends
done
export GPUBIND_SIM_FLUSH=1
on simulated 2 windows
unset GPUBIND_SIM_FLUSH
on 'no GPU' 2 windows
on 'no driver' 2 windows

quick_ends_here

# failing WHAT LIST: a call of rank 1's that fails leaves all ranks without a window.
for call in cuMemAlloc_v2 cuMemsetD8Async cuMemcpyHtoDAsync_v2; do
    export GPUBIND_SIM_FAIL="$call:1+=2" GPUBIND_SIM_RANK=1
    start simulated 3 "$program" windows_fail
    setting="simulated, $call fails"
    relay windows_fail
    unset GPUBIND_SIM_FAIL GPUBIND_SIM_RANK
done

# Calls of either side, at odd places.
for fault in cuMemcpyDtoHAsync_v2:2=700,cuMemcpyAsync:4=719,cuStreamWriteValue64_v2:3=999 \
    cuMemcpyHtoDAsync_v2:3=700,cuStreamWriteValue32_v2:5=719,cuStreamWriteValue64_v2:2=700late \
    cuMemcpyDtoHAsync_v2:3=700late,cuMemcpyHtoDAsync_v2:4=719late,cuMemcpyAsync:6=700late; do
    export GPUBIND_SIM_FAIL=$fault
    for setting in 'no peers' 'network threads'; do
        start "$setting" 2 "$program" windows_ends failures
        setting="$setting, $fault"
        relay failures
    done
done
unset GPUBIND_SIM_FAIL

for setting in simulated 'no peers' 'network threads'; do
    for what in '' put; do
        began=$(date +%s)
        # shellcheck disable=SC2086 # a word, or none
        limit=30 start "$setting" 3 "$program" windows_die $what
        check "$setting: a rank dies before gpubind_win_free${what:+, with puts to it}: the job ends" \
            test "$status" != 0 -a "$status" != 124 -a $(($(date +%s) - began)) -lt $((25 * TEST_PATIENCE))
    done
done
nothing_left 'nothing is left behind'
done_testing
