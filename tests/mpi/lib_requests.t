#!/bin/sh
# Nonblocking verbs: test, wait, thousands of messages under way; synchronous sends.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 2 requests
everywhere 2 requests_ends
everywhere 2 requests_freed
everywhere 2 synchronous
everywhere 3 matched
everywhere 2 as_mpi
on threads 2 requests_ends
on threads 2 requests_freed
on 'no eager' 2 requests
done_testing
