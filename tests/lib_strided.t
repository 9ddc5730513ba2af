#!/bin/sh
# Strided data: random types in all settings, and failures on their way.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 2 strided
on simulated 2 strided 3000
on kernels 2 strided 3000
on 'no eager' 2 strided
on 'small memory' 2 strided
done_testing
