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

    # Nothing comes before functions of the program's own, and none of these is behind the library's.
    archive=$(echo /usr/lib/*/libmpich.a)
    if [ -e "$archive" ] && pkg-config --exists mpich; then
        run mpicc.mpich "$top_srcdir/examples/gpu_aware.c" -o "$tmp/static" -Wl,--no-as-needed "$aware" \
            "-Wl,-rpath,${aware%/*}" -Wl,--as-needed "$archive" \
            $(pkg-config --static --libs mpich | sed 's/-lmpich//') -ldl
        is 'a program is linked with the library and with a static MPI' "$status" 0
        start simulated 2 "$tmp/static"
        is '... and says what is missing' "$([ "$status" = 0 ] || sort -u "$tmp/err")" \
            'gpubind: the MPI library that is loaded has no MPI_Init'
    else
        skip 'a static MPI' 'no libmpich.a, or no pkg-config for it'
    fi
fi
nothing_left 'nothing is left behind'
done_testing
