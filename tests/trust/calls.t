#!/bin/sh
# Where a container, a sandbox or SELinux makes the kernel refuse system calls, programs go
# another way, or end with one sentence: tests/trust/calls.tsv.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/ranks.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

[ -z "$SANITIZED" ] || skip_all "the sanitizers' own calls would be refused"
refuse=$top_builddir/tests/trust/refuse
"$refuse" EPERM ptrace true 2>/dev/null || skip_all 'no filters of system calls here'
# Open MPI reads other processes' memory itself, and says so for each message that it cannot.
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_sm_single_copy_mechanism=none
export TEST_SECONDS=40

# launch CALLS ERROR OUTCOME: sets status to 0, or that of a rank that did not end well, and $tmp/err.
launch() {
    export within="$refuse $2 $1"
    case $3 in well) seconds=$((3 * TEST_PATIENCE)) ;; *) seconds=1 ;; esac # for the next rank to come
    for local in 0 1 2; do rank $local 3 --timeout $seconds; done
    for local in 0 1 2; do soon test -s "$tmp/$local.status"; done
    wait $starters
    starters= within= status=0
    for local in 0 1 2; do
        [ "$(cat "$tmp/$local.status")" = 0 ] || status=$(cat "$tmp/$local.status")
    done
    sentences 0 1 2 >"$tmp/err"
    [ "$status" != 0 ] || [ "$(gpus 0 1 2)" = 3 ] || status='0, and ranks share a GPU'
}

# The libraries' tests check what they receive. Streams between ranks that do not share
# memory take threads.
ranks_of() {
    calls=$1 error=$2
    shift 2
    TEST_MULTIPLE=1 start simulated 2 "$refuse" "$error" "$calls" "$@"
    [ "$status" != 0 ] || grep -q '^ok 1' "$tmp/out" || status='0, and no result'
}

# refused PROGRAM CALLS ERROR OUTCOME
refused() {
    case $1 in
    launch) launch "$2" "$3" "$4" ;;
    plan) run "$refuse" "$3" "$2" gpubind --plan --ranks 4 --topology "$demo" ;;
    lib) ranks_of "$2" "$3" "$top_builddir/tests/mpi/ranks" soak 0 3 ;;
    aware) ranks_of "$2" "$3" "$top_builddir/tests/aware/soak" 0.2 3 ;;
    esac
    grep '^gpubind: ' "$tmp/err" >"$tmp/said"
}

# What the rank that a line is from said, without which one it is.
words() { sed 's/^gpubind: \(rank [0-9]*: \)*//' "$tmp/said" | sort -u; }

# judge DESCRIPTION OUTCOME TEXT
judge() {
    lines=$(grep -c . "$tmp/said")
    case $2 in
    well) is "$1" "$status, $lines lines: $(words)" '0, 0 lines: ' ;;
    says) is "$1" "$status, $lines lines: $(words)" "0, 1 lines: $3" ;;
    ends)
        # One rank may be left, which waits for the others and then goes on.
        others=$(words | grep -v 'no other of the 3 ranks\|of the 3 ranks on this node came')
        is "$1" "$((status != 0)), at most 3 lines: $((lines <= 3)): ${others#"the node's "}" \
            "1, at most 3 lines: 1: $3"
        ;;
    esac
}

while IFS='	' read -r kind calls error outcome text; do
    case $kind in
    '' | '#'*) continue ;;
    lib | aware) [ -x "$top_builddir/tests/mpi/ranks" ] || continue ;;
    esac
    refused "$kind" "$calls" "$error" "$outcome"
    judge "$kind, $calls: $error: $outcome${text:+: }$text" "$outcome" "$text"
done <"$top_srcdir/tests/trust/calls.tsv"
nothing_left 'nothing is left behind'
done_testing
