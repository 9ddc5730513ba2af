#!/bin/sh
# Direct messages whose receiver meets the sender's process for the first time: when that is in MPI_Finalize, when its
# backlog is full, and when it cannot be found, which is an error, and never a message.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/lost
[ -x "$program" ] || skip_all 'configured without MPI'

# What they have is for all ranks, and what is refused for one.
refuses="LD_PRELOAD=$top_builddir/tests/aware/.libs/librefuse_connect.so REFUSED_RANK=1"
settings="$settings
full | $refuses REFUSED_TIMES=40
closed | $refuses"
for first in 0 1 2; do
    on simulated 2 late $first
    [ -z "$SANITIZED" ] && is_wanted closed || continue
    on full 2 found $first
    on closed 2 lost $first
    check 'it is said why' grep -q 'a message from rank 0 of MPI_COMM_WORLD is lost' "$tmp/err"
done
nothing_left 'nothing is left behind'
done_testing
