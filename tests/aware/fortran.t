#!/bin/sh
# Fortran programs that pass GPU memory to MPI, with the handles of mpi and of mpi_f08, linked to
# nothing of gpubind's.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIFORT" ] && [ -e "$top_builddir/src/mpi/gpubind.mod" ] ||
    skip_all 'configured without Fortran'
. "$top_srcdir/tests/mpi/ranks.sh"
[ -z "$SANITIZED" ] || skip_all 'the library cannot be preloaded to a program without sanitizers'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
[ -e "$aware" ] || skip_all 'no libgpubind-aware'

for handles in integer ${MPI_F08:+f08}; do
    [ $handles = integer ] && flag= || flag=-DF08
    mkdir "$tmp/$handles"
    # shellcheck disable=SC2086 # perhaps no flag
    check "it compiles, $handles" sh -c 'cd "$0" && exec "$@"' "$tmp/$handles" "$MPIFORT" $flag \
        -o aware "$top_srcdir/tests/fortran/checks.f90" "$top_srcdir/examples/device.f90" \
        "$top_srcdir/tests/fortran/aware.F90"
    for setting in simulated GPU; do
        is_wanted "$setting" || continue
        start "$setting" 3 env "LD_PRELOAD=$aware" "$tmp/$handles/aware"
        while read -r word what; do
            case $word in
            ok) ok "$setting, $handles: $what" ;;
            not) not_ok "$setting, $handles: ${what#ok }" ;;
            esac
        done <"$tmp/out"
        is "$setting, $handles: it ends well" "$status, $(tail -n 1 "$tmp/out")" '0, done'
    done
done
done_testing
