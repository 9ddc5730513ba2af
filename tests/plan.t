#!/bin/sh
# Golden plans. tests/plan/NAME.args is one line of options for gpubind --plan, with
# file names relative to tests/machines; NAME.expected begins with the test's title,
# then what is printed, what is said and the exit status. The plan's hash is masked.
# REGENERATE=1 writes the expectations anew: read the difference.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

plan() {
    # Split at white space, which no option here needs inside.
    set -f; set -- $(cat "$top_srcdir/tests/plan/$1.args"); set +f
    (cd "$top_srcdir/tests/machines" && gpubind --plan "$@") > "$tmp/out" 2> "$tmp/err"
    status=$?
    sed -E 's/plan [0-9a-f]{16}/plan HASH/; s/"plan":"[0-9a-f]{16}"/"plan":"HASH"/' "$tmp/out"
    cat "$tmp/err"
    echo "exit $status"
}

for args in "$top_srcdir"/tests/plan/*.args; do
    name=$(basename "$args" .args)
    expected=$top_srcdir/tests/plan/$name.expected
    title=$(sed -n '1s/^# //p' "$expected")
    { echo "# $title"; plan "$name"; } > "$tmp/got"
    if [ -n "$REGENERATE" ]; then cp "$tmp/got" "$expected"; fi
    if difference=$(diff -u "$expected" "$tmp/got"); then
        ok "$name: $title"
    else
        not_ok "$name: $title"
        diag "$difference"
    fi
done
done_testing
