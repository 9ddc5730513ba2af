#!/bin/sh
# A launcher's environment that contradicts itself.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
export GPUBIND_TIMEOUT=1 # where a rank that is not there is waited for

# under NAME=VALUE...: gpubind with these variables over those of rank 1 of 4 of Open MPI.
under() {
    run bounded env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 \
        OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 env "$@" \
        gpubind --topology "$demo" sh -c 'echo "local rank $GPUBIND_LOCAL_RANK"'
}

for value in x '' ' 1' -1 +1 1x 0x1 1.0 2147483648 4294967297 99999999999999999999; do
    for name in RANK SIZE LOCAL_RANK LOCAL_SIZE; do
        under "OMPI_COMM_WORLD_$name=$value"
        refused "OMPI_COMM_WORLD_$name='$value'" "OMPI_COMM_WORLD_$name="
    done
done
under OMPI_COMM_WORLD_SIZE=0
refused 'a job of no ranks' OMPI_COMM_WORLD_SIZE
under OMPI_COMM_WORLD_LOCAL_SIZE=0
refused 'a node of no ranks' OMPI_COMM_WORLD_LOCAL_SIZE
under OMPI_COMM_WORLD_RANK=4
refused 'a rank outside the job' 'OMPI_COMM_WORLD_RANK=4.*OMPI_COMM_WORLD_SIZE=4'
under OMPI_COMM_WORLD_LOCAL_RANK=1
refused 'a local rank that is not below the local size' \
    'OMPI_COMM_WORLD_LOCAL_RANK=1.*OMPI_COMM_WORLD_LOCAL_SIZE'
under OMPI_COMM_WORLD_LOCAL_SIZE=5 OMPI_COMM_WORLD_LOCAL_RANK=4
refused 'more ranks on the node than in the job' \
    'OMPI_COMM_WORLD_LOCAL_SIZE\|OMPI_COMM_WORLD_SIZE'
under OMPI_COMM_WORLD_SIZE=60000 OMPI_COMM_WORLD_LOCAL_SIZE=50000
refused 'more ranks on the node than can be' 50000
under -u OMPI_COMM_WORLD_LOCAL_RANK
refused 'a rank without local rank' OMPI_COMM_WORLD_LOCAL_RANK

# Masters that are not in the job.
run bounded env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 \
    OMPI_COMM_WORLD_LOCAL_SIZE=1 gpubind --master 4 --topology "$demo" echo ran
refused 'a master outside the job' '--master.*4.*0 to 3'
run bounded gpubind --master 1 --topology "$demo" echo ran
refused 'a master outside a job of one rank' '--master'
run bounded gpubind --plan --master 4 --ranks 4 --topology "$demo"
refused 'a master outside the planned job' '--master.*4.*0 to 3'
run bounded gpubind --launcher slurm --topology "$demo" echo ran
refused 'a launcher that is not there' '--launcher slurm'

# Two launchers at once: the inner one's word is taken, and that is said, once,
# unless it is known why.
two() {
    under "$@"
    is "two launchers ($1): it goes on" "$status $(cat "$tmp/out")" '0 local rank 0'
}
two PALS_RANKID=0 PALS_SIZE=2 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=1
is 'and says so once' "$(grep -c '^gpubind: .*openmpi.*pals' "$tmp/err")" 1
two SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 SLURM_JOB_ID=1
is 'mpirun in a batch script of Slurm is nothing to talk of' "$(cat "$tmp/err")" ''
two PALS_RANKID=x
check 'rubbish of the launcher that is not taken does not matter' \
    grep -q 'openmpi.*pals' "$tmp/err"
under PALS_RANKID=0 PALS_SIZE=2 PALS_LOCAL_RANKID=0 PALS_LOCAL_SIZE=1 GPUBIND_LAUNCHER=openmpi
is '--launcher says which' "$status$(cat "$tmp/err")" 0

# Slurm's own list of the ranks of a node.
slurm() {
    run bounded env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0 SLURM_GTIDS=0 \
        SLURM_JOB_ID=1 SLURM_STEP_ID=0 env "$@" gpubind --topology "$demo" echo ran
}
slurm env
is 'one task on the node' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
for list in x '' ',' '(x2)' 99999999999999999999; do
    slurm "SLURM_GTIDS=$list"
    check "SLURM_GTIDS='$list' is no reason to crash" test "$status" = 0 -o "$status" = 125
done
slurm SLURM_STEP_NUM_TASKS=x
refused 'SLURM_STEP_NUM_TASKS=x' SLURM_STEP_NUM_TASKS
slurm SLURM_LOCALID=2 SLURM_GTIDS=0,3
refused 'SLURM_LOCALID=2 of 2 tasks' SLURM_LOCALID
slurm SLURM_PROCID=4
refused 'SLURM_PROCID=4 of 4 tasks' SLURM_PROCID
nothing_left 'nothing is left behind'
done_testing
