#!/bin/sh
# Persistent messages: set up once, started often.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 3 persistent
on simulated 1 persistent
for setting in simulated 'slow copies' 'network path'; do
    on "$setting" 2 persistent
    on "$setting" 5 persistent
done
on thread 2 persistent
on 'few mappings' 3 persistent
on 'no eager' 3 persistent
everywhere 2 persistent_types
on 'slow copies' 3 persistent_types

for setting in simulated 'slow copies' 'no peers' 'one device' kernels 'shared path' \
    'network path' 'no driver' GPU 'GPU shared' 'GPU network'; do
    on "$setting" 2 persistent_rules
    on "$setting" 2 persistent_random
done
on simulated 3 persistent_random 2
on 'no eager' 2 persistent_random 3
on thread 2 persistent_rules
for setting in simulated 'slow copies' 'no peers' kernels 'shared path' thread \
    'network threads' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 persistent_channel
done
on simulated 2 persistent_channel 49

for setting in simulated 'slow copies' 'slower copies' 'one device' kernels GPU; do
    on "$setting" 2 persistent_stream linked
done
on simulated 3 persistent_stream linked
for setting in 'no peers' 'shared path' 'slow shared' 'network threads' 'slow network threads' \
    'no driver' 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 persistent_stream
done

for setting in simulated 'slow copies' 'no peers' kernels 'shared path' threads thread \
    'network threads' 'slow network threads' 'no driver' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 persistent_queue
done
on simulated 1 persistent_queue
on 'one way' 3 persistent_queue
on 'slow network threads' 3 persistent_queue
for setting in 'network path' 'GPU network'; do
    on "$setting" 2 persistent_queue refused
done

everywhere 2 persistent_ends
on simulated 2 persistent_ends 1000 10000
on 'network path' 2 persistent_ends 1000 3000
on GPU 2 persistent_ends 1000 10000
for setting in simulated 'slow copies' 'network path' GPU; do
    on "$setting" 2 persistent_left
done
for setting in 'no peers' kernels 'kernels, locks' 'one device, kernels' 'network threads' GPU 'GPU shared'; do
    on "$setting" 2 persistent_large
done
for setting in simulated 'slow copies' kernels GPU; do
    on "$setting" 2 persistent_over freed linked
done
for setting in 'no peers' 'shared path' 'network path' 'no driver' 'GPU network'; do
    on "$setting" 2 persistent_over freed
done

for setting in simulated 'slow copies' kernels GPU; do
    on "$setting" 2 persistent_held
done
export GPUBIND_SIM_QUEUE=16
on threads 2 persistent_held full
for setting in simulated kernels 'kernels, locks' GPU; do on "$setting" 2 persistent_in_way; done
unset GPUBIND_SIM_QUEUE

# Calls of the driver that fail, once or always. Not what they queued, later: a context
# with an error does nothing more, but the simulated driver copies behind a failed wait.
for fault in cuStreamBatchMemOp_v2:9=700 cuMemcpyDtoDAsync_v2:7=719 cuEventRecord:8=700 \
    cuEventQuery:30=719; do
    export GPUBIND_SIM_FAIL="$fault"
    on simulated 2 persistent_failures some
done
for call in cuStreamBatchMemOp_v2 cuEventRecord cuEventQuery cuIpcGetMemHandle \
    cuIpcOpenMemHandle_v2 cuMemAlloc_v2; do
    after=1+
    [ $call = cuMemAlloc_v2 ] && after=3+ # the test's own
    export GPUBIND_SIM_FAIL="$call:$after=999"
    on simulated 2 persistent_failures
done
export GPUBIND_SIM_RANK=0 GPUBIND_SIM_FAIL=cuEventRecord:2=700
for setting in simulated 'slow copies' kernels; do
    on "$setting" 2 persistent_over fails
done
for setting in 'slow copies' 'slowest copies'; do
    on "$setting" 2 persistent_over again
done
for rank in 0 1; do
    export GPUBIND_SIM_RANK=$rank GPUBIND_SIM_FAIL=cuStreamBatchMemOp_v2:3=700
    on simulated 2 persistent_over streams $rank
    on 'slow copies' 2 persistent_over streams $rank
    # Each kernel is launched once when the GPU is first seen; then the first start.
    export GPUBIND_SIM_FAIL=cuLaunchKernel:9=700
    on kernels 2 persistent_over streams $rank
done
unset GPUBIND_SIM_RANK GPUBIND_SIM_FAIL

# Open MPI goes on without a rank where it is told to.
export OMPI_MCA_orte_enable_recovery=1
for setting in simulated kernels 'slow copies' GPU; do
    is_wanted "$setting" || continue
    "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE' || continue
    for what in later waiting middle host message; do
        limit=40 start "$setting" 2 "$program" persistent_gone $what
        is "$setting: the other side is gone ($what): what waits ends with an error" \
            "$(grep -v '^$' "$tmp/out")" ended
    done
done
unset OMPI_MCA_orte_enable_recovery

for setting in simulated 'slow copies' 'shared path' 'network path'; do
    began=$(date +%s)
    limit=30 start "$setting" 3 "$program" persistent_die
    check "$setting: a rank dies: the job ends" \
        test "$status" != 0 -a "$status" != 124 -a $(($(date +%s) - began)) -lt $((25 * TEST_PATIENCE))
done
nothing_left 'nothing is left behind'
done_testing
