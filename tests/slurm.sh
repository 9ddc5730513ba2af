# A private Slurm cluster on this machine, with options. Sourced after lib.sh by tests;
# launch/slurm.sh says what the cluster consists of.
#
#     trap 'slurm_stop; rm -rf "$tmp"' EXIT
#     slurm_start gres=2 mpi_conf="PMIxEnv=..." || skip_all "$launch_why"
#     slurm_has_pmix || skip_all "$launch_why"
#     run slurm_run --mpi=pmix -N 2 -n 4 COMMAND...
#
# shellcheck shell=sh disable=SC2034,SC2154

launch_dir=$top_srcdir/tests/launch
. "$launch_dir/slurm.sh"

# slurm_start [nodes=N] [cpus=N] [gres=K [devices=FOLDER]] [mpi_conf=LINES] [slurm_conf=LINES]
# Starts 2 nodes n0, n1, ... that claim 6 processors and no GPU each, unless told
# otherwise: LINES go to mpi.conf, or to slurm.conf in place of TaskPlugin=task/none. The
# GPUs are FOLDER/nvidia0, ..., and a task may open its own alone. Fails
# with the reason in launch_why. Not in a subshell: the cluster ends with the process that
# called this.
slurm_start() {
    slurm_usable || return
    slurm_nodes=2 slurm_cpus=6 slurm_gpus=0 slurm_mpi_conf= LAUNCH_SLURM_LINES= LAUNCH_SLURM_DEVICES=
    for slurm_option in "$@"; do
        case $slurm_option in
        nodes=*)      slurm_nodes=${slurm_option#*=} ;;
        cpus=*)       slurm_cpus=${slurm_option#*=} ;;
        gres=*)       slurm_gpus=${slurm_option#*=} ;;
        devices=*)    LAUNCH_SLURM_DEVICES=${slurm_option#*=} LAUNCH_SLURM_LINES=TaskPlugin=task/cgroup
                      slurm_constrains || return ;;
        mpi_conf=*)   slurm_mpi_conf=${slurm_option#*=} ;;
        slurm_conf=*) LAUNCH_SLURM_LINES=${slurm_option#*=} ;;
        *)            echo "slurm_start: what is '$slurm_option'?" >&2; exit 1 ;;
        esac
    done
    slurm_dir=$(mktemp -d "${TMPDIR:-/tmp}/launch-slurm.XXXXXX") || return
    chmod 755 "$slurm_dir" # jobs of other users read slurm.conf
    slurm_write "$slurm_nodes" "$slurm_cpus" "$slurm_gpus"
    [ -z "$slurm_mpi_conf" ] || printf '%s\n' "$slurm_mpi_conf" >>"$slurm_dir/mpi.conf"
    launch_forget
    SLURM_CONF=$slurm_dir/slurm.conf
    export SLURM_CONF
    setpriv --pdeathsig TERM -- "$launch_dir/slurm-nodes" "$slurm_dir" "$slurm_nodes" \
        >/dev/null 2>&1 </dev/null &
    slurm_holder=$!
    slurm_wait "$slurm_nodes" && return
    launch_why="the Slurm cluster did not come up: $(slurm_last_words)"
    slurm_stop
    return 1
}

# slurm_job COMMAND...: srun, salloc or sbatch, for LAUNCH_TIMEOUT seconds (60) at most, once
# the nodes are idle. Where Slurm itself does not get the job going, or one of its steps, it is
# tried once more: a job that hangs for another reason hangs again.
slurm_job() {
    for slurm_try in 1 2; do
        slurm_wait "$slurm_nodes"
        slurm_status=0
        launch_bounded "$@" >"$tmp/slurm.out" 2>"$tmp/slurm.err" || slurm_status=$?
        case $slurm_status in
        124 | 137) scancel -u "$(id -un)" 2>/dev/null ;;
        *) grep -qE '^(srun|salloc|sbatch): error: .*(launch|Unable to|[Tt]imed? ?out|Communication)' \
               "$tmp/slurm.err" || break ;;
        esac
        diag "status $slurm_status of: $*
$(tail -n 5 "$tmp/slurm.err")" >>"$tmp/slurm.tries"
    done
    cat "$tmp/slurm.out"
    cat "$tmp/slurm.err" >&2
    return "$slurm_status"
}

# slurm_tried: shows, for the test's log, what slurm_job had to try twice.
slurm_tried() { [ ! -s "$tmp/slurm.tries" ] || cat "$tmp/slurm.tries"; }

# slurm_run SRUN-ARGUMENT...
slurm_run() { slurm_job srun "$@"; }

# both_steps FOLDER: what the ranks of two steps of a job do to wait until both have begun.
both_steps() {
    echo "n=0; : >'$1'/\$SLURM_STEP_ID
        until [ \$(ls '$1' | wc -l) -ge 2 ] || [ \$((n += 1)) -gt $((300 * TEST_PATIENCE)) ]; do sleep 0.1; done"
}

# slurm_has_pmix: once it is started. Fails, with the reason in launch_why, where this Slurm
# was built without --mpi=pmix.
slurm_has_pmix() {
    bounded srun --mpi=list 2>&1 | grep -qw pmix && return
    launch_why='this Slurm has no --mpi=pmix'
    return 1
}
