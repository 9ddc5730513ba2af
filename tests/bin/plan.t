#!/bin/sh
# Golden plans, in tests/plan.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/goldens.sh"

goldens plan plan
done_testing
