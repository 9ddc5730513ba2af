# Sourced by direct.t and direct_mpich.t after ranks.sh: runs $program, which is tests/aware/direct.
# shellcheck shell=sh disable=SC2154

# all RANKS PART...
all() {
    ranks=$1
    shift
    for part in "$@"; do
        on "$setting" "$ranks" "$part"
    done
}

# every_part RANKS
every_part() {
    all "$1" modes types layouts probes probes_behind lengths wildcards buffers lists comms rings \
        progress persistent streams freed threads finalize
    # Where it reads the sender's memory itself, Open MPI 4.1 writes behind a buffer that is too short.
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
    all "$1" truncation
    unset OMPI_MCA_btl_vader_single_copy_mechanism
}
