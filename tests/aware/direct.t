#!/bin/sh
# What the MPI standard promises of messages, with GPU memory in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/direct.sh"
program=$top_builddir/tests/aware/direct
[ -x "$program" ] || skip_all 'configured without MPI'

for setting in simulated GPU; do
    every_part 2
done
# With the host's memory alone they tell whether the tests are right.
if [ -z "$quick" ]; then
    setting='no driver'
    all 2 modes
    setting='slow copies'
    all 2 progress threads
    for setting in simulated GPU; do
        all 3 wildcards comms
        all 4 wildcards
    done
fi

# went SETTING WHAT [PART]: what rank 0, which sends most of the part "progress", says of its messages.
went() {
    is_wanted "$1" || return 0
    start "$1" 2 env GPUBIND_VERBOSE=1 "$program" "${3-progress}"
    check "$1: $2" grep -Eq "gpubind: rank 0: of [1-9][0-9]* messages from GPU memory $2" "$tmp/err"
}
went simulated '[1-9][0-9]* went directly, [1-9][0-9]* of these through host memory'
went 'host path' '0 went directly, 0 of these .*; [1-9][0-9]* through MPI'
went 'no peers' '[1-9][0-9]* went directly, [1-9][0-9]* of these .*; [1-9][0-9]* through MPI'
went GPU '[1-9][0-9]* went directly'
# An empty variable counts as not set, and an unknown value is named.
path() {
    is_wanted simulated || return 0
    start simulated 2 env GPUBIND_VERBOSE=on "GPUBIND_PATH=$1" "$program" progress
    is "GPUBIND_PATH=$1: messages go directly, and ranks that name it: $2" "$(
        grep -Ecx 'gpubind: rank 0: of [1-9][0-9]* messages from GPU memory [1-9][0-9]* went directly, .*' "$tmp/err"
    ) $(grep -cx 'gpubind: GPUBIND_PATH is any, .*, not "'"$1"'"; taken as any' "$tmp/err")" "1 $2"
}
path '' 0
path hots 2
# Those of a freed communicator, too small, or too many go through MPI.
went simulated '[1-9][0-9][0-9] went directly, .*; [0-9]{1,2} through MPI' persistent
# Types with gaps are packed in GPU memory, if there may be some.
went simulated '[3-9][0-9][0-9] went directly, ' types
# What is partly in host memory is not taken for GPU memory, and copied another way after all.
for setting in simulated GPU; do
    is_wanted "$setting" || continue
    start "$setting" 2 "$program" layouts
    is "$setting: no copy is refused" "$status $(cat "$tmp/err")" '0 '
done
on 'nothing kept' 2 types
on 'host path' 2 lists
export OMPI_MCA_btl_vader_single_copy_mechanism=none
on 'host path' 2 truncation
nothing_left 'nothing is left behind'
done_testing
