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
# then waits in PMIx_Init and PMIx_Lookup for ever.
export TEST_SECONDS=30
for setting in simulated 'shared path' 'network path' GPU; do
    is_wanted "$setting" || continue
    start "$setting" 2 "$program" spawn
    if grep -q '# hangs: MPI_Comm_spawn$' "$tmp/err"; then
        skip "$setting: spawn" 'MPI_Comm_spawn does not come back'
    else
        relay spawn
    fi
done
done_testing
