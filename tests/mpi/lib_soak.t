#!/bin/sh
# All kinds of calls mixed, with contents checked. GPUBIND_SOAK_SECONDS: for each setting
# (2), with another seed each day; tests/bench/soak runs it for hours.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

asked_seconds=$(asked GPUBIND_SOAK_SECONDS)
seconds=${asked_seconds:-2}
limit=$((seconds + 150)) # bounded's
seed=1
[ -z "$asked_seconds" ] || seed=$(date +%Y%m%d)
export CUDA_DEVICE_MAX_CONNECTIONS=32 # more than four streams may wait at a time

for setting in simulated 'slow copies' 'no peers' 'one device' kernels 'shared path' \
    'network path' 'network threads' thread 'no driver' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 4 soak "$seconds" "$seed"
done
for setting in simulated kernels GPU; do
    on "$setting" 2 soak "$seconds" $((seed + 1))
done
done_testing
