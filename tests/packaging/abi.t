#!/bin/sh
# Programs that were linked with the last release run with the libraries of this build: nothing that they
# may call is gone, or takes other arguments.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
abi=$top_srcdir/packaging/abi/abi
recorded=$top_srcdir/packaging/abi
command -v abidiff >/dev/null || skip_all 'no abidiff'

# ---- that it can fail
printf 'struct shown { int a; };\n' >"$tmp/shown.h"
# library NAME DECLARATIONS: a library of these.
library() {
    { printf '#include "shown.h"\n'; printf '%s\n' "$2"; } >"$tmp/$1.c"
    ${CC:-cc} -g -shared -fPIC -Wl,-soname,libshown.so.0 -o "$tmp/$1.so" "$tmp/$1.c"
}
one='struct inside { int a; }; int one(struct shown *s, struct inside *i) { return s->a + i->a; }'
inside='struct inside { long a; }; int one(struct shown *s, struct inside *i) { return s->a + (int)i->a; }'
two='long two(int n) { return n; }'
three='long two(int n, int m) { return n + m; }'
if library old "$one $two" 2>"$tmp/err" && library more "$one $two int more(void) { return 1; }" &&
    library fewer "$one" && library other "$one $three" && library inside "$inside $two"; then
    printf 'struct shown { long a; };\n' >"$tmp/shown.h"
    library type "$one $two"
    printf 'struct shown { int a; };\n' >"$tmp/shown.h"
    run "$abi" record "$tmp/old.so" "$tmp/shown.h" "$tmp/old.gz"
    is 'a library is recorded' "$status" 0
    for row in 'old 0' 'more 0' 'inside 0' 'fewer 1' 'other 1' 'type 1'; do
        run "$abi" compare "$tmp/old.gz" "$tmp/${row% *}.so" "$tmp/shown.h"
        is "compared with: ${row% *}" "$status" "${row#* }"
    done
else
    skip 'changes are found' 'no compiler'
fi

# ---- the last release, recorded with this MPI
same_mpi() { ${MPIRUN:-false} --version 2>/dev/null | grep -q "$(cat "$recorded/mpi")"; }
for name in libgpubind libgpubind-aware; do
    case $name in
    libgpubind) built=$top_builddir/src/mpi/.libs/libgpubind.so ;;
    *) built=$top_builddir/src/aware/.libs/$name.so ;;
    esac
    what="$name is for programs what it was in $(cat "$recorded/version")"
    if [ ! -r "$built" ] || ! same_mpi; then
        skip "$what" "not built for $(cat "$recorded/mpi")"
    elif [ -n "$SANITIZED" ]; then
        skip "$what" 'built for the sanitizers'
    else
        status=0
        said=$("$abi" compare "$recorded/$name.abi.gz" "$built" "$top_srcdir/src/mpi/gpubind.h" 2>&1) || status=$?
        case $status in
        2) skip "$what" "$said" ;;
        *) is "$what" "$said" '' ;;
        esac
    fi
done
done_testing
