#!/bin/sh
# The MPI standard's promises about buffers hold for GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/contract

on simulated 2
on 'no driver' 2
on GPU 2
[ -n "$quick" ] || on simulated 3
done_testing
