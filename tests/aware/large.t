#!/bin/sh
# What the MPI standard promises of collective functions, with large blocks of GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/large
[ -x "$program" ] || skip_all 'configured without MPI'

# all RANKS PART...
all() {
    ranks=$1
    shift
    for part in "$@"; do
        on "$setting" "$ranks" "$part"
    done
}
for setting in simulated GPU; do
    all 2 moved reduced neighbours pass comms attributes inter ahead progress wildcards pending streams errors \
        threads
done
if [ -z "$quick" ]; then
    for setting in kernels GPU; do
        all 3 moved reduced neighbours comms inter ahead wildcards pending
        all 4 neighbours progress threads
    done
    setting='slow copies'
    all 3 ahead pending threads
    # With the host's memory alone they tell whether the tests are right.
    setting='no driver'
    all 3 moved errors
fi
nothing_left 'nothing is left behind'
done_testing
