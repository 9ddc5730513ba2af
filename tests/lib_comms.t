#!/bin/sh
# Communicators do not meet, nor do we meet the application.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

on simulated 3 comms
on 'no peers' 3 comms
on 'network path' 3 comms
on 'no driver' 3 comms
on GPU 4 comms

# The processes that MPI starts may not come up at all on a loaded machine: Open MPI 4.1.4
# then waits in PMIx_Init and PMIx_Lookup for ever. They have the environment of mpirun: with
# other settings of GPUBIND_PATH on the two sides MPI_Comm_dup of the merged communicator was
# seen to crash; that is open.
export TEST_SECONDS=30
for setting in simulated 'shared path' 'network path' GPU; do
    is_wanted "$setting" || continue
    (
        case $setting in 'network path') export GPUBIND_PATH=network ;; esac
        start "$setting" 2 "$program" spawn
        echo "$status" >"$tmp/status"
    )
    status=$(cat "$tmp/status") size=2
    if grep -q '# hangs: MPI_Comm_spawn$' "$tmp/err"; then
        skip "$setting: spawn" 'MPI_Comm_spawn does not come back'
    else
        relay spawn
    fi
done
done_testing
