#!/bin/sh
# What a rank takes as ranks grow: it is not more for each of them.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

on simulated 2 footprint
on simulated 16 footprint
on kernels 16 footprint
on 'network threads' 4 footprint
on GPU 2 footprint
on GPU 16 footprint
nothing_left 'nothing is left behind'
done_testing
