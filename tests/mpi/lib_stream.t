#!/bin/sh
# Messages in the order of streams.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

if [ -n "$quick" ]; then
    for setting in simulated 'no peers' 'network threads'; do
        on "$setting" 2 on_stream
    done
else
    for setting in simulated 'slow copies' 'slower copies' 'no peers' 'no IPC' 'one device' \
        kernels 'one device, kernels' 'shared path' 'slow shared' 'no eager' threads thread 'network threads' \
        'slow network threads' 'no driver' 'no GPU' GPU 'GPU shared' 'GPU network threads' \
        'GPU thread'; do
        on "$setting" 2 on_stream
    done
    on simulated 4 on_stream
    is 'no receive is said to wait for long' "$(grep -c 'waits since' "$tmp/err")" 0
fi
for setting in simulated 'slow copies' 'no peers' kernels 'shared path' threads \
    'slow network threads' GPU 'GPU shared' 'GPU network threads' 'GPU thread'; do
    on "$setting" 2 on_stream_mixed 4
done
quick_ends_here

on 'slow copies' 4 on_stream_mixed 2 11
for setting in simulated 'slow copies' kernels 'no peers' 'no IPC' threads 'one device' \
    'one device, kernels' GPU; do
    on "$setting" 2 on_stream_direct 4
done
for setting in simulated kernels 'one device, kernels' threads GPU; do
    on "$setting" 4 on_stream_direct 2 12
done
for setting in simulated kernels 'kernels, locks' 'shared path' GPU; do
    on "$setting" 3 on_stream_frees
done
for setting in simulated 'slow copies' kernels 'kernels, locks' GPU; do
    on "$setting" 2 on_stream_many mapped
done
for setting in 'no peers' 'shared path' 'network threads' 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 on_stream_many
done
for setting in kernels GPU; do
    for n in 60 250 400; do
        on "$setting" 4 on_stream_shared $n
    done
done
export CUDA_DEVICE_MAX_CONNECTIONS=32
for setting in kernels GPU; do
    on "$setting" 2 on_stream_wide
done
unset CUDA_DEVICE_MAX_CONNECTIONS
for setting in 'network path' 'GPU network'; do
    on "$setting" 2 on_stream refused
done
for setting in simulated 'slow copies' 'network threads' GPU; do
    on "$setting" 2 on_stream left
    is_wanted "$setting" || continue
    is "$setting: what is left is said" \
        "$(grep -c '^gpubind: rank 0: a message on a stream went wrong, and no later call .*: nobody sent' "$tmp/err")" 1
done

# Each at odd places, in both ranks; the tests' own calls are few.
for fault in cuStreamBatchMemOp_v2:1=719,cuMemcpyDtoHAsync_v2:1=719 \
    cuStreamGetCtx:2=400,cuStreamIsCapturing:5=999 cuMemHostRegister_v2:1=2,cuMemHostRegister_v2:2=2 \
    cuMemcpyDtoDAsync_v2:1=700,cuMemcpyBatchAsync_v2:1=719,cuMemcpyAsync:6=700 \
    cuMemcpyDtoDAsync_v2:1=700late,cuMemcpyBatchAsync_v2:1=719late,cuMemcpyAsync:9=700late; do
    export GPUBIND_SIM_FAIL=$fault
    start simulated 2 "$program" on_stream failures
    setting="simulated, $fault"
    relay failures
done
export GPUBIND_SIM_FAIL=cuStreamQuery:1+=719
on simulated 2 on_stream lost
on simulated 2 on_stream lost_waits
export GPUBIND_SIM_FAIL=cuMemcpyDtoHAsync_v2:2=700,cuMemcpyAsync:4=719
for setting in 'no peers' 'network threads'; do
    start "$setting" 2 "$program" on_stream failures
    setting="$setting, staged copies fail"
    relay failures
done
for n in 2 3 4; do # of these ranks: its own eager buffers, the other's flags, its eager buffers
    export GPUBIND_SIM_FAIL=cuMemHostRegister_v2:$n=2
    on kernels 2 on_stream
done
unset GPUBIND_SIM_FAIL
for setting in simulated 'slow copies' kernels 'kernels, locks' GPU; do on "$setting" 2 on_stream_in_way; done
for setting in 'kernels, channel' 'one device, channel' 'kernels, locks' MPS GPU; do on "$setting" 2 on_stream_legacy; done
# Where streams wait by memory operations, two that wait are all that two channels take.
for setting in 'two channels' MPS; do on "$setting" 2 on_stream_legacy 1; done
for name in on_stream on_stream_many on_stream_group; do on MPS 2 $name; done
for name in on_stream_mixed on_stream_direct on_stream_wide; do on 'MPS, eight channels' 2 $name; done
for n in 4 8; do on MPS $n on_stream_shared; done
export GPUBIND_WAIT_NOTICE=1
on 'two channels' 2 on_stream_channels
on simulated 2 on_stream_channels free
unset GPUBIND_WAIT_NOTICE
for setting in 'kernels, channel, locks' 'shared, locks' GPU 'GPU shared'; do on "$setting" 2 on_stream_legacy_threads; done
for from in host pool device; do
    for nbytes in small large; do
        for verb in send receive; do
            for setting in 'kernels, locks' GPU; do
                on "$setting" 2 on_stream_copied $from $nbytes $verb
            done
        done
    done
done
nothing_left 'nothing is left behind'
done_testing
