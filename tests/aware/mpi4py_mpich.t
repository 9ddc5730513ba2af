#!/bin/sh
# mpi4py's own test suite over MPICH, beside the MPI that was configured, with all arrays in GPU memory.
# shellcheck disable=SC2034 # mpi4py.sh has them
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so
mpi_library=$(ldconfig -p 2>/dev/null | awk '$1 == "libmpich.so.12" { print $NF; exit }')
[ -n "$mpi_library" ] || skip_all 'no libmpich.so.12'
# Ranks of MPICH spin while they wait: this took five minutes on two cores, beside other tests.
[ "$(nproc)" -ge 4 ] || skip_all 'fewer than four cores'
. "$top_srcdir/tests/aware/mpi4py.sh"

limit=400
on_gpus 2 4
on_windows 1 2
on_mirrors 1 2
example
nothing_left 'nothing is left behind'
done_testing
