#!/bin/sh
# Random exchanges, each byte looked at. GPUBIND_STRESS_SECONDS: for each setting (1).
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

asked_seconds=$(asked GPUBIND_STRESS_SECONDS)
seconds=${asked_seconds:-1}
limit=$((seconds * 4 + 90)) # bounded's
seed=1
[ -z "$asked_seconds" ] || seed=$(date +%s)
diag "seed $seed"

for setting in simulated 'slow copies' 'no peers' 'no IPC' 'one device' kernels 'shared path' \
    'network path' 'slow network' 'no eager' thread 'no driver' GPU 'GPU shared' 'GPU network' \
    'GPU thread'; do
    on "$setting" 4 stress 1 "$seed" "$seconds"
done
for setting in simulated 'slow copies' 'no peers' 'network path' thread GPU; do
    on "$setting" 3 stress 3 "$seed" "$seconds"
done
done_testing
