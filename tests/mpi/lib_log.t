#!/bin/sh
# GPUBIND_LOG and GPUBIND_LOG_FILE: what is said of each message, and where.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

# logged SETTING N TEST: the ranks' lines are $tmp/log.0, $tmp/log.1, ...
logged() {
    rm -f "$tmp"/log.*
    export "GPUBIND_LOG_FILE=$tmp/log.%r"
    on "$@"
    unset GPUBIND_LOG_FILE
}

# not_ended FILE: sends and receives that were started, and neither complete nor failed.
not_ended() {
    awk '/ p2p trace: (send|receive) [0-9]+: (to|from) rank/ { id = $7 " " $8; began[id]++ }
        / p2p trace: (send|receive) [0-9]+: (complete|failed)/ { ended[$7 " " $8]++ }
        END { for (id in began) if (!(id in ended)) print id
              if (length(began) == 0) print "none began" }' "$1"
}

for setting in simulated 'no peers' 'network path'; do
    is_wanted "$setting" || continue
    export GPUBIND_LOG=trace:p2p
    logged "$setting" 2 pt2pt
    unset GPUBIND_LOG
    for rank in 0 1; do
        is "$setting: rank $rank says of each message how it ends" "$(not_ended "$tmp/log.$rank")" ''
        is "$setting: rank $rank says nothing else" \
            "$(grep -vcE "^gpubind +[0-9]+\.[0-9]{3} rank $rank p2p (debug|trace): " "$tmp/log.$rank")" 0
    done
done

if is_wanted simulated; then
    export GPUBIND_LOG=trace:p2p
    logged simulated 2 truncation
    unset GPUBIND_LOG
    check 'what is no rank has its name of MPI' grep -q ' rank MPI_PROC_NULL, ' "$tmp/log.0" "$tmp/log.1"
    is '... and no number' "$(cat "$tmp/log.0" "$tmp/log.1" | grep -cE '(rank|tag) -')" 0

    export GPUBIND_LOG=trace:stream,rma
    logged simulated 2 on_stream
    unset GPUBIND_LOG
    check 'a stream gets to its calls' grep -q ' stream trace: stream .*: got to call ' "$tmp/log.0"
    is '... and no other module is heard' "$(grep -vcE ' (stream|rma) trace: ' "$tmp/log.0")" 0

    for setting in kernels 'one device, kernels'; do
        export GPUBIND_LOG=trace:stream,p2p
        logged "$setting" 2 on_stream_many
        unset GPUBIND_LOG
        slots=$(cat "$tmp/log.0" "$tmp/log.1" | grep -oE 'writes to the slot|data from a slot' | sort -u)
        last=$(grep -oE 'its waits are kernels|no kernel waits in it' "$tmp/log.0" | tail -n 1)
        case $setting in # a rank that comes first to its GPU is alone there
        one*) check "$setting: no kernel waits on a GPU of two ranks" test "$last" != 'its waits are kernels' ;;
        *)
            is "$setting: kernels wait in a stream" "$last" 'its waits are kernels'
            is "$setting: messages go through slots, whoever is first" "$slots" 'data from a slot
writes to the slot'
            ;;
        esac
    done

    export GPUBIND_LOG=debug
    on simulated 2 persistent_stream
    unset GPUBIND_LOG
    check 'debug: channels are connected' grep -q ' persistent debug: request .*: connected$' "$tmp/err"
    check '... on both ranks' grep -q ' rank 1 persistent debug: ' "$tmp/err"
    is '... and no message is told of' "$(grep -c ' trace: ' "$tmp/err")" 0

    on simulated 2 pt2pt
    is 'nothing is said unless asked' "$(grep -c '^gpubind ' "$tmp/err")" 0
fi

# refuses VARIABLE VALUE PATTERN: an error that names both.
refuses() {
    export "$1=$2"
    start simulated 2 "$program" pt2pt
    unset "$1"
    check "$1=$2 is refused" test "$status" != 0
    check "... in a sentence" grep -qF "$3" "$tmp/err"
}
refuses GPUBIND_LOG loud 'GPUBIND_LOG=loud: there is warn, info, debug and trace'
refuses GPUBIND_LOG trace:p3p 'GPUBIND_LOG=trace:p3p: there is warn'
refuses GPUBIND_LOG trace: 'GPUBIND_LOG=trace:: there is warn'
refuses GPUBIND_LOG_FILE "$tmp/%q" "GPUBIND_LOG_FILE=$tmp/%q: there is %h, %r, %p and %%"
refuses GPUBIND_LOG_FILE "$tmp/nowhere/log" "GPUBIND_LOG_FILE: $tmp/nowhere/log: No such file"

# What the manual shows is what is said: without numbers, each line is a format of the sources.
cat "$top_srcdir"/src/mpi/*/*.c | tr '\n' ' ' | sed -E 's/" +"//g; s/%[a-z]+|%s//g; s/[0-9]+//g' >"$tmp/formats"
awk '/^\.SS/ { on = $2 == "Watching" } on && /(send|receive|message) [0-9]+/' "$top_srcdir/man/gpubind.7" |
    sed -E 's/^gpubind.* trace: //; s/, (1048576|with|room).*//; s/.*: //; s/[0-9]+//g' | sort -u >"$tmp/shown"
check 'the manual shows lines' test "$(wc -l <"$tmp/shown")" -ge 9
while read -r phrase; do
    check "'$phrase' is said" grep -qF "$phrase" "$tmp/formats"
done <"$tmp/shown"
done_testing
