#!/bin/sh
# What comes, before it is received.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 4 probe
on 'no eager' 4 probe
done_testing
