#!/bin/sh
# packaging/deb, packaging/rpm, packaging/wheel and ./bootstrap package refuse what they cannot take, and touch nothing.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
version=$(sed -n 's/^AC_INIT(\[gpubind\], \[\(.*\)\])$/\1/p' "$top_srcdir/configure.ac")

# refuses DESCRIPTION SENTENCE ARG...
refuses() {
    what=$1 sentence=$2
    shift 2
    for kind in deb rpm wheel; do
        run "$top_srcdir/packaging/$kind" "$@"
        is "$kind: $what" "$status $(cat "$tmp/err")" "1 packaging/$kind: $sentence"
    done
}

# sources VERSION HEADING: $tmp/VERSION.tar.gz, of nothing but what packaging/deb reads first.
sources() {
    mkdir -p "$tmp/gpubind-$1/packaging/debian"
    cp "$top_srcdir/packaging/debian/control" "$tmp/gpubind-$1/packaging/debian"
    cp "$top_srcdir/packaging/source.sh" "$tmp/gpubind-$1/packaging"
    printf '# Changelog\n\n## %s\n' "$2" >"$tmp/gpubind-$1/CHANGELOG.md"
    tar czf "$tmp/$1.tar.gz" -C "$tmp" "gpubind-$1"
}

for kind in deb rpm wheel; do
    run "$top_srcdir/packaging/$kind"
    is "$kind: no tarball" "$status $(grep -c "packaging/$kind .*tar.gz FOLDER" "$tmp/err")" '2 1'
done
refuses 'a tarball that is not there' "there is no $tmp/none.tar.gz" "$tmp/none.tar.gz" "$tmp/new"
sources 7.8.9 '7.8.8 - 2026-01-01'
refuses 'a version that CHANGELOG.md does not begin with' \
    'CHANGELOG.md does not begin with 7.8.9, nor with what is unreleased' "$tmp/7.8.9.tar.gz" "$tmp/new"
mkdir "$tmp/other" && echo data >"$tmp/other/file" && tar czf "$tmp/other.tar.gz" -C "$tmp" other
refuses 'sources of another program' "$tmp/other.tar.gz is no source of gpubind" "$tmp/other.tar.gz" "$tmp/new"
refuses 'a folder with other files' "$tmp/other holds what is no package of gpubind; name another folder" \
    "$tmp/7.8.9.tar.gz" "$tmp/other"
is '... which stay' "$(cat "$tmp/other/file")" data
mkdir -p "$tmp/clone/gpubind/.git" && echo data >"$tmp/clone/gpubind/file"
refuses 'a folder with a clone' "$tmp/clone holds what is no package of gpubind; name another folder" \
    "$tmp/7.8.9.tar.gz" "$tmp/clone"
is '... which stays' "$(cat "$tmp/clone/gpubind/file")" data
mkdir "$tmp/same" && cp "$tmp/7.8.9.tar.gz" "$tmp/same/gpubind-7.8.9.tar.gz"
refuses 'the folder of the tarball' "$tmp/same/gpubind-7.8.9.tar.gz lies in $tmp/same, which is made anew; name another folder" \
    "$tmp/same/gpubind-7.8.9.tar.gz" "$tmp/same"
check '... which stays' test -s "$tmp/same/gpubind-7.8.9.tar.gz"
# changelog_of KIND: that of three versions, two of them of one day.
# shellcheck disable=SC2016 # Markdown
printf '%s\n' '# Changelog' '' '## Unreleased' '' '### Known problems' '' '- `code`, [link](a.md) and 5%' '  more.' \
    '' '## 0.2.0 - 2026-01-05' '' '- b' '' '## 0.1.0 - 2026-01-05' '' '- c' >"$tmp/CHANGELOG.md"
changelog_of() {
    # shellcheck disable=SC1091,SC2016,SC2034 # in the shell that is started
    run sh -c '. "$0/packaging/source.sh"; tree=$1 upstream=0.3.0+1 newest=0 by="A <a@b>"; changelog "$2" 1 stable' \
        "$top_srcdir" "$tmp" "$1"
}
changelog_of deb
is 'deb: the changelog' "$(grep . "$tmp/out")" "gpubind (0.3.0+1-1) stable; urgency=medium
  [ Known problems ]
  * code, link and 5% more.
 -- A <a@b>  Thu, 01 Jan 1970 00:00:00 +0000
gpubind (0.2.0-1) stable; urgency=medium
  * b
 -- A <a@b>  Mon, 05 Jan 2026 00:00:00 +0000
gpubind (0.1.0-1) stable; urgency=medium
  * c
 -- A <a@b>  Mon, 05 Jan 2026 00:00:00 +0000"
changelog_of rpm
is 'rpm: the changelog' "$(grep . "$tmp/out")" "* Thu Jan 01 1970 A <a@b> - 0.3.0+1-1
- code, link and 5%% more.
* Mon Jan 05 2026 A <a@b> - 0.2.0-1
- b
* Mon Jan 05 2026 A <a@b> - 0.1.0-1
- c"
for words in package 'package zip' 'packages zip' chek 'demo 4' 'check all lib_pt2pt' 'package deb rpm' \
    'packages ci deb'; do
    # shellcheck disable=SC2086 # words
    run bash "$top_srcdir/bootstrap" $words
    is "./bootstrap $words" "$status $(grep -cE "^usage: |^bootstrap: ('|package)" "$tmp/err")" '2 2'
done
for words in help -h 'check --help' 'package deb -h'; do
    # shellcheck disable=SC2086 # words
    run bash "$top_srcdir/bootstrap" $words
    is "./bootstrap $words" "$status $(grep -c '^usage: ' "$tmp/out")" '0 1'
done
is 'CHANGELOG.md begins with what is unreleased, or with this version' \
    "$(sed -n 's/^## //p' "$top_srcdir/CHANGELOG.md" | head -n 1 | grep -cE "^(Unreleased|$version - [0-9-]{10})$")" 1
# A wheel whose tag would not tell what its files need.
if command -v python3 >/dev/null && command -v objdump >/dev/null; then
    mkdir -p "$tmp/files/data/lib" "$tmp/files/licenses"
    echo 'int other(void); int mine(void) { return other(); }' >"$tmp/mine.c"
    echo 'int other(void) { return 1; }' >"$tmp/other.c"
    ${CC:-cc} -shared -fPIC -Wl,-soname,libother.so.1 -o "$tmp/libother.so" "$tmp/other.c"
    ${CC:-cc} -shared -fPIC -o "$tmp/files/data/lib/mine.so" "$tmp/mine.c" "$tmp/libother.so"
    export SOURCE_DATE_EPOCH=1700000000
    run python3 "$top_srcdir/packaging/wheel.py" 1.2 "$tmp/files" "$tmp"
    is 'a wheel with a file that needs a library of this machine' "$status $(cat "$tmp/err")" \
        '1 packaging/wheel: lib/mine.so needs libother.so.1, which not every Linux has'
    rm "$tmp/files/data/lib/mine.so"
    run python3 "$top_srcdir/packaging/wheel.py" 1.2 "$tmp/files" "$tmp"
    is 'a wheel of nothing' "$status $(cat "$tmp/err")" "1 packaging/wheel: $tmp/files has no programs"
    is '... and none is written' "$(find "$tmp" -name '*.whl')" ''
else
    skip 'wheels that are refused' 'no python3 or objdump'
fi
done_testing
