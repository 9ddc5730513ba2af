#!/bin/sh
# Persistent messages: set up once, started often.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 3 persistent
done_testing
