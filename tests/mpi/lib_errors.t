#!/bin/sh
# Errors: what a call returns, what it says, and what is left after it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

for setting in simulated 'no peers' 'network path' 'no driver' GPU; do
    on "$setting" 2 truncation
    on "$setting" 3 arguments
done

# aborts WHAT WORDS: under MPI's default error handler the job ends, and one sentence
# of the library says why.
aborts() {
    start simulated 2 "$program" abort "$1"
    check "$1: the job ends with an error" test "$status" != 0 -a "$status" != 124
    is "$1: the call does not return" "$(cat "$tmp/out")" ''
    is "$1: one sentence names it" "$(grep '^gpubind: ' "$tmp/err" | grep -ce "$2") of $(
        grep -c '^gpubind: ' "$tmp/err")" '1 of 1'
}
aborts rank 4711
aborts tag -4711
aborts count -4711
aborts type '[Tt][Yy][Pp][Ee]'
aborts buffer NULL
aborts comm the_grid
aborts truncate 10

# A switch of the library is written as one of gpubind's own.
start simulated 2 env GPUBIND_VERBOSE=yes GPUBIND_ORDER=off "$program" where
check 'switches are words, too' test "$status" = 0 -a "$(grep -c '^gpubind: path any' "$tmp/err")" -gt 0
start simulated 2 env GPUBIND_ORDER=perhaps "$program" where
check 'a word that is none' grep -q '^gpubind: .*GPUBIND_ORDER=perhaps: not a number from 0 to 1' "$tmp/err"

# A variable that is misspelt is named, once on the node.
start simulated 2 env GPUBIND_EAGRE=0 "$program" where
is 'a variable that is none' "$status $(sed -n 's/^gpubind: rank [01]: GPUBIND/GPUBIND/p' "$tmp/err")" \
    '0 GPUBIND_EAGRE is no variable of gpubind; the nearest one is GPUBIND_EAGER'
start simulated 2 env GPUBIND_PLAN=1 GPUBIND_EAGRE=0 "$program" where
is 'a launcher or plugin above has said it' "$status $(grep -c 'is no variable' "$tmp/err")" '0 0'
nothing_left 'nothing is left behind'
done_testing
