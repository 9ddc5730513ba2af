#!/bin/sh
# Types of more elements than an int counts receive direct messages, over an MPI that has such types.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/large_counts
[ -x "$program" ] || skip_all 'configured without MPI'
[ -z "$SANITIZED" ] || skip_all 'sanitizers map too much memory'
for setting in simulated GPU; do on "$setting" 2; done

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/large_counts" "$top_srcdir/tests/aware/large_counts.c" -ldl
    is 'it compiles with mpicc.mpich' "$status" 0
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/large_counts"\n' "$aware" >"$tmp/over_mpich"
    chmod +x "$tmp/over_mpich"
    program=$tmp/over_mpich
    MPIRUN=$hydra
    for setting in simulated 'no peers' 'host path' GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, or no libgpubind-aware-mpich'
fi
nothing_left 'nothing is left behind'
done_testing
