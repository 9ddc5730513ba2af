#!/bin/sh
# Large collectives in plain MPI functions, whose ranks agree how they go.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/agree
[ -x "$program" ] || skip_all 'configured without MPI'

for setting in simulated 'slow copies' 'one device' 'no IPC' GPU; do
    on "$setting" 2 agree
done
on simulated 3 agree
on simulated 4 agree
on GPU 4 agree
for setting in simulated GPU; do
    is_wanted "$setting" || continue
    export GPUBIND_VERBOSE=1
    on "$setting" 2 agree ones
    unset GPUBIND_VERBOSE
    is "$setting: all of these calls went directly" \
        "$(grep -c ': 80 collective calls went as direct messages' "$tmp/err")" 2
done
program=$top_builddir/tests/aware/creations
for setting in simulated GPU; do
    is_wanted "$setting" || continue
    export GPUBIND_VERBOSE=1
    on "$setting" 2 creations
    unset GPUBIND_VERBOSE
    is "$setting: the last of these calls went directly" \
        "$(grep -c ': [1-9][0-9]* collective calls* went as direct messages*' "$tmp/err")" 2
done
on 'no IPC' 2 creations
on simulated 3 creations
nothing_left 'nothing is left behind'
done_testing
