#!/bin/sh
# A rank is killed: what waits for it ends with an error that names it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

"$MPIRUN" --version 2>&1 | grep -q 'Open MPI) 4' ||
    skip_all 'only Open MPI 4 was seen to let the other ranks live'
export OMPI_MCA_orte_enable_recovery=1

# dies SETTING N WHAT [SEED]: `ranks deaths`; what the ranks said lies in $tmp/out, sorted.
dies() {
    setting=$1 size=$2
    shift 2
    limit=100 start "$setting" "$size" "$program" deaths "$@"
    grep '^rank ' "$tmp/out" | sort >"$tmp/sorted"
    mv "$tmp/sorted" "$tmp/out"
}
said() { sed 's/^rank //' "$tmp/out"; }

for setting in simulated 'no peers' 'network path'; do
    dies "$setting" 3 by_name
    is "$setting: receives and probes from a rank that is gone" "$(said)" \
'0: a send to another: success
0: probe: gpubind_probe: rank 2 is gone
0: receive: MPI_GPURecv: rank 2 is gone
0: recv_alloc: gpubind_recv_alloc: rank 2 is gone
0: test: gpubind_test: rank 2 is gone'
done
for setting in simulated 'no peers'; do
    dies "$setting" 3 sends
    is "$setting: sends to a rank that is gone" "$(said)" \
'0: a send to another: success
0: send: MPI_GPUSend: rank 2 is gone
0: sendrecv: gpubind_sendrecv: rank 2 is gone
0: waitall: gpubind_waitall: request 0 of 9000: rank 2 is gone'
    dies "$setting" 3 sends_before
    is "$setting: sends that were begun before" "$(said)" \
        '0: waitall: gpubind_waitall: request 0 of 9000: rank 2 is gone'
done
dies simulated 3 any
is 'a receive from any rank ends once, then others go on' "$(said)" \
'0: probe: success
0: receive: MPI_GPURecv: rank 2 is gone, while a message from any rank was waited for
0: receive: success'
dies simulated 3 offer
is 'a send whose receiver is killed when it has offered its buffer' "$(said)" \
    '0: send: MPI_GPUSend: rank 2 is gone'
for setting in simulated kernels 'no peers'; do
    dies "$setting" 3 streams
    is "$setting: streams go on that wait for the stream of a rank that is gone" "$(said)" \
        "$(seq -f '0: stream %g: gpubind_quiet_on_stream: an earlier message of the stream: rank 2 is gone' 0 6)"
done
dies kernels 3 graph
is 'a graph with a message from a rank that is gone' "$(said | grep '^0')" \
'0: launch 0: CUDA error 0
0: launch 1: CUDA error 719'
dies simulated 3 in_a_send
is 'a rank that is killed in the middle of a send stops no others' "$(said)" \
'0: exchanges of the others: success
1: exchanges of the others: success'
dies 'network path' 3 data_gone
is 'a rank that is killed before its message was fetched stops no others' "$(said)" \
'0: exchanges of the others: success
0: receive: MPI_GPURecv: rank 2 is gone
1: exchanges of the others: success'
dies simulated 3 finalize
is 'gpubind_finalize comes to its end' "$(said)" \
'0: finalize: success
1: finalize: success'
is '... and it is said why' "$(grep -c 'rank 2 is gone; the end of the library' "$tmp/err")" 1

seed=1
for setting in simulated 'slow copies' 'no peers' 'shared path' 'network path' thread; do
    for _ in 1 2; do
        dies "$setting" 4 campaign "$seed"
        is "$setting: exchanges, and a rank is killed (seed $seed): all others end" \
            "$(said | grep -c 'exchange: .*: rank [0-3] is gone\(, while .*\)\?$')" 3
        seed=$((seed + 1))
    done
done
nothing_left 'nothing is left behind'
done_testing
