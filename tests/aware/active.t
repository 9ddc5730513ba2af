#!/bin/sh
# Requests that MPI's error leaves active: failing.c stands for such an MPI.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

[ -x "$top_builddir/tests/aware/active" ] || skip_all 'configured without MPI'
[ -z "$SANITIZED" ] || skip_all 'sanitizers are to be loaded first'

# through LIBGPUBIND_AWARE FAILING PROGRAM: sets program, which has both loaded in that order.
through() {
    # shellcheck disable=SC2016 # for the ranks
    printf '#!/bin/sh\nLD_PRELOAD=%s:%s exec %s\n' "$1" "$2" "$3" >"$tmp/through"
    chmod +x "$tmp/through"
    program=$tmp/through
}

through "$top_builddir/src/aware/.libs/libgpubind-aware.so.0" "$top_builddir/tests/aware/.libs/libfailing.so" \
    "$top_builddir/tests/aware/active"
for setting in simulated 'host path' GPU; do
    for n in 1 2 3; do on "$setting" $n; done
done

aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    run mpicc.mpich -D_GNU_SOURCE -shared -fPIC -o "$tmp/libfailing.so" "$top_srcdir/tests/aware/failing.c"
    is 'failing.c compiles with mpicc.mpich' "$status" 0
    run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/active" "$top_srcdir/tests/aware/active.c" -ldl
    is 'so does the program' "$status" 0
    through "$aware" "$tmp/libfailing.so" "$tmp/active"
    MPIRUN=$hydra
    for setting in simulated GPU; do
        for n in 1 2; do on "$setting" $n; done
    done
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, or no libgpubind-aware-mpich'
fi
nothing_left 'nothing is left behind'
done_testing
