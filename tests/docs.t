#!/bin/sh
# What the documents for people who read the code name is there.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

# named FILE: its `words` that are paths of this tree; NAME stands for any.
named() {
    grep -oE '`[^` ]+`' "$top_srcdir/$1" | tr -d '`' |
        grep -E '^(src|bin|bench|docs|tests|plugin|man|examples|m4)/[A-Za-z0-9_./*-]+$' | sort -u
}
for file in ARCHITECTURE.md CONTRIBUTING.md SECURITY.md; do
    check "$file names files" test "$(named "$file" | wc -l)" -gt 10
    is "$file: they are there" "$(named "$file" | grep -v NAME | while read -r path; do
        # shellcheck disable=SC2086 # a pattern
        ls -d "$top_srcdir"/$path "$top_srcdir"/$path.c 2>/dev/null | grep -q . || echo "$path"
    done)" ''
done
# A file's name alone, where its folder was named before.
is 'ARCHITECTURE.md: files without their folders are there' "$(
    grep -oE '`[a-z_]+\.(c|h|cu|cuh)`' "$top_srcdir/ARCHITECTURE.md" | tr -d '`' | sort -u |
        while read -r name; do
            [ -n "$(find "$top_srcdir/src" "$top_srcdir/bin" "$top_srcdir/bench" -name "$name")" ] || echo "$name"
        done)" ''
# Variables: what the sources read, the table of all of them, and the manual.
aware=$(cat "$top_srcdir"/src/aware/*/*.c "$top_srcdir/src/mpi/base/trace_part.c" | grep -oE '"GPUBIND_[A-Z_]+' | tr -d '"' | sort -u)
check 'src/aware reads variables' test "$(echo "$aware" | wc -l)" -ge 7
is 'gpubind-aware(7) has them, and no others' "$(awk '
    /^\.SH/ { on = $2 == "ENVIRONMENT" } on && /^\.B GPUBIND_/ { print $2 }' "$top_srcdir/man/gpubind-aware.7" |
    sort -u)" "$aware"
is 'so has the table of variables' "$(echo "$aware" | while read -r name; do
    grep -q "\"${name#GPUBIND_}\"" "$top_srcdir/src/core/base/variables.c" || echo "$name"
done)" ''
done_testing
