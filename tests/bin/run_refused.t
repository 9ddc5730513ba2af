#!/bin/sh
# Where a job of several ranks cannot go on: one sentence over all of them, the status,
# and nothing left behind.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml

# no DESCRIPTION PATTERN ARG...: four ranks of gpubind ARG... are refused.
no() {
    what=$1 pattern=$2
    shift 2
    run mpi 4 gpubind "$@"
    refused "$what" "$pattern"
}
recorded() {
    what=$1 pattern=$2
    shift 2
    no "$what" "$pattern" --topology "$demo" "$@" echo ran
}

head -c 3000 "$demo" > "$tmp/cut.xml"
: > "$tmp/empty.xml"
no 'no such machine' none.xml --topology "$tmp/none.xml" echo ran
no 'a truncated machine' cut.xml --topology "$tmp/cut.xml" echo ran
no 'an empty machine' empty.xml --topology "$tmp/empty.xml" echo ran
no 'a folder as a machine' "$tmp" --topology "$tmp" echo ran
recorded 'a map naming a missing GPU' "'7'" --map 0,7
recorded 'a map naming a GPU twice' 'second time' --map 0,1,0
recorded 'a missing map file' "$tmp/none" --map "@$tmp/none"
recorded 'a master outside the job' '--master.*4' --master 4
recorded 'more ranks than GPUs may take' 'overflow\|GPU' --overflow error --map 0,1
recorded 'more GPUs a rank than there are' 'GPU' --gpus-per-rank 5
no 'no GPU where one is required' 'no usable GPU' --topology "$machines/nogpu-2p8c.xml" --require-gpu echo ran

run mpi 4 sh -c 'exec gpubind --topology "$0" --smt $((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2 + 1)) echo ran' "$demo"
refused 'options that differ from rank to rank' 'different placement options: --smt [12] and --smt [12]$'
# differ DESCRIPTION PATTERN OPTION...: rank 0 of two is given these, the other one --overflow idle.
differ() {
    what=$1 pattern=$2
    shift 2
    # shellcheck disable=SC2016 # each rank expands it
    run mpi 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 0 ] || set --
        exec gpubind --topology "$0" --overflow idle "$@" true' "$demo" "$@"
    refused "$what" "were given different placement options$pattern\$"
}
differ 'an option that one rank alone has' ': \(--master 0 and no --master\|no --master and --master 0\)' --master 0
differ '... a flag' ': \(--require-gpu and no --require-gpu\|no --require-gpu and --require-gpu\)' --require-gpu
differ '... another value' ': --overflow \(share and --overflow idle\|idle and --overflow share\)' --overflow share
differ 'a long value' ': .*--map 17:00.0,17:00.0,17:00.0,17:00.0\.\.\..*' --map 17:00.0,17:00.0,17:00.0,17:00.0,17:00.0
run mpi 4 env OMPI_COMM_WORLD_LOCAL_RANK=0 MPI_LOCALRANKID=0 gpubind --topology "$demo" echo ran
refused 'one local rank for all' 'local rank 0'

# What each rank finds for itself.
recorded 'a wrong value' "'bogus'" --overflow bogus
recorded 'an unknown option' "'--bogus'" --bogus
no 'no command' 'command' --report
run mpi 4 env GPUBIND_SMT=0 gpubind --topology "$demo" echo ran
refused 'a wrong variable' GPUBIND_SMT

# Programs that cannot be run.
run mpi 4 gpubind --topology "$demo" "$tmp/none"
refused 'a missing program' "$tmp/none" 127
run mpi 4 gpubind --topology "$demo" "$tmp"
refused 'a folder as the program' "$tmp" 126
nothing_left 'nothing is left behind'
done_testing
