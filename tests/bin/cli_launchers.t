#!/bin/sh
# Every launcher is told by its environment: rank 5 of 8, alone on its node, is a master.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
# shellcheck disable=SC2016 # the program expands it
say='echo $GPUBIND_ROLE $GPUBIND_LOCAL_RANK'

# known LAUNCHER NAME=VALUE...
known() {
    launcher=$1
    shift
    for option in auto "$launcher"; do
        run bounded env "$@" gpubind --launcher "$option" --master 5 --topology "$demo" sh -c "$say"
        is "$launcher, --launcher $option" "$status $(cat "$tmp/out" "$tmp/err")" '0 master 0'
    done
    # Without master it has a GPU, and --launcher none knows no rank 5.
    run bounded env "$@" gpubind --topology "$demo" sh -c "$say"
    is "$launcher, no master" "$status $(cat "$tmp/out" "$tmp/err")" '0 gpu 0'
    run bounded env "$@" gpubind --launcher none --master 5 --topology "$demo" true
    refused "$launcher, --launcher none" '--master'
    check "--help names $launcher" sh -c "gpubind --help | grep -q '[ |]${launcher}[|, ]'"
}
known openmpi OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=0 \
    OMPI_COMM_WORLD_LOCAL_SIZE=1 PMIX_RANK=5 PMIX_NAMESPACE=a
known hydra PMI_RANK=5 PMI_SIZE=8 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1
known mvapich MV2_COMM_WORLD_RANK=5 MV2_COMM_WORLD_SIZE=8 MV2_COMM_WORLD_LOCAL_RANK=0 \
    MV2_COMM_WORLD_LOCAL_SIZE=1
known slurm SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_STEP_NUM_TASKS=8 \
    SLURM_LOCALID=0 SLURM_GTIDS=5 SLURM_NODEID=5 SLURM_NTASKS=8
known slurm SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=5 SLURM_NTASKS=8 SLURM_LOCALID=0 \
    'SLURM_STEP_TASKS_PER_NODE=3(x2),1(x2)' SLURM_NODEID=3
known flux FLUX_JOB_ID=a FLUX_TASK_RANK=5 FLUX_JOB_SIZE=8 FLUX_TASK_LOCAL_ID=0 FLUX_JOB_NNODES=8
known pals PALS_APID=a PALS_RANKID=5 PMI_SIZE=8 PMI_RANK=5 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=1
known pals PALS_APID=a PALS_RANKID=5 PMI_SIZE=8 PMI_RANK=5 PALS_LOCAL_RANKID=0 PMI_LOCAL_SIZE=1
known jsrun JSM_NAMESPACE_RANK=5 JSM_NAMESPACE_SIZE=8 JSM_NAMESPACE_LOCAL_RANK=0 \
    JSM_NAMESPACE_LOCAL_SIZE=1 LSB_JOBID=1
known torchrun RANK=5 WORLD_SIZE=8 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 TORCHELASTIC_RUN_ID=a \
    MASTER_PORT=1

# A node's ranks, started by hand: where each is, of how many. They wait 2 s for the next, which may be short.
longer=
[ "$TEST_PATIENCE" = 1 ] || longer=--timeout=$((2 * TEST_PATIENCE))
several() {
    what=$1 wanted=$2
    shift 2
    for set in "$@"; do
        # shellcheck disable=SC2086 # words
        bounded env $set gpubind $longer --topology "$demo" sh -c "$say" >>"$tmp/several" 2>&1 &
    done
    wait
    is "$what" "$(sort "$tmp/several" | tr '\n' ' ')" "$wanted"
    rm "$tmp/several"
}
# Ranks of other tests that run beside this one must not meet these: hence $$.
flux() { echo "FLUX_JOB_ID=$$$1 FLUX_JOB_SIZE=4 FLUX_JOB_NNODES=2 FLUX_TASK_RANK=$2 FLUX_TASK_LOCAL_ID=$2"; }
several 'Flux: three of four ranks on one of two nodes' 'gpu 0 gpu 1 gpu 2 ' \
    "$(flux b 0)" "$(flux b 1)" "$(flux b 2)"
several 'Flux: one that does not come is missed, once' \
    'gpu 0 gpu 3 gpubind: 2 of at least 4 ranks on this node came here; not counted: local ranks 1-2 ' \
    "$(flux c 0)" "$(flux c 3)"
several 'Flux: one that comes alone, too' \
    'gpu 1 gpubind: 1 of at least 2 ranks on this node came here; not counted: local rank 0 ' "$(flux d 1)"
# How many GPUs two ranks have of which one comes after so many seconds.
# shellcheck disable=SC2016,SC2046 # the program expands it; words
late() {
    seconds=$1
    shift
    for rank in 0 1; do
        [ $rank = 0 ] || sleep "$seconds"
        bounded env $(flux e $rank) gpubind "$@" --quiet --topology "$demo" \
            sh -c 'echo $GPUBIND_GPU_PCI' >>"$tmp/late" &
    done
    wait
    sort -u "$tmp/late" | wc -l
    rm "$tmp/late"
}
is 'Flux: one that comes late is waited for by --timeout' "$(late 4 --timeout=$((4 + 2 * TEST_PATIENCE)))" 2
several 'plain PMIx: the second node numbers its ranks from 0' 'gpu 0 gpu 1 ' \
    "PMIX_NAMESPACE=$$b PMIX_RANK=4" "PMIX_NAMESPACE=$$b PMIX_RANK=5"
# torchrun in another launcher's job, and the other way round: scripts with the names of the two.
cat >"$tmp/torchrun" <<'EOF'
#!/bin/sh
# N COMMAND...: the workers of a node.
n=$1 worker=0
shift
while [ "$worker" -lt "$n" ]; do
    TORCHELASTIC_RUN_ID=${run_id-none} MASTER_PORT=1 RANK=$worker WORLD_SIZE=$n LOCAL_RANK=$worker \
        LOCAL_WORLD_SIZE=$n "$@" &
    worker=$((worker + 1))
done
wait
EOF
cat >"$tmp/slurmstepd" <<'EOF'
#!/bin/sh
# N COMMAND...: the tasks of a step.
n=$1 task=0
shift
while [ "$task" -lt "$n" ]; do
    SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_PROCID=$task SLURM_NTASKS=$n SLURM_LOCALID=$task \
        SLURM_STEP_TASKS_PER_NODE=$n SLURM_NODEID=0 "$@" &
    task=$((task + 1))
done
wait
EOF
chmod +x "$tmp/torchrun" "$tmp/slurmstepd"
# dealt DESCRIPTION WANTED COMMAND...: what the ranks that COMMAND starts are, and how many GPUs they have.
dealt() {
    what=$1 wanted=$2
    shift 2
    # shellcheck disable=SC2016 # the program expands it
    run bounded "$@" gpubind --topology "$demo" sh -c 'echo $GPUBIND_ROLE $GPUBIND_LOCAL_RANK $GPUBIND_GPU_PCI'
    is "$what" "$(cut -d' ' -f1,2 "$tmp/out" | sort | xargs) $(cut -d' ' -f3 "$tmp/out" | sort -u | wc -l)" "$wanted"
    is '... and nothing is said' "$status$(grep '^gpubind: ' "$tmp/err")" 0
}
four='gpu 0 gpu 1 gpu 2 gpu 3 4'
two='gpu 0 gpu 1 2'
dealt "torchrun in a step of Slurm's" "$four" "$tmp/slurmstepd" 1 "$tmp/torchrun" 4
dealt "a step of Slurm's in a worker of torchrun's" "$two" "$tmp/torchrun" 1 "$tmp/slurmstepd" 2
dealt 'torchrun in such a step' "$two" \
    "$tmp/torchrun" 1 "$tmp/slurmstepd" 1 env run_id=b "$tmp/torchrun" 2
if "${MPIRUN:-false}" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
    dealt 'torchrun under mpirun' "$four" "$MPIRUN" --oversubscribe -np 1 "$tmp/torchrun" 4
    dealt 'mpirun in a worker of torchrun' "$two" "$tmp/torchrun" 1 "$MPIRUN" --oversubscribe -np 2
else
    skip 'torchrun and mpirun' 'no mpirun of Open MPI'
fi

run bounded env SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 \
    SLURM_STEP_TASKS_PER_NODE=1 SLURM_NODEID=0 gpubind --topology "$demo" true
refused 'Slurm: local rank 1 of 1' SLURM_LOCALID

run bounded env RANK=5 WORLD_SIZE=8 LOCAL_RANK=3 SLURM_PROCID=2 PMI_RANK=1 \
    gpubind --topology "$demo" sh -c "$say"
is 'single names that many set make no launcher' "$status $(cat "$tmp/out" "$tmp/err")" '0 gpu 0'
run bounded gpubind -v --topology "$demo" true
check 'no launcher: said with -v' grep -q '^gpubind: .*no launcher' "$tmp/err"

# The wrong order: the launcher becomes a program of one rank.
mkdir "$tmp/bin"
for name in mpirun mpiexec mpiexec.hydra prterun srun; do
    printf '#!/bin/sh\necho ran\n' >"$tmp/bin/$name"
    chmod +x "$tmp/bin/$name"
    run bounded env "PATH=$tmp/bin:$PATH" gpubind --topology "$demo" "$name" -np 2 ./app
    is "gpubind $name: a notice, and it goes on" "$status $(cat "$tmp/out" "$tmp/err")" "0 ran
gpubind: $name is started as one rank, and all ranks that it starts share the GPU and cores of that one; write $name ... gpubind [OPTION...] ./app"
done
run bounded gpubind --topology "$demo" "$tmp/bin/mpirun" ./app
is '... in a folder' "$(grep -c 'mpirun is started as one rank' "$tmp/err")" 1
run bounded env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 \
    OMPI_COMM_WORLD_LOCAL_SIZE=1 gpubind --topology "$demo" "$tmp/bin/mpirun" ./app
is '... no notice where a rank of several starts jobs' "$status $(cat "$tmp/out" "$tmp/err")" '0 ran'
run bounded gpubind --quiet --topology "$demo" "$tmp/bin/mpirun" ./app
is '... nor with --quiet' "$status $(cat "$tmp/out" "$tmp/err")" '0 ran'
done_testing
