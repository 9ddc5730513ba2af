#!/bin/sh
# Messages in the order of streams that are captured into graphs.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in kernels 'one device, kernels' GPU; do
    on "$setting" 2 on_stream_sendrecv captured
done
for setting in kernels 'kernels, locks' 'one device, kernels' GPU; do
    for n in 1 2 3; do
        on "$setting" $n on_stream_graph
    done
    on "$setting" 2 on_stream_graph shorter
    is_wanted "$setting" || continue
    is "$setting: it is said why" \
        "$(grep -c '^gpubind: rank .: .* cannot be passed: it is longer than the receive' "$tmp/err")" 1
done
for setting in kernels 'kernels, locks' 'one device, channel' GPU; do
    on "$setting" 2 on_stream_graph_late
done
for setting in kernels 'one device, kernels' GPU; do
    for n in 2 3; do
        on "$setting" $n on_stream_branches
    done
    on "$setting" 2 on_stream_branches kept
    is_wanted "$setting" || continue
    is "$setting: nothing is said of graphs that are left at the end" "$(grep -c 'cannot be passed' "$tmp/err")" 0
done
on 'kernels, no peers' 2 on_stream_graph unreachable
for setting in kernels GPU; do
    for which in send receive; do
        on "$setting" 2 on_stream_refused captured $which
    done
    on "$setting" 2 on_stream_refused nothing
    is_wanted "$setting" || continue
    is "$setting: a refused message is not said to be in no graph" "$(grep -c 'in no graph' "$tmp/err")" 0
done
for setting in kernels GPU; do
    on "$setting" 2 on_stream_graph unused
    is_wanted "$setting" || continue
    is "$setting: nobody is told that the other side is gone" "$(grep -c 'cannot be passed' "$tmp/err")" 0
done
start kernels 2 "$program" on_stream_graph destroyed
is 'kernels: a launch fails because the other side is gone, which is said before' "$(
    grep -c '^gpubind: rank 0: the captured message to rank 1 with tag 8 cannot be passed: ' "$tmp/err"
)" 1
for setting in kernels 'kernels, locks' GPU; do
    on "$setting" 2 on_stream_graph_in_way
    for n in 8 3000000; do
        on "$setting" 2 on_stream_graph_in_way $n 1
        on "$setting" 2 on_stream_graph_in_way $n 8
    done
    on "$setting" 3 on_stream_graph_window
done
nothing_left 'nothing is left behind'
done_testing
