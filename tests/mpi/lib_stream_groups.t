#!/bin/sh
# Messages in the order of streams: groups of them, and a send and a receive at once.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'no peers' kernels 'kernels, locks' 'one device, kernels' 'no IPC' threads \
    'network threads' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 on_stream_group
done
for setting in simulated 'slow copies' 'no peers' kernels 'kernels, locks' 'one device, kernels' threads \
    'network threads' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 on_stream_sendrecv
done

for setting in simulated kernels 'one device, kernels' GPU; do
    on "$setting" 4 on_stream_group
    on "$setting" 1 on_stream_sendrecv
    on "$setting" 3 on_stream_sendrecv
done
for of in group sendrecv; do
    on kernels 2 on_stream_$of launches
done

# A launch fails at odd places, in one rank.
export GPUBIND_SIM_RANK=0
for n in 12 13 14 15 17; do # those of the copy agent, which is done without, among them
    GPUBIND_SIM_FAIL=$(seq -f 'cuLaunchKernel:%g=701' -s , $n $((n + 4)))
    export GPUBIND_SIM_FAIL
    on kernels 2 on_stream_sendrecv failures
done
GPUBIND_SIM_FAIL=$(seq -f 'cuLaunchKernel:%g=701' -s , 12 3 24)
on kernels 2 on_stream_refused behind
GPUBIND_SIM_FAIL=cuStreamWriteValue32_v2:1=701
on kernels 2 on_stream_refused apart
unset GPUBIND_SIM_FAIL GPUBIND_SIM_RANK
for setting in 'kernels, locks' GPU; do on "$setting" 2 on_stream_refused beside; done
nothing_left 'nothing is left behind'
done_testing
