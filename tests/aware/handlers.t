#!/bin/sh
# Error handlers of the application that leave by longjmp, or that communicate.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/handlers
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2 3; do on "$setting" $n; done
done

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/handlers" "$top_srcdir/tests/aware/handlers.c" -ldl
    is 'it compiles with mpicc.mpich' "$status" 0
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/handlers"\n' "$aware" >"$tmp/over_mpich"
    chmod +x "$tmp/over_mpich"
    program=$tmp/over_mpich
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
