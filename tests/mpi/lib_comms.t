#!/bin/sh
# Communicators do not meet, nor do we meet the application.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

on simulated 3 comms
on 'no peers' 3 comms
on 'network path' 3 comms
on 'no driver' 3 comms
on GPU 4 comms
for setting in simulated 'no peers' 'network path' 'no driver' GPU; do
    on "$setting" 2 comms_freed
done
export GPUBIND_UNEXPECTED=0
on 'network path' 2 comms_freed halos
unset GPUBIND_UNEXPECTED

# The processes that MPI starts may not come up at all on a loaded machine: Open MPI 4.1.4
# then waits in PMIx_Init and PMIx_Lookup for ever.
spawn() {
    is_wanted "$1" || return 0
    (
        [ -z "${2-}" ] || export GPUBIND_PATH="$2"
        [ -z "${3-}" ] || export TEST_MULTIPLE=1
        start "$1" 2 "$program" spawn
        echo "$status" >"$tmp/status"
    )
    setting="$1${2:+, spawned: $2}${3:+, $3}" size=2
    status=$(cat "$tmp/status")
    if grep -q '# hangs: MPI_Comm_spawn$' "$tmp/err"; then
        skip "$setting: spawn" 'MPI_Comm_spawn does not come back'
    else
        relay spawn
    fi
}

# They have the environment of mpirun, so that their settings may be others than those of the
# ranks that spawn them. A spawn takes a second or two; one that hangs is not waited for long.
export TEST_SECONDS=20
spawn simulated
spawn simulated network
spawn simulated '' threads
spawn 'shared path' shared
spawn 'shared path' mpi
spawn 'network path' network
spawn 'network path'
spawn GPU
done_testing
