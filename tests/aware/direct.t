#!/bin/sh
# What the MPI standard promises of messages, with GPU memory in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/direct.sh"
program=$top_builddir/tests/aware/direct
[ -x "$program" ] || skip_all 'configured without MPI'

for setting in simulated 'slow copies' 'no driver' GPU; do
    every_part 2
done
for setting in simulated GPU; do
    all 3 probes wildcards lists comms rings progress threads finalize
    all 4 modes wildcards comms rings
done
on 'host path' 2 threads
on 'host path' 2 lists
export OMPI_MCA_btl_vader_single_copy_mechanism=none
on 'host path' 2 truncation
nothing_left 'nothing is left behind'
done_testing
