#!/bin/sh
# Order with the GPU's streams; the state of the calling thread.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'slower copies' 'no peers' 'one device' kernels \
    'shared path' 'network path' GPU 'GPU shared' 'GPU network'; do
    on "$setting" 2 order
done
for setting in simulated 'slow copies' 'slower copies' 'slow network' 'slow shared' kernels GPU \
    'GPU shared' 'GPU network'; do
    on "$setting" 2 sync_copies
done
for setting in simulated 'slow copies' 'no peers' 'network path' GPU 'GPU shared' 'GPU network'; do
    on "$setting" 2 contexts
done
for setting in simulated 'slow copies' kernels 'no peers' GPU 'GPU shared'; do
    on "$setting" 2 green
done
done_testing
