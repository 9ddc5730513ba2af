#!/bin/sh
# Which message meets which receive.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 4 matching
on thread 4 matching
on 'GPU thread' 4 matching

# Many messages that nobody waits for yet; 16384 bytes go at once, others do not.
for setting in simulated kernels 'no peers' 'shared path' 'network path' 'no driver' thread GPU \
    'GPU shared' 'GPU network'; do
    on "$setting" 2 unexpected 1000
done
on simulated 9 unexpected 600
done_testing
