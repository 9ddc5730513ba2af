#!/bin/sh
# Fortran programs that pass GPU memory to MPI, with the handles of mpif.h, mpi and mpi_f08, linked to
# nothing of gpubind's.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIFORT" ] && [ -e "$top_builddir/src/mpi/gpubind.mod" ] ||
    skip_all 'configured without Fortran'
. "$top_srcdir/tests/mpi/ranks.sh"
[ -z "$SANITIZED" ] || skip_all 'the library cannot be preloaded to a program without sanitizers'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
[ -e "$aware" ] || skip_all 'no libgpubind-aware'

# all COMPILER OVER NAME...: the programs of those names, over that MPI, with the handles of $all_handles.
all() {
    compiler=$1 over=$2
    shift 2
    for name; do
        for handles in $all_handles; do
            case $name.$handles in
            aware.mpif) continue ;; # its calls are those of mpi
            *.mpif) flag=-DMPIF ;;
            *.f08) flag=-DF08 ;;
            *) flag= ;;
            esac
            here=$tmp/$over.$name.$handles
            mkdir "$here"
            # shellcheck disable=SC2086 # perhaps no flag
            check "$name compiles, $over, $handles" sh -c 'cd "$0" && exec "$@"' "$here" "$compiler" $flag \
                -o "$name" "$top_srcdir/tests/fortran/checks.f90" "$top_srcdir/examples/device.f90" \
                "$top_srcdir/tests/fortran/$name.F90"
            for setting in simulated 'host path' GPU; do
                runs "$setting" "$here/$name"
            done
        done
    done
}

runs() {
    is_wanted "$1" || return 0
    start "$1" 3 env "LD_PRELOAD=$aware" "$2"
    text="$over, $setting, $handles"
    while read -r word what; do
        case $word in
        ok) ok "$text: $what" ;;
        not) not_ok "$text: ${what#ok }" ;;
        esac
    done <"$tmp/out"
    is "$text: $name ends well" "$status, $(tail -n 1 "$tmp/out")" '0, done'
}

all_handles="mpif integer ${MPI_F08:+f08}"
all "$MPIFORT" 'this MPI' aware allocate handlers

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpifort.mpich >"$tmp/out"; then
    MPIRUN=$hydra
    all mpifort.mpich MPICH aware allocate handlers
else
    skip 'over MPICH' 'no mpifort.mpich, no mpirun.mpich, or no libgpubind-aware-mpich'
fi
done_testing
