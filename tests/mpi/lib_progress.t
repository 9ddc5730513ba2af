#!/bin/sh
# Messages move while a rank is in a call of MPI, at any thread level and on any path.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'slow copies' 'no peers' 'no reads' 'one device' 'network path' \
    threads 'network threads' thread 'one thread' 'no driver' GPU 'GPU shared' 'GPU network' \
    'GPU thread'; do
    on "$setting" 2 progress
done
done_testing
