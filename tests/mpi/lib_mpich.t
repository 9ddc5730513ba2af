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
nothing_left 'nothing is left behind'
done_testing
