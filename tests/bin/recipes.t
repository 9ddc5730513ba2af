#!/bin/sh
# gpubind-recipes(7): every command in it is run, on pretended GPUs, and prints what is
# shown below it. What is not installed here is stood in for, or skipped by name.
# shellcheck disable=SC2016,SC2034 # the ranks expand it; lib.sh's
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/slurm.sh"
. "$top_srcdir/tests/launch/multinode.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT
# What --gpu-aware preloads brings the sanitizers into programs without.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=verify_asan_link_order=0

page=$top_srcdir/man/gpubind-recipes.7
machines=$top_srcdir/tests/machines
export GPUBIND_TOPOLOGY="$machines/demo-2p4g.xml"
# More ranks than cores, in the words of Open MPI 4 and 5.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export MPIRUN="${MPIRUN:-mpirun}"
command -v "$MPIRUN" >/dev/null || skip_all 'no mpirun'
mkdir "$tmp/bin" "$tmp/d" "$tmp/blocks"
PATH=$tmp/bin:$PATH
cd "$tmp/d" || exit 1

# ---- the page

# blocks PAGE FOLDER: a file for each .EX of the page, its section's title first.
blocks() {
    sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/\\e/\\/g' "$1" | awk -v folder="$2" '
        /^\.SH / { title = substr($0, 5); next }
        /^\.EX/ { on = 1; file = sprintf("%s/%02d", folder, ++n); print title >file; next }
        /^\.EE/ { on = 0; close(file) }
        on { sub(/^    /, ""); print >file }'
}

# steps BLOCK FOLDER: a command a file, what is shown below it in a second one.
steps() {
    awk -v folder="$2" 'NR == 1 { next }
        /^\$ / { file = sprintf("%s/%02d", folder, ++n); print substr($0, 3) >(file ".command")
                 printf "" >(file ".shown"); next }
        { print >(file ".shown") }' "$1"
}

# What ranks and gpubind say; launchers and Slurm have words of their own.
said() { grep -hE '^([0-9]|gpubind: |  )' "$@" | sed -E 's/^(gpubind: )n[0-9]:/\1n0:/' | sort; }

# as_shown STEP: it ended well, and said what is shown; ... stands for more.
as_shown() {
    shown=$(grep -vFx ... "$1.shown" | sort)
    [ "$(cat "$1.status")" = 0 ] || return 1
    if grep -qFx ... "$1.shown"; then
        said "$1.out" "$1.err" >"$tmp/said"
        printf '%s\n' "$shown" | uniq -c | while read -r n line; do
            [ -z "$line" ] || [ "$(grep -cFe "$line" "$tmp/said")" -ge "$n" ] || exit 1
        done
    elif [ -s "$1.shown" ]; then
        [ "$(said "$1.out" "$1.err")" = "$shown" ]
    fi
}

# settings BLOCK: what the commands of this one need around them, as shell lines.
settings() {
    case $(tr '\n' ' ' <"$1") in
    MPS*)
        # Of recorded machines gpubind does not say whether there is a daemon.
        echo "unset GPUBIND_TOPOLOGY"
        echo "export HWLOC_XMLFILE='$machines/small-4c2g.xml' HWLOC_THISSYSTEM=1" ;;
    KUBERNETES*)
        # As mpi-operator has it.
        printf 'worker-0 slots=4\nworker-1 slots=4\n' >hostfile
        echo "export OMPI_MCA_orte_default_hostfile='$PWD/hostfile'"
        echo "export OMPI_MCA_orte_keep_fqdn_hostnames=true OMPI_MCA_plm_rsh_agent='$launch_dir/agent'" ;;
    *' -H '*)
        echo "export OMPI_MCA_plm_rsh_agent='$launch_dir/agent' PRTE_MCA_plm_ssh_agent='$launch_dir/agent'"
        echo 'unset PRTE_MCA_rmaps_default_mapping_policy'
        echo 'export PRTE_MCA_hwloc_default_binding_policy=none' ;;
    esac
    # What stands in for ssh starts afresh, as ssh does.
    echo "export LAUNCH_AGENT_ENV='GPUBIND_TOPOLOGY=$GPUBIND_TOPOLOGY PATH=$PATH'"
}

# run_block BLOCK: its commands one after the other in a shell of their own; the files
# that it shows by cat are made. Leaves what came of them in $tmp/steps.
run_block() {
    rm -rf "$tmp/steps" && mkdir "$tmp/steps"
    steps "$1" "$tmp/steps"
    settings "$1" >"$tmp/script"
    for step in "$tmp"/steps/*.command; do
        step=${step%.command}
        read -r words <"$step.command"
        case $words in
        'cat '*)
            cp "$step.shown" "${words#cat }" && chmod +x "${words#cat }"
            rm "$step.command" ;;
        *)
            printf '%s\n' "{ $words" "} >'$step.out' 2>'$step.err'; echo \$? >'$step.status'" |
                sed "s|/tmp/mps|$tmp/mps|" ;;
        esac
    done >>"$tmp/script"
    limit=120 bounded sh "$tmp/script" </dev/null
}

# missing BLOCK: why it cannot be run here; nothing if it can.
missing() {
    words=$(tr '\n' ' ' <"$1")
    case $words in
    *srun* | *salloc*) [ -n "$slurm_holder" ] || { echo "$slurm_why"; return; } ;;
    esac
    case $words in
    *apptainer* | *bwrap*) $have_bwrap || echo 'bubblewrap is not installed, or may not make namespaces' ;;
    *' : '*) mpi 1 true : -np 1 true >/dev/null 2>&1 || echo 'this mpirun dies of two commands' ;;
    *hybrid*) [ -x hybrid ] || echo 'no OpenMP' ;;
    *KUBERNETES*) [ "$(multinode_version)" = 4 ] && $have_nodes || echo 'no pods for Open MPI 4: no right to host names' ;;
    *' -H '*) $have_nodes || echo "$nodes_why" ;;
    esac
}

# try_block BLOCK
try_block() {
    why=$(missing "$1")
    title=$(head -n 1 "$1")
    if [ -n "$why" ]; then
        sed -n 's/^\$ //p' "$1" >"$tmp/left"
        while read -r words; do skip "$title: $words" "$why"; done <"$tmp/left"
        return
    fi
    run_block "$1"
    for step in "$tmp"/steps/*.command; do
        [ -e "$step" ] || continue
        step=${step%.command}
        if as_shown "$step"; then
            ok "$title: $(cat "$step.command")"
        else
            not_ok "$title: $(cat "$step.command")"
            diag "status $(cat "$step.status"), said:
$(cat "$step.out" "$step.err")"
        fi
    done
}

# ---- what the commands need

printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$MPIRUN")" >"$tmp/bin/mpirun"
# A container by other means, with users and mounts of its own, as apptainer's are.
cat >"$tmp/bin/apptainer" <<'END'
#!/bin/sh
[ "$1 $2 $3" = 'exec --nv app.sif' ] || exit 1
shift 3
exec bwrap --dev-bind / / --unshare-user "$@"
END
# As long as the daemon runs, it has a pipe.
cat >"$tmp/bin/nvidia-cuda-mps-control" <<'END'
#!/bin/sh
case ${1-} in
-d) mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" && mkfifo "$CUDA_MPS_PIPE_DIRECTORY/control" ;;
*)  read -r word && [ "$word" = quit ] && rm -r "$CUDA_MPS_PIPE_DIRECTORY" ;;
esac
END
# The variables that torchrun sets, where there is none.
real_torchrun=true
command -v torchrun >/dev/null && torchrun --help >/dev/null 2>&1 || real_torchrun=false
$real_torchrun || cat >"$tmp/bin/torchrun" <<'END'
#!/bin/sh
[ "$1 $2 $3" = '--standalone --nproc_per_node=4 --no_python' ] || exit 1
shift 3
export WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 TORCHELASTIC_RUN_ID=$$ \
    TORCHELASTIC_RESTART_COUNT=0 MASTER_PORT=1 OMP_NUM_THREADS="${OMP_NUM_THREADS-1}"
for rank in 0 1 2 3; do RANK=$rank LOCAL_RANK=$rank "$@" & done
wait
END
chmod +x "$tmp"/bin/*
printf '%s\n' '#include <omp.h>' 'int main(void) {' '#pragma omp parallel' '    omp_get_thread_num();' \
    '    return 0;' '}' >hybrid.c
${CC:-cc} -fopenmp hybrid.c -o hybrid >/dev/null 2>&1 || rm -f hybrid
have_bwrap=false have_nodes=false nodes_why=
! bwrap --dev-bind / / --unshare-user --unshare-pid --unshare-ipc --unshare-net true 2>/dev/null || have_bwrap=true
if multinode_usable; then have_nodes=true; else nodes_why=$launch_why; fi

# ---- all of it

blocks "$page" "$tmp/blocks"
shown=$(grep -hc '^\$ ' "$tmp"/blocks/* | awk '{ n += $1 } END { print n }')
check "$shown commands are shown" test "$shown" -ge 30
# Every command of the page is in one of them, and the page shows no other way.
is 'all of the page is read' "$(sed 's/\\//g' "$page" | grep -cE '^ +\$ ')" "$shown"

slurm_start nodes=2 cpus=16 gres=4 || slurm_why=$launch_why
for block in "$tmp"/blocks/*; do
    try_block "$block"
done
slurm_stop

# A page that says something else is noticed.
planted() {
    rm -rf "$tmp/planted" && mkdir "$tmp/planted"
    sed "$2" "$page" >"$tmp/page" && blocks "$tmp/page" "$tmp/planted"
    run_block "$tmp/planted/$block"
    for step in "$tmp"/steps/*.status; do
        as_shown "${step%.status}" || { ok "notices $1"; return; }
    done
    not_ok "notices $1"
}
block=$(basename "$(grep -lFx '$ mpirun -np 5 gpubind --master 0 ./app' "$tmp"/blocks/*)")
planted 'another core' 's/^\(.*0: master.*CPUs 15\),31/\1,30/'
planted 'a line that is missing' '/^    4: gpu/d'
planted 'an option that does not exist' 's/master 0/masters 0/'

# ---- namespaces, one by one

# in_namespace NAME GPUBIND-OPTION...
in_namespace() {
    namespace=$1
    shift
    run mpi 4 bwrap --dev-bind / / "--unshare-$namespace" --proc /proc gpubind "$@" ./app
}
if $have_bwrap; then
    run mpi 4 gpubind --master 0 ./app
    wanted=$(sort "$tmp/out")
    for namespace in user pid ipc cgroup-try uts; do
        # Hydra of MPICH gives a job no name, and its processes cannot be seen.
        [ "$namespace$(multinode_version)" != pid ] || { skip 'inside, own pid' 'not Open MPI'; continue; }
        in_namespace $namespace --master 0
        is "inside, own $namespace" "$status $(sort "$tmp/out") $(grep '^gpubind' "$tmp/err")" "0 $wanted "
    done
    in_namespace net --master 0 --timeout 1
    is 'inside, own net, and a master: an error' \
        "$([ "$status" != 0 ] && sort -u "$tmp/err" | grep '^gpubind: ')" \
        "gpubind: the ranks of this node cannot meet, so that --master cannot be told by all"
    run mpi 2 sh -c 'exec bwrap --dev-bind / / --unshare-uts --hostname h$$ gpubind --timeout 1 ./app'
    is 'inside, host names of their own' "$status $(sort -u "$tmp/err" | grep -c '^gpubind: no other of the 2')" '0 1'
    run mpi 4 gpubind --master 0 bwrap --dev-bind / / --unshare-all --proc /proc ./app
    is 'outside, all namespaces' "$status $(sort "$tmp/out")" "0 $wanted"
else
    skip 'namespaces' 'bubblewrap is not installed, or may not make namespaces'
fi

# ---- a real OpenMP program, really bound

two=$(sed -n 's/^Cpus_allowed_list:.\(0-[1-9].*\|0,1\(,.*\)*\)$/yes/p' /proc/self/status)
if [ -x hybrid ] && [ -n "$two" ]; then
    export OMP_DISPLAY_AFFINITY=true OMP_AFFINITY_FORMAT='thread %n on %A'
    bound() {
        env -u GPUBIND_TOPOLOGY "HWLOC_XMLFILE=$machines/small-4c2g.xml" HWLOC_THISSYSTEM=1 \
            "$@" 2>&1 | grep '^thread' | sort | head -n 2 | xargs
    }
    is 'OpenMP: a thread on each core' "$(bound gpubind ./hybrid)" 'thread 0 on 0 thread 1 on 1'
    is '... not with --omp none' "$(bound gpubind --omp none ./hybrid | grep -c 'on 0 ')" 0
    unset OMP_DISPLAY_AFFINITY OMP_AFFINITY_FORMAT
else
    skip 'OpenMP: a thread on each core' 'no OpenMP, or not CPUs 0 and 1'
fi

# ---- as it is shown

is 'it is of this version' "$(sed -n 's/^\.TH .* "\(gpubind [0-9.]*\)".*/\1/p' "$page")" "$(gpubind --version)"
linted "$page" 'it'
done_testing
