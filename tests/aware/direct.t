#!/bin/sh
# What the MPI standard promises of messages, with GPU memory in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
program=$top_builddir/tests/aware/direct
[ -x "$program" ] || skip_all 'configured without MPI'

# all RANKS PART...
all() {
    ranks=$1
    shift
    for part in "$@"; do
        on "$setting" "$ranks" "$part"
    done
}

for setting in simulated 'slow copies' 'no driver' GPU; do
    all 2 modes types probes lengths progress
    all 3 probes
    # Where it reads the sender's memory itself, Open MPI 4.1 writes behind a buffer that is too short.
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
    all 2 truncation
    unset OMPI_MCA_btl_vader_single_copy_mechanism
done
setting=simulated
all 3 progress
all 4 modes
nothing_left 'nothing is left behind'
done_testing
