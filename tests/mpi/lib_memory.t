#!/bin/sh
# Every kind of memory; memory that is freed, allocated again, or written to as soon as
# a call returns; mappings that are given back.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'no peers' 'no IPC' 'one device' kernels 'network path' \
    GPU 'GPU shared' 'GPU network'; do
    on "$setting" 2 kinds
    on "$setting" 2 lifetimes
done
for setting in simulated 'slow copies' 'no peers' 'no IPC' kernels 'kernels, channel' 'shared path' \
    'no driver' GPU 'GPU shared'; do
    on "$setting" 2 reset streams
done
on 'network path' 2 reset
on 'three devices' 3 kinds
on 'slower copies' 2 lifetimes

for setting in 'small memory' 'small memory, no peers'; do
    for way in ours release bare; do
        on "$setting" 2 churn "$way"
    done
done
on GPU 2 churn ours
on GPU 2 churn release
on simulated 2 mappings 256
on 'few mappings' 2 mappings 4
for setting in simulated 'one device' GPU; do
    on "$setting" 2 unaided
done
on simulated 2 alone
for setting in simulated 'no peers' 'network path' 'no driver' GPU; do
    on "$setting" 3 finalize
done

# What the ranks see: their own device alone, their own first, or all.
sees() {
    start simulated 2 sh -c 'me=${OMPI_COMM_WORLD_LOCAL_RANK:-$MPI_LOCALRANKID} other=$((1 - me))
        export CUDA_VISIBLE_DEVICES='"$1"' TEST_DEVICE='"$2"'; exec "$0" kinds' "$program"
    setting="sees $3"
    relay kinds
}
sees '$me' 0 'its own device'
sees '$me,$other' 0 'its own device first'
sees '0,1' '$me' 'all devices'

# Where handles cannot be opened, one line says so, on behalf of all ranks.
start 'no IPC' 4 "$program" matching
is 'IPC is refused: said once' "$(grep -c '^gpubind: ' "$tmp/err")" 1
diag "$(said)"
start simulated 4 "$program" matching
is 'nothing is said where all is well' "$(said)" ''
nothing_left 'nothing is left behind'
done_testing
