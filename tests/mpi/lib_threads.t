#!/bin/sh
# Several threads of a rank call at once.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'no peers' 'one device' 'network path' thread 'no driver' \
    GPU 'GPU shared' 'GPU network' 'GPU thread'; do
    on "$setting" 2 threads
done
done_testing
