#!/bin/sh
# Time limits of the tests: GPUBIND_TEST_PATIENCE lengthens each, and gpubind's programs do not see it.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

cat >"$tmp/asks.sh" <<EOF
top_srcdir=$top_srcdir launch_dir=$top_srcdir/tests/launch
. "\$top_srcdir/tests/lib.sh"
. "\$launch_dir/common.sh"
limit=1
"\$@"
EOF
# ends PATIENCE COMMAND...
ends() {
    patience=$1
    shift
    run env "GPUBIND_TEST_PATIENCE=$patience" sh "$tmp/asks.sh" "$@"
    echo "$status"
}
is 'a limit ends what hangs' "$(ends 1 bounded sleep 60)" 124
is '... later with more patience' "$(ends 5 bounded sleep 1.2)" 0
is 'a job over several nodes: a limit ends what hangs' "$(ends 1 launch_bounded sleep 60)" 124
is '... later with more patience' "$(ends 5 launch_bounded sleep 1.2)" 0
ends 5 bounded env >"$tmp/status"
is 'programs do not see the name' "$(grep -c '^GPUBIND_TEST' "$tmp/out")" 0
is '... and are told' "$(grep '^TEST_PATIENCE=' "$tmp/out")" TEST_PATIENCE=5
done_testing
