#!/bin/sh
# The main cases under Slurm's srun, in a private cluster.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$top_srcdir/tests/slurm.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT
slurm_start nodes=2 cpus=6 || skip_all "$launch_why"

# job SRUN-OPTION... -- GPUBIND-OPTION...
job() {
    before=
    while [ "$1" != -- ]; do
        before="$before $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    run slurm_run $before "$gpubind" --topology "$machine" --report "$@" sh -c "$seen"
}

job -N 1 -n 4 -w n0 --
as_planned 'one node' 1 --nodes n0 --ranks 4
for master in 0 7 0,6; do
    job -N 2 -n 12 -m block -- --master $master --overflow idle
    as_planned "block, master $master" 2 --nodes n0:6,n1:6 --ranks 12 --master $master --overflow idle
done
is 'each node says once who is idle' "$(grep -c '^gpubind: .*idle' "$tmp/err")" 2
job -N 2 -n 11 -m cyclic -- --master 0
as_planned 'cyclic, master 0' 2 --nodes n0,n1 --ranks 11 --distribution cyclic --master 0
printf '%s\n' n1 n0 n0 n1 n1 > "$tmp/hosts"
export SLURM_HOSTFILE="$tmp/hosts"
job -n 5 -m arbitrary -- --master 1 # newer versions refuse -N here
unset SLURM_HOSTFILE
printf 'rank %s\n' 0=n1 1=n0 2=n0 3=n1 4=n1 > "$tmp/ranks"
as_planned 'arbitrary, master 1' 2 --ranks-file "$tmp/ranks" --master 1

# Two steps of one job at once are two jobs to gpubind.
run slurm_job salloc -N 1 -n 4 -w n0 sh -c '
    srun --overlap -n 2 "$0" --topology "$1" sh -c "sleep 1; $2" &
    srun --overlap -n 2 "$0" --topology "$1" sh -c "sleep 1; $2"; wait' "$gpubind" "$machine" "$seen"
is 'two steps at once' "$(grep '^seen' "$tmp/out" | cut -d' ' -f4 | sort | xargs)" '0 0 1 1'
is '... have nothing to say' "$(grep '^gpubind: ' "$tmp/err")" ''
# Heterogeneous jobs: one command for all components, and one for each.
run slurm_job salloc -n 2 -w n0 : -n 1 -w n1 srun --het-group=0,1 "$gpubind" --topology "$machine" sh -c "$seen"
is 'a heterogeneous job' "$status $(grep '^seen' "$tmp/out" | cut -d' ' -f2-4 | sort | xargs)" '0 n0 0 0 n0 1 1 n1 2 0'
run slurm_run -n 2 -w n0 "$gpubind" --topology "$machine" sh -c "$seen" : \
    -n 3 -w n1 "$gpubind" --topology "$machine" --map 3,2,1 sh -c "$seen"
is '... of two commands' "$status $(grep '^seen' "$tmp/out" | cut -d' ' -f2-4,6 | sort | xargs)" \
    '0 n0 0 0 0000:02:00.0 n0 1 1 0000:03:00.0 n1 2 0 0000:05:00.0 n1 3 1 0000:04:00.0 n1 4 2 0000:03:00.0'
# shellcheck disable=SC2016 # the task expands it
run slurm_run -N 1 -n 1 sh -c 'for worker in 0 1 2; do
    TORCHELASTIC_RUN_ID=none RANK=$worker WORLD_SIZE=3 LOCAL_RANK=$worker LOCAL_WORLD_SIZE=3 \
        "$0" --topology "$1" sh -c "$2" & done; wait' "$gpubind" "$machine" "$seen"
is "torchrun's workers in a task" "$status $(grep '^seen' "$tmp/out" | cut -d' ' -f4,6 | sort | xargs)" \
    '0 0 0000:02:00.0 1 0000:03:00.0 2 0000:04:00.0'
run slurm_run -N 1 -n 4 "$gpubind" --topology "$machine" --map 9 true
check 'refused: one sentence' test "$(grep -c '^gpubind: ' "$tmp/err")" = 1
is '... and the status' "$status" 125
run slurm_run -N 2 -n 8 "$gpubind" --topology "$machine" --master 1 "$gpubind" --check
is '--check' "$status $(grep -c 'ok: ' "$tmp/out")" '0 8'
run slurm_run -N 1 -n 2 "$gpubind" --quiet "$gpubind" --check
is '--check on this machine' "$status $(grep -c 'ok: ' "$tmp/out")" '0 2'
slurm_stop
slurm_tried
nothing_left 'nothing is left behind'
done_testing
