#!/bin/sh
# One message between two ranks: sizes, kinds of memory, verbs.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'no peers' 'network path' GPU 'GPU shared' 'GPU network'; do
    on "$setting" 2 pt2pt
done
for setting in 'slow copies' 'no IPC' 'one device' kernels 'shared path' 'slow network' \
    'slow shared' 'no eager' 'no GPU' 'no driver' 'GPU no eager'; do
    on "$setting" 2 pt2pt medium
done
on 'one way' 6 pt2pt medium
on 'GPU thread' 4 pt2pt medium
on GPU 2 huge
done_testing
