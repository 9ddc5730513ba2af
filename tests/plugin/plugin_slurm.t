#!/bin/sh
# srun without a wrapper: the plugin in slurmstepd, with and without the relay, where
# Slurm deals out GPUs and where it does not.
# shellcheck disable=SC2016,SC2034,SC2086 # the ranks expand it; words
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -z "$SANITIZED" ] || skip_all 'slurmstepd cannot load what was built with the sanitizers'
. "$top_srcdir/tests/plugin.sh"
. "$top_srcdir/tests/slurm.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT

LAUNCH_TIMEOUT=30
machine=$machines/thesis-6c4g.xml
relay_file=$top_builddir/plugin/.libs/spank_gpubind.so
pmix_env="PMIxEnv=PMIX_MCA_mca_base_component_path=$plugin_dir;HWLOC_XMLFILE=$machine;HWLOC_THISSYSTEM=1"
chmod 755 "$tmp" # jobs of other users read plugstack.conf

# Slurm reads it anew for each step.
relay() { case $1 in on) echo "required $relay_file" ;; esac >"$tmp/plugstack.conf"; }

start() {
    relay off
    slurm_start cpus=6 mpi_conf="$pmix_env" slurm_conf="TaskPlugin=task/affinity
PlugStackConfig=$tmp/plugstack.conf" "$@"
}

# job [NAME=VALUE...] [SRUN-OPTION...] COMMAND...: what the user exports, what is run.
job() {
    exported=
    while case $1 in [A-Z]*=*) true ;; *) false ;; esac; do
        exported="$exported $1"
        shift
    done
    run slurm_job env $exported srun --mpi=pmix --cpu-bind=none "$@"
}

# What the ranks say of what they see: "ROLE VISIBLE", each once, with their number.
sees='echo "${GPUBIND_ROLE-left alone}: ${CUDA_VISIBLE_DEVICES-unset}"'
said() { sort "$tmp/out" | uniq -c | sed 's/^ *//'; }

block='--nodes n0:6,n1:6 --ranks 12'
cyclic='--nodes n0:6,n1:6 --ranks 12 --distribution cyclic'

# ---- Slurm deals out no GPUs

start || skip_all "$launch_why"
slurm_has_pmix || skip_all "$launch_why"

job -N 2 -n 12 -m block sh -c "$seen"
as_launcher 'block' $block
is '... without a word' "$(cat "$tmp/err")" ''
job -N 2 -n 12 -m cyclic sh -c "$seen"
as_launcher 'cyclic' $cyclic
job -N 1 -n 3 sh -c "$seen"
as_launcher 'fewer ranks than GPUs' --nodes n0:3 --ranks 3
job GPUBIND_OVERFLOW=idle CUDA_VISIBLE_DEVICES=3 -N 2 -n 12 -m block sh -c "$seen"
as_launcher 'without the relay nothing is known of what was exported' $block

job -N 1 -n 4 gpubind --report sh -c 'echo "$GPUBIND_PLAN $GPUBIND_MADE_BY"'
is 'srun gpubind keeps the plan, and --report shows it' \
    "$status $(sort -u "$tmp/out" | wc -l) $(grep -c "plan $(sort -u "$tmp/out" | cut -d' ' -f1)\$" "$tmp/err") $(grep -c "by gpubind's plugin" "$tmp/err") $(grep -c '^ .*0000:' "$tmp/err")" \
    '0 1 1 1 4'
job -N 1 -n 2 gpubind --gpus-per-rank 2 sh -c "$seen"
as_launcher '... with other settings it makes another' --nodes n0:2 --ranks 2 --gpus-per-rank 2
job -N 2 -n 8 gpubind --check
is '... --check' "$status $(grep -c 'ok: ' "$tmp/out")" '0 8'

# The nodes claim six CPUs, and this machine may have fewer.
allowed='sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status'
case $(eval "$allowed") in
0-*)
    job -N 1 -n 2 --cpu-bind=map_cpu:1,0 sh -c "echo \"\$SLURM_PROCID \$GPUBIND_CPUS \$($allowed)\""
    is 'ranks are planned for the CPUs that Slurm binds them to' "$(sort "$tmp/out" | xargs)" '0 1 1 1 0 0' ;;
*) skip 'ranks are planned for the CPUs that Slurm binds them to' 'CPUs 0 and 1 may not be used' ;;
esac

cp "$slurm_dir/mpi.conf" "$tmp/mpi.conf"
# parameters NAME=VALUE...: of the site, in mpi.conf
parameters() {
    cp "$tmp/mpi.conf" "$slurm_dir/mpi.conf"
    for parameter in "$@"; do
        sed -i "s/^PMIxEnv=.*/&;PMIX_MCA_pmdl_gpubind_$parameter/" "$slurm_dir/mpi.conf"
    done
    bounded scontrol reconfigure && slurm_wait 2
}
parameters overflow=idle master=0
job -N 2 -n 12 -m block sh -c "$seen"
as_launcher 'block, idle, a master, by MCA parameters' $block --overflow idle --master 0
job -N 2 -n 12 -m cyclic sh -c "$seen"
as_launcher 'cyclic, idle, a master, by MCA parameters' $cyclic --overflow idle --master 0

if [ -r "$relay_file" ]; then
    relay on
    job GPUBIND_OVERFLOW=share -N 2 -n 12 -m block sh -c "$seen"
    as_launcher 'the job wins over MCA parameters' $block --master 0
fi
parameters

if [ -r "$relay_file" ]; then
    for master in 7 0,6; do
        job GPUBIND_OVERFLOW=idle GPUBIND_MASTER=$master -N 2 -n 12 -m block sh -c "$seen"
        as_launcher "block, idle, master $master, exported" $block --overflow idle --master $master
    done
    job GPUBIND_OVERFLOW=idle GPUBIND_MASTER=0 -N 2 -n 11 -m cyclic sh -c "$seen"
    as_launcher 'cyclic, idle, master 0, exported' --nodes n0:6,n1:5 --ranks 11 --distribution cyclic --overflow idle --master 0
    job GPUBIND_REPORT=1 -N 2 -n 12 true
    is 'a report for each node' "$(grep -c '^node' "$tmp/err") $(grep -c "by gpubind's plugin" "$tmp/err")" '2 2'
    job CUDA_VISIBLE_DEVICES=2,3 -N 1 -n 4 sh -c 'echo "$GPUBIND_GPU_PCI $GPUBIND_OUTER_VISIBLE_DEVICES"'
    is "the user's CUDA_VISIBLE_DEVICES narrows the choice" "$(said | cut -d' ' -f1,3 | sort | uniq -c | xargs)" '2 2 2,3'
    job GPUBIND=off CUDA_VISIBLE_DEVICES=2 -N 2 -n 4 sh -c "$sees"
    is 'GPUBIND=off leaves the job alone' "$(said)" '4 left alone: 2'
    job GPUBIND_OVERFLOW=many -N 1 -n 2 sh -c "$sees"
    is 'a word that the setting does not know: nobody is placed' "$(said)" '2 left alone: unset'
    check '... and it is said' grep -q "^gpubind: GPUBIND_OVERFLOW: 'many' is none of" "$tmp/err"
    job "GPUBIND_MAP=$(head -c 70000 /dev/zero | tr '\0' 0)" -N 1 -n 2 sh -c "$sees"
    is 'what is too long to relay leaves the job alone' "$(said)" '2 left alone: unset'

    job GPUBIND_OVERFLOW=idle -N 1 -n 1 env
    is 'nothing of the relay reaches a task' "$status $(grep -c GPUBIND_ROLE "$tmp/out") $(grep RELAY "$tmp/out")" '0 1 '
    printf '%s\n' '#!/bin/sh' 'env | grep "^GPUBIND_R[OE]"' 'srun --mpi=pmix -n 2 sh -c "echo \$GPUBIND_ROLE"' >"$tmp/batch"
    run slurm_job sbatch -W -o "$tmp/said" -N 1 -n 2 "$tmp/batch"
    is 'a batch script is no rank, its steps have ranks' "$status $(xargs <"$tmp/said")" '0 gpu gpu'
    run slurm_run --mpi=none -N 1 -n 1 sh -c "$sees"
    is 'nobody is placed without --mpi=pmix' "$status $(said)" '0 1 left alone: unset'

    echo hidden >"$tmp/secret" && chmod 600 "$tmp/secret"
    run env GPUBIND_MAP="@$tmp/secret" setpriv --reuid 65534 --regid 65534 --clear-groups \
        timeout $((30 * TEST_PATIENCE)) srun --mpi=pmix -D / -N 1 -n 1 sh -c "$sees"
    is 'slurmstepd, which is root, reads no file for a user who may not' \
        "$(said) $(grep -c 'secret: Permission denied' "$tmp/err") $(grep hidden "$tmp/err")" \
        '1 left alone: unset 1 '
else
    skip 'with the relay, where Slurm deals out no GPUs' 'the relay was not built: no slurm/spank.h'
fi

# ---- a step that dies

job -K -N 2 -n 4 sh -c '[ "$SLURM_PROCID" != 1 ] || kill -USR1 $$; sleep 60'
is 'a rank that dies ends its step' \
    "$(grep -c 'task 1: User defined signal' "$tmp/err") $([ "$status" -eq 124 ] || echo in time)" '1 in time'
job -N 2 -n 12 -m block sh -c "$seen"
as_launcher 'the next one is well' $block
slurm_stop
nothing_left 'nothing is left behind'

# ---- Slurm deals out GPUs

if start gres=4; then ok 'a second cluster'; else not_ok "a second cluster: $launch_why"; fi

job CUDA_VISIBLE_DEVICES=user -N 2 -n 4 sh -c "$sees"
is 'no relay, no GPUs: left to Slurm' "$(said)" '4 left alone: unset'
job -N 2 -n 4 --gres=gpu:2 sh -c "$sees"
is 'no relay, GPUs: left to Slurm' "$(said)" '4 left alone: 0,1'

if [ -r "$relay_file" ]; then
    relay on
    job CUDA_VISIBLE_DEVICES=0 SLURM_STEP_GPUS=0 -N 2 -n 4 sh -c "$sees"
    is 'a step without GPUs has none' "$(said)" '4 idle: '
    job -N 2 -n 12 --gres=gpu:4 -m block sh -c "$seen"
    as_launcher 'a step with all GPUs' $block
    job -N 2 -n 8 --ntasks-per-node=4 --gres=gpu:2 sh -c 'echo $(hostname) $GPUBIND_GPU_PCI $GPUBIND_OUTER_VISIBLE_DEVICES'
    is "ranks share their step's GPUs" "$(said)" '2 n0 0000:02:00.0 0,1
2 n0 0000:03:00.0 0,1
2 n1 0000:02:00.0 0,1
2 n1 0000:03:00.0 0,1'
    mkdir "$tmp/steps"
    run slurm_job salloc -N 1 -n 4 --gres=gpu:4 sh -c '
        srun --mpi=pmix --exact -n 2 --gres=gpu:2 sh -c "$0" &
        srun --mpi=pmix --exact -n 2 --gres=gpu:2 sh -c "$0"; wait' \
        "$(both_steps "$tmp/steps")"'; echo "$GPUBIND_OUTER_VISIBLE_DEVICES $GPUBIND_GPU_PCI"'
    is 'two steps at once have four GPUs' "$(said)" '1 0,1 0000:02:00.0
1 0,1 0000:03:00.0
1 2,3 0000:04:00.0
1 2,3 0000:05:00.0'
    for options in '--gpus-per-task=1' '--gres=gpu:2 --gpu-bind=single:1' '--gpus=2 --ntasks-per-gpu=1' \
            '--tres-per-task=gres/gpu:1'; do
        job -N 1 -n 2 $options sh -c "$sees"
        case $(cat "$tmp/err") in
        *'unrecognized option'*) skip "$options: Slurm chooses" "this Slurm does not know it" ;;
        *) is "$options: Slurm chooses" "$(said)" '1 left alone: 0
1 left alone: 1' ;;
        esac
    done
    job -N 1 -n 2 --gres=gpu:2 --gpu-bind=mask_gpu:3,3 sh -c "$sees"
    is '... also when that is all of the step' "$(said)" '2 left alone: 0,1'
    job GPUBIND_ROLE=mine -N 1 -n 2 --gpus-per-task=1 sh -c "$sees"
    is "... and what the user had stays" "$(said)" '1 mine: 0
1 mine: 1'
    job -N 1 -n 1 --gpus-per-task=2 sh -c "$sees; env | grep ^SLURM_TRES_BIND"
    if grep -q ^SLURM_TRES_BIND "$tmp/out"; then
        is '... for one task, too' "$(said | grep alone)" '1 left alone: 0,1'
    else
        skip '... for one task, too' 'this Slurm does not tell'
    fi
    job GPUBIND=off -N 1 -n 2 --gres=gpu:2 sh -c "$sees"
    is 'GPUBIND=off leaves the job alone' "$(said)" '2 left alone: 0,1'
else
    skip 'with the relay, where Slurm deals out GPUs' 'the relay was not built: no slurm/spank.h'
fi
slurm_stop
nothing_left 'nothing is left behind'
slurm_tried
done_testing
