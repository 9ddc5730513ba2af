#!/bin/sh
# Automake's TAP driver, quieter: one line a test when it has ended, with what passed, failed
# and was left out and how long it took, and the failures below it. All of it is in its .log.
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
count() { grep -cE "^:test-result: ($1)" "$trs"; }
failed=$(count 'FAIL|XPASS|ERROR')
skipped=$(count 'SKIP|XFAIL')
line="${name#tests/}: $(count PASS) passed"
[ "$failed" = 0 ] || line="$line, $failed FAILED"
[ "$skipped" = 0 ] || line="$line, $skipped skipped"
echo "$line ($(($(date +%s) - began)) s)"
grep -E '^(FAIL|XPASS|ERROR): ' "$log"
exit "$status"
