#!/bin/sh
# However a Fortran compiler spells a function of MPI, in mpif.h, mpi or mpi_f08: the call comes to
# libgpubind-aware (fortran_symbols.py). The Fortran libraries of the MPIs that are installed are read for it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIFORT" ] || skip_all 'configured without Fortran'
for tool in objdump nm readelf ldd python3; do
    command -v $tool >"$tmp/out" || skip_all "no $tool"
done
here=$top_srcdir/tests/aware
printf '%s\n' 'program p' 'use HANDLES' 'integer :: ierr' 'call MPI_Init(ierr)' 'end program p' >"$tmp/program.F90"

# fortran_of COMPILER: the shared objects of MPI that define functions of Fortran.
fortran_of() {
    for handles in mpi mpi_f08; do
        (cd "$tmp" && "$1" -Wl,--no-as-needed -DHANDLES=$handles -o $handles program.F90) >>"$tmp/compiled" 2>&1 &&
            ldd "$tmp/$handles" | awk '$2 == "=>" { print $3 }'
    done | sort -u | while read -r library; do
        ! nm -D --defined-only "$library" | grep -qE ' p?mpi_(send|isend)(_f08(ts)?)?_$' || echo "$library"
    done
}

reads() { python3 "$here/fortran_symbols.py" "$@" >"$tmp/out" 2>"$tmp/err"; }

# look WHAT COMPILER LIBGPUBIND_AWARE: sets libraries.
look() {
    libraries=$(fortran_of "$2")
    check "$1: there are libraries of Fortran" test -n "$libraries"
    # shellcheck disable=SC2086 # words
    run reads "$here/functions.tsv" "$3" $libraries
    is "$1: all symbols lead to libgpubind-aware" "$(grep -v '^[0-9]* symbols of [0-9]* functions$' "$tmp/out")" ''
    is "$1: ... and status 0" "$status $(cat "$tmp/err")" '0 '
    echo "# $1: $(tail -n 1 "$tmp/out")"
}

look 'this MPI' "$MPIFORT" "$top_builddir/src/aware/.libs/libgpubind-aware.so"

# What it finds: functions that a library lacks.
printf '%s\n' 'int MPI_Send(void) { return 0; }' 'int PMPI_Send(void) { return 0; }' >"$tmp/less.c"
# shellcheck disable=SC2086 # words
run sh -c '"${CC:-cc}" -shared -fPIC -o "$0/less.so" "$0/less.c"' "$tmp"
# shellcheck disable=SC2086 # words
run reads "$here/functions.tsv" "$tmp/less.so" $libraries
is 'with another library: status 1' "$status" 1
check '... which names mpi_recv_' grep -q '^mpi_recv_ of .* calls no MPI_Recv$' "$tmp/out"
is '... and not mpi_send_' "$(grep -c '^mpi_send_ of' "$tmp/out")" 0

aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so
if [ -e "$aware" ] && command -v mpifort.mpich >"$tmp/out"; then
    look MPICH mpifort.mpich "$aware"
else
    skip MPICH 'no mpifort.mpich, or no libgpubind-aware-mpich'
fi
done_testing
