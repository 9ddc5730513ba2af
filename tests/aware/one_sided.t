#!/bin/sh
# One-sided communication with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/one_sided
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated 'no IPC' 'no peers' 'one device' kernels GPU; do
    for n in 1 2 3; do
        on "$setting" $n one_sided
    done
done
export OMPI_MCA_osc=sm # with which Open MPI 4.1 makes windows of its own memory alone, as without a network
on simulated 3 one_sided
on 'no IPC' 2 one_sided
unset OMPI_MCA_osc
on 'host path' 2 one_sided

program=$top_builddir/tests/aware/one_copy
export GPUBIND_SIM_FAIL=cuMemcpyDtoHAsync_v2:1+=719,cuMemcpyHtoDAsync_v2:1+=719
on simulated 2 'one copy'
on simulated 3 'one copy'
unset GPUBIND_SIM_FAIL
on GPU 2 'one copy'

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/one_sided" "$top_srcdir/tests/aware/one_sided.c" -ldl
    is 'it compiles with mpicc.mpich' "$status" 0
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/one_sided"\n' "$aware" >"$tmp/over_mpich"
    chmod +x "$tmp/over_mpich"
    program=$tmp/over_mpich
    for n in 1 2 3; do
        MPIRUN=$hydra on simulated $n 'over MPICH'
    done
    MPIRUN=$hydra on 'no IPC' 2 'over MPICH'
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
