#!/bin/sh
# Programs that open libgpubind-aware in place of the MPI's library, and ask it for MPI's functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/over_mpich.sh"

[ -z "$SANITIZED" ] || skip_all 'python3 has no sanitizer'
command -v python3 >/dev/null || skip_all 'no python3'

# opens LIBRARY
opens() {
    for setting in simulated GPU; do
        is_wanted "$setting" || continue
        start "$setting" 2 python3 "$top_srcdir/tests/aware/opened.py" "$1"
        is "$setting: GPU memory goes by the functions of ${1##*/}" "$status $(cat "$tmp/out")" '0 right'
        [ "$status" = 0 ] || diag "$(said)"
    done
}
opened=$top_builddir/src/aware/.libs/libgpubind-aware.so
[ -e "$opened" ] || skip_all 'configured without MPI'
opens "$opened"

# The library for MPICH's ABI names no MPI: one that names both, as docs/gpu-aware.md makes it.
if has_mpich; then
    echo | run mpicc.mpich -shared -o "$tmp/libmpi-gpu.so" -Wl,--no-as-needed -x c - -x none "$aware" \
        "-Wl,-rpath,${aware%/*}"
    is 'a library that is both is linked' "$status" 0
    MPIRUN=$hydra
    opens "$tmp/libmpi-gpu.so"
fi
nothing_left 'nothing is left behind'
done_testing
