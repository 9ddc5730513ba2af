#!/bin/sh
# Small messages from GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/small
[ -x "$program" ] || skip_all 'configured without MPI'

# says SETTING MODE NAME PATTERN: what rank 0 says of the messages that it has sent.
says() {
    is_wanted "$1" || return 0
    start "$1" 2 env GPUBIND_VERBOSE=1 "$program" "$2"
    check "$1: $3" grep -Eq "gpubind: rank 0: 18[0-9] messages from GPU memory: $4" "$tmp/err"
}

for setting in simulated 'no peers' GPU; do
    on "$setting" 2 small
    on "$setting" 2 early
done
# At least one of five, and all of 3,584 bytes, however late the receiver is.
says simulated small 'they go directly' '([5-9][0-9]|1[0-9][0-9]) by gpubind'
says simulated early 'not where a receive may be overlooked' '2[0-9] by gpubind'
nothing_left 'nothing is left behind'
done_testing
