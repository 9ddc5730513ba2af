#!/bin/sh
# Messages in the order of streams.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

if [ -n "$quick" ]; then
    on simulated 2 on_stream
    on 'network threads' 2 on_stream
else
    for setting in simulated 'slow copies' 'slower copies' 'no peers' 'no IPC' 'one device' \
        kernels 'shared path' 'slow shared' 'no eager' threads thread 'network threads' \
        'slow network threads' 'no driver' 'no GPU' GPU 'GPU shared' 'GPU network threads' \
        'GPU thread'; do
        on "$setting" 2 on_stream
    done
    on simulated 4 on_stream
fi
for setting in 'network path' 'GPU network'; do
    on "$setting" 2 on_stream refused
done
for setting in simulated 'slow copies' 'network threads' GPU; do
    on "$setting" 2 on_stream left
    case $setting in *GPU*) [ -n "$real_gpu" ] || continue ;; esac
    is "$setting: what is left is said" \
        "$(grep -c '^gpubind: rank 0: a message on a stream went wrong, and no later call .*: nobody sent' "$tmp/err")" 1
done
nothing_left 'nothing is left behind'
done_testing
