#!/bin/sh
# The same library from the same sources over MPICH, where Open MPI was configured.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no MPI'
[ -z "$SANITIZED" ] || skip_all 'what it builds has no sanitizers'
"$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE' || skip_all 'configured with another MPI'
mpicc=$(command -v mpicc.mpich) || skip_all 'no mpicc.mpich'
mpirun=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
echo '#include <mpi.h>
int main(void) { return MPI_Init(0, 0); }' >"$tmp/try.c"
"$mpicc" "$tmp/try.c" -o "$tmp/try" 2>/dev/null || skip_all 'mpicc.mpich does not compile'

mkdir "$tmp/build"
limit=900 # a build, beside other tests
# make's own variables belong to the build that runs this test.
unset MAKEFLAGS MFLAGS MAKELEVEL
run bounded sh -c 'cd "$0" &&
    "$1/configure" "CC=$2" "MPICC=$3" "MPIRUN=$4" CFLAGS=-O0 --disable-dependency-tracking &&
    make src/mpi/libgpubind.la tests/sim/libcudasim.la tests/mpi/ranks' \
    "$tmp/build" "$top_srcdir" "${CC:-cc}" "$mpicc" "$mpirun"
if [ "$status" != 0 ]; then
    not_ok 'it builds with mpicc.mpich'
    diag "$(tail -n 30 "$tmp/out" "$tmp/err")"
    done_testing
    exit 1
fi
ok 'it builds with mpicc.mpich'
limit=60
top_builddir=$tmp/build
MPIRUN=$mpirun
. "$top_srcdir/tests/mpi/ranks.sh"

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
nothing_left 'nothing is left behind'
done_testing
