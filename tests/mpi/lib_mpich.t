#!/bin/sh
# The same tests for programs of MPICH, with libgpubind-mpich, beside the MPI that was configured.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
[ -z "$SANITIZED" ] || skip_all 'the sanitized tests are over the other MPI'
program=$top_builddir/tests/mpi/ranks_mpich
[ -x "$program" ] || skip_all 'configured without MPICH'
MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
limit=60

on simulated 2 pt2pt
# More communicators than MPICH has numbers for. Its ranks spin while they wait, so that three
# of them beside other tests on two cores take long.
limit=180
export TEST_SECONDS=170
on simulated 3 comms
limit=60
unset TEST_SECONDS
for setting in simulated 'network path'; do
    on "$setting" 2 requests
    on "$setting" 2 persistent_types
    on "$setting" 2 progress
done
on simulated 2 types
on 'network path' 3 matching
on simulated 3 probe
on simulated 3 persistent
on simulated 2 persistent_ends
for test in types_as_mpi synchronous requests_ends requests_freed matched as_mpi; do
    on simulated 2 $test
done
on simulated 2 truncation
on simulated 3 arguments
on simulated 2 threads
on simulated 2 stress 1 1 1
on 'network path' 2 stress 1 1 1
on thread 2 stress 1 1 1
on simulated 2 on_stream
on 'network threads' 2 on_stream
for setting in 'no peers' 'network threads'; do
    on "$setting" 2 windows_apart served
done

# ---- a program of MPICH with the library for another MPI, and the other way around
cat >"$tmp/other.c" <<'EOF'
#include <mpi.h>
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return MPI_Finalize();
}
EOF
libs=$top_builddir/src/mpi/.libs
# other COMPILER LIBRARY LAUNCHER MPI
other() {
    run "$1" -o "$tmp/other" "$tmp/other.c" -Wl,--no-as-needed "$libs/$2.so" "-Wl,-rpath,$libs"
    MPIRUN=$3
    run mpi 1 "$tmp/other"
    check "$1 with $2: fails" test "$status" -ne 0 -a "$status" -ne 124
    is "$1 with $2: one sentence" "$(sed -n 's/^gpubind: //p' "$tmp/err" | sed 's/ with [^,]*[0-9][^,]*,/ with ...,/')" "$(
        printf %s "this program runs with ..., and is linked with the libgpubind for $4: compile it with its own"
        echo ' (pkg-config gpubind-mpich, gpubind-openmpi)'
    )"
}
if "$MPICC" --version >/dev/null 2>&1 && mpirun.openmpi --version >/dev/null 2>&1; then
    other mpicc.mpich libgpubind "$MPIRUN" 'Open MPI'
    other mpicc.openmpi libgpubind-mpich "$(command -v mpirun.openmpi)" "MPICH's ABI"
else
    skip 'the library for another MPI' 'no mpirun.openmpi'
fi
nothing_left 'nothing is left behind'
done_testing
