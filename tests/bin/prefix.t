#!/bin/sh
# What README says of a program that uses the library: it runs, also where gpubind is
# installed to a prefix of one's own.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] && [ -n "$MPICC" ] || skip_all 'no MPI'
[ -z "$SANITIZED" ] || skip_all 'the program is built without the sanitizers'
command -v pkg-config >/dev/null || skip_all 'no pkg-config'
library=$top_builddir/src/mpi/.libs
[ -e "$library/libgpubind.so" ] || skip_all 'no shared library was built'

# configured PREFIX [OPTION...]: gpubind.pc as configure makes it for that prefix.
configured() {
    mkdir -p "$tmp/build"
    (cd "$tmp/build" && limit=300 bounded sh "$top_srcdir/configure" --quiet --cache-file="$tmp/cache" \
        --without-cuda --without-pmix --without-fortran --prefix="$@" MPICC="$MPICC" && cat src/mpi/gpubind.pc) \
        2>"$tmp/err"
}
prefix=$tmp/own
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
configured "$prefix" >"$prefix/lib/pkgconfig/gpubind.pc"
check 'configured for a prefix of our own' test -s "$prefix/lib/pkgconfig/gpubind.pc"
cp -P "$library"/libgpubind.so* "$prefix/lib"
cp "$top_srcdir/src/mpi/gpubind.h" "$prefix/include"

cat >"$tmp/app.c" <<'C'
#include <gpubind.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank = 7, got = 7;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_GPUSend(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else
        MPI_GPURecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank)
        printf("got %d\n", got);
    MPI_Finalize();
    return 0;
}
C
unset LD_LIBRARY_PATH LD_RUN_PATH
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
cd "$tmp" || exit 1
# shellcheck disable=SC2046 # words
run "$MPICC" app.c -o app $(pkg-config --cflags --libs gpubind)
is 'it links' "$status" 0
run mpi 2 ./app
is 'it runs' "$status $(cat "$tmp/out")" '0 got 0'

# nvcc takes the words of gpubind.pc as they are, which it does not where one is -Wl,...
mpicxx=$(printf %s "$MPICC" | sed 's/mpicc\([.][a-z]*\)\{0,1\}$/mpicxx\1/')
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
if [ -n "$nvcc" ] && command -v "$mpicxx" >"$tmp/out"; then
    cp app.c app.cu
    # shellcheck disable=SC2046
    limit=200 run bounded "$nvcc" -ccbin "$mpicxx" app.cu -o app_cuda $(pkg-config --cflags --libs gpubind)
    is 'it links by nvcc' "$status" 0
    run mpi 2 ./app_cuda
    is 'it runs' "$status $(cat "$tmp/out")" '0 got 0'
else
    skip 'a program compiled by nvcc' "no nvcc, or no $mpicxx"
fi

# A program of MPICH, with its library, where they are.
if [ -e "$library/libgpubind-mpich.so" ] && command -v mpicc.mpich >"$tmp/out" &&
    mpirun=$(command -v mpirun.mpich || command -v mpiexec.hydra); then
    cp -P "$library"/libgpubind-mpich.so* "$prefix/lib"
    (cd "$tmp/build" && make -s src/mpi/gpubind-mpich.pc && cat src/mpi/gpubind-mpich.pc) \
        >"$prefix/lib/pkgconfig/gpubind-mpich.pc" 2>"$tmp/err"
    # shellcheck disable=SC2046
    run mpicc.mpich app.c -o app_mpich $(pkg-config --cflags --libs gpubind-mpich)
    is 'a program of MPICH links' "$status" 0
    MPIRUN=$mpirun
    run mpi 2 ./app_mpich
    is 'it runs' "$status $(cat "$tmp/out")" '0 got 0'
else
    skip 'a program of MPICH' 'no libgpubind-mpich, mpicc.mpich or mpirun.mpich'
fi

for system in /usr '/usr --libdir=/usr/lib64'; do
    # shellcheck disable=SC2086 # a prefix and an option
    is "no such thing for the system's own: $system" "$(configured $system | grep -c 'Libs: .*rpath')" 0
done
nothing_left 'nothing is left behind'
done_testing
