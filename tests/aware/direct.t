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
# An MPI that takes GPU memory by itself has it all, and one rank says so where asked.
over="$top_builddir/src/aware/.libs/libgpubind-aware.so.0:$top_builddir/tests/aware/.libs/libtakes_gpu.so"
if [ -z "$SANITIZED" ] && is_wanted 'no driver'; then
    start 'no driver' 2 env GPUBIND_VERBOSE=1 LD_PRELOAD="$over" "$program" modes
    is 'an MPI that takes GPU memory: it is left to it' "$status $(cat "$tmp/err")" \
        '0 gpubind: GPU-aware steps aside: this MPI takes GPU memory by itself'
fi
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
    check "$1: $2" grep -Eq "gpubind: rank 0: [1-9][0-9]* messages from GPU memory: $2" "$tmp/err"
}
went simulated '[1-9][0-9]* by gpubind, of which [1-9][0-9]* were buffered in host memory'
went 'host path' '0 by gpubind, of which 0 .*; [1-9][0-9]* were staged for MPI'
went 'no peers' '[1-9][0-9]* by gpubind, of which [1-9][0-9]* .*; [1-9][0-9]* were staged for MPI'
went GPU '[1-9][0-9]* by gpubind'
# An empty variable counts as not set, and an unknown value is named.
path() {
    is_wanted simulated || return 0
    start simulated 2 env GPUBIND_VERBOSE=on "GPUBIND_PATH=$1" "$program" progress
    is "GPUBIND_PATH=$1: messages go directly, and ranks that name it: $2" "$(
        grep -Ecx 'gpubind: rank 0: [1-9][0-9]* messages from GPU memory: [1-9][0-9]* by gpubind, .*' "$tmp/err"
    ) $(grep -cx 'gpubind: GPUBIND_PATH is any, .*, not "'"$1"'"; taken as any' "$tmp/err")" "1 $2"
}
path '' 0
path hots 2
# Those of a freed communicator, too small, or too many go through MPI.
went simulated '[1-9][0-9][0-9] by gpubind, .*; [0-9]{1,2} were staged for MPI' persistent
# Types with gaps are packed in GPU memory, if there may be some.
went simulated '[3-9][0-9][0-9] by gpubind, ' types
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
