#!/bin/sh
# Nothing of the library waits for a stream that may wait for it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'one device' kernels 'nothing kept' threads GPU; do
    on "$setting" 2 waits reached
done
on kernels 3 waits reached
for setting in 'no peers' 'no IPC' 'no mappings' 'shared path' 'network threads' 'GPU shared' \
    'GPU network threads'; do
    on "$setting" 2 waits
done
done_testing
