#!/bin/sh
# Automake's TAP driver, quieter: one line a test when it has ended, with what passed, failed
# and was left out, how long it took and how much CPU time, and the failures below it. All of it is in its .log.
# $1 is the TAP driver, the rest its arguments.
driver=$1
shift
for argument in "$@"; do
    case $previous in
    --test-name) name=$argument ;;
    --log-file) log=$argument ;;
    --trs-file) trs=$argument ;;
    esac
    previous=$argument
done
began=$(date +%s)
sh "$driver" "$@" >/dev/null
status=$?
# What the children of this shell took, and theirs. In a subshell there are none.
times >"$log.times"
cpu=$(awk 'NR == 2 { gsub("s", ""); for (i = 1; i <= NF; i++) { split($i, t, "m"); all += 60 * t[1] + t[2] } }
    END { printf "%.0f", all }' "$log.times")
rm "$log.times"
count() { grep -cE "^:test-result: ($1)" "$trs"; }
failed=$(count 'FAIL|XPASS|ERROR')
skipped=$(count 'SKIP|XFAIL')
line="${name#tests/}: $(count PASS) passed"
[ "$failed" = 0 ] || line="$line, $failed FAILED"
[ "$skipped" = 0 ] || line="$line, $skipped skipped"
echo "$line ($(($(date +%s) - began)) s, $cpu of CPU)"
grep -E '^(FAIL|XPASS|ERROR): ' "$log"
exit "$status"
