#!/bin/sh
# The application sits in a call of the driver that waits for a stream, which waits for the
# library: each kind of stream, each kind of wait, the first ever and later ones. By kernels:
# without them the library has to call the driver, too.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for what in messages sends-first strided persistent window; do
    for stream in legacy blocking nonblocking; do
        on 'kernels, locks' 2 in_driver "$stream" "$what"
    done
    for stream in legacy per-thread blocking nonblocking; do
        on GPU 2 in_driver "$stream" "$what"
    done
done
for setting in 'shared, locks' 'GPU shared' 'GPU network threads'; do
    for what in messages strided; do
        on "$setting" 2 in_driver legacy "$what"
    done
done
done_testing
