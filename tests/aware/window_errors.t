#!/bin/sh
# Errors of calls to GPU memory of windows go to the window's error handler.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/window_errors
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    for n in 1 2; do
        on "$setting" $n window_errors
    done
done

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/window_errors" \
        "$top_srcdir/tests/aware/window_errors.c" -ldl
    is 'it compiles with mpicc.mpich' "$status" 0
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/window_errors"\n' "$aware" >"$tmp/over_mpich"
    chmod +x "$tmp/over_mpich"
    program=$tmp/over_mpich
    for setting in simulated GPU; do
        MPIRUN=$hydra on "$setting" 2 'over MPICH'
    done
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
