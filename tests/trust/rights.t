#!/bin/sh
# gpubind with more rights than its caller, without the right to get some, and installed in a folder
# below one that other users may write to.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'to set rights takes root'
setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null || skip_all 'no setpriv'
[ -z "$SANITIZED" ] || skip_all 'the sanitizers do not start with more rights'
machine=$top_srcdir/tests/machines/demo-2p4g.xml
nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# scratch/me is an installation; scratch is everybody's, as /tmp is.
chmod 755 "$tmp"
lib=$(sed -n 's/^libdir_name = //p' "$top_builddir/Makefile")
mkdir -p "$tmp/scratch/me/bin" "$tmp/scratch/me/$lib/gpubind"
chmod 1777 "$tmp/scratch"
cp "$top_builddir/bin/gpubind" "$tmp/scratch/me/bin"
cp "$top_builddir/src/host/.libs/discover.so" "$tmp/scratch/me/$lib/gpubind"
cp "$machine" "$tmp/machine.xml"
gpubind=$tmp/scratch/me/bin/gpubind
plan() { run "$@" --plan --ranks 4 --topology "$tmp/machine.xml"; }

plan nobody "$gpubind"
is 'another user runs it' "$status $(grep -c GPU- "$tmp/out")" '0 4'
plan setpriv --no-new-privs "$gpubind"
is 'with no_new_privs' "$status $(grep -c GPU- "$tmp/out")" '0 4'

# What runs when it is loaded says so.
cat >"$tmp/evil.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void)
{
    puts("EVIL");
    exit(0);
}
C
evil=$tmp/scratch/src/host/.libs/discover.so
if ${CC:-cc} -shared -fPIC -o "$tmp/evil.so" "$tmp/evil.c" 2>"$tmp/err"; then
    chmod 755 "$tmp/evil.so"
    nobody sh -c 'mkdir -p "${1%/*}" && cp "$2" "$1"' sh "$evil" "$tmp/evil.so"
    plan "$gpubind"
    is 'what a stranger has put beside the installation is not loaded' \
        "$status $(grep -c GPU- "$tmp/out") $(grep -c EVIL "$tmp/out")" '0 4 0'
    chown -R 0:0 "$tmp/scratch/src"
    plan "$gpubind"
    is '... what root has put there is' "$(cat "$tmp/out")" EVIL
    rm "$evil"
    chmod 4755 "$gpubind"
    plan nobody setpriv --no-new-privs "$gpubind"
    is 'set-user-ID, which no_new_privs makes nothing of' "$status $(grep -c GPU- "$tmp/out")" '0 4'
    for what in 'set-user-ID' 'set-group-ID' capabilities; do
        chmod 755 "$gpubind"
        case $what in
        set-user-ID) chmod 4755 "$gpubind" ;;
        set-group-ID) chmod 2755 "$gpubind" ;;
        *) setcap cap_sys_nice+ep "$gpubind" 2>/dev/null || { skip "$what: refused" 'no setcap'; continue; } ;;
        esac
        plan nobody env HWLOC_PLUGINS_PATH="$tmp" HWLOC_XMLFILE="$machine" "$gpubind"
        case $status in
        0) skip "$what: refused" 'the rights do not count here' ;;
        *) refused "$what: refused" 'which gpubind must not have' ;;
        esac
    done
else
    skip 'what others have put beside the installation' 'no compiler'
fi
nothing_left 'nothing is left behind'
done_testing
