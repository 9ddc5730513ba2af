#!/bin/sh
# Windows of GPU memory: rare uses.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/windows
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated 'no IPC' GPU; do
    on "$setting" 3 windows
    case $setting in 'no IPC') is_wanted "$setting" || continue ;; *) continue ;; esac
    is "$setting: page-locked memory is had" "$(grep -c 'page-locked' "$tmp/err")" 0
done
for setting in simulated GPU; do
    on "$setting" 3 without_cuda
done
OMPI_MCA_osc=sm on simulated 2 windows # as Open MPI 4.1 on a machine without a network
on 'slow copies' 2 threads

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE -pthread "-I$top_srcdir" -o "$tmp/windows" "$top_srcdir/tests/aware/windows.c" -ldl
    is 'it compiles with mpicc.mpich' "$status" 0
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/windows" "$@"\n' "$aware" >"$tmp/over_mpich"
    chmod +x "$tmp/over_mpich"
    program=$tmp/over_mpich
    MPIRUN=$hydra on simulated 3 'over MPICH'
    MPIRUN=$hydra on 'slow copies' 2 threads
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
