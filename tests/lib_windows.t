#!/bin/sh
# Windows, and streams that put to them, get from them, signal and wait.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'slower copies' 'one device' GPU; do
    for ranks in 1 2 3 5; do
        on "$setting" $ranks windows
    done
done
on 'three devices' 3 windows
on 'small memory' 2 windows
for setting in 'no peers' 'no mappings' 'network path' 'shared path'; do
    on "$setting" 2 windows_apart some
done
on 'no GPU' 2 windows
on 'no driver' 2 windows
on 'GPU network' 2 windows_apart some

# failing WHAT LIST: a call of rank 1's that fails leaves all ranks without a window.
for call in cuMemAlloc_v2 cuMemsetD8Async cuMemcpyHtoDAsync_v2; do
    export GPUBIND_SIM_FAIL="$call:1+=2" GPUBIND_SIM_RANK=1
    start simulated 3 "$program" windows_fail
    setting="simulated, $call fails"
    relay windows_fail
    unset GPUBIND_SIM_FAIL GPUBIND_SIM_RANK
done

began=$(date +%s)
limit=30 start simulated 3 "$program" windows_die
check 'a rank dies before gpubind_win_free: the job ends' \
    test "$status" != 0 -a "$status" != 124 -a $(($(date +%s) - began)) -lt 25
nothing_left 'nothing is left behind'
done_testing
