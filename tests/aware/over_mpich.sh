# Sourced after tests/mpi/ranks.sh by tests/aware/*.t that run their program over MPICH, too, beside the MPI that was
# configured.
# shellcheck shell=sh disable=SC2034,SC2154

aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)

# There are MPICH and libgpubind-aware for it; false: that was skipped.
has_mpich() {
    if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
        return 0
    fi
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
    return 1
}

# preloaded LIBRARIES PROGRAM: sets program, which starts that one, without arguments, behind them.
preloaded() {
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "%s"\n' "$1" "$2" >"$tmp/preloaded"
    chmod +x "$tmp/preloaded"
    program=$tmp/preloaded
}

# over_mpich NAME [LIBRARY]: sets program, which is tests/aware/NAME.c over MPICH behind libgpubind-aware, and behind
# libLIBRARY.so, made of tests/aware/LIBRARY.c. $link: what it is linked with, too.
over_mpich() {
    set -- "$1" "${2-}" "${2:+$tmp/lib$2.so}"
    if [ -n "$2" ]; then
        run mpicc.mpich -D_GNU_SOURCE -shared -fPIC -o "$3" "$top_srcdir/tests/aware/$2.c"
        is "$2.c compiles with mpicc.mpich" "$status" 0
    fi
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/$1" "$top_srcdir/tests/aware/$1.c" ${3:+"$3"} \
        ${link:+"$link"} -ldl
    is "$1.c compiles with mpicc.mpich" "$status" 0
    preloaded "$aware${3:+:$3}" "$tmp/$1"
}
