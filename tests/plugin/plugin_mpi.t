#!/bin/sh
# mpirun without a wrapper: the plugin in real daemons.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
launch_dir=$top_srcdir/tests/launch
. "$launch_dir/multinode.sh"
case $("$MPIRUN" --version 2>&1) in *'(Open MPI) '[45]*) ;; *) skip_all 'mpirun is not of Open MPI 4 or 5' ;; esac

[ -z "$SANITIZED" ] || skip_all 'daemons without the sanitizers cannot load a plugin with them'

machine=$machines/demo-2p4g.xml
node=$(hostname)

# job N [MPIRUN-OPTION...] COMMAND...: N ranks on this node; variables in $with.
with=
# shellcheck disable=SC2086 # words
job() { n=$1; shift; run plugged $with "$MPIRUN" --oversubscribe --bind-to none -np "$n" "$@"; }

# ---- one daemon

for n in 1 2 4 9; do
    job $n sh -c "$seen"
    as_launcher "$n ranks on four GPUs" --nodes "$node:$n" --ranks $n
done
job 4 sh -c 'echo "$CUDA_VISIBLE_DEVICES=$GPUBIND_GPU_UUID $GPUBIND_MADE_BY"'
is 'each rank sees its own GPU' "$(awk -F'[= ]' '$1 == $2 && $3 == "plugin"' "$tmp/out" | sort -u | wc -l)" 4
is 'nobody says anything' "$(cat "$tmp/err")" ''

job 6 -x GPUBIND_OVERFLOW=idle -x GPUBIND_MASTER=0 sh -c "$seen"
as_launcher 'settings by mpirun -x' --nodes "$node:6" --ranks 6 --overflow idle --master 0
with='GPUBIND_GPUS_PER_RANK=2' job 2 -x GPUBIND_GPUS_PER_RANK sh -c "$seen"
as_launcher 'settings that are exported' --nodes "$node:2" --ranks 2 --gpus-per-rank 2
with='PMIX_MCA_pmdl_gpubind_overflow=idle' job 6 sh -c "$seen"
as_launcher 'settings by MCA parameters' --nodes "$node:6" --ranks 6 --overflow idle
with='PMIX_MCA_pmdl_gpubind_overflow=idle' job 6 -x GPUBIND_OVERFLOW=share sh -c "$seen"
as_launcher 'the job wins over MCA parameters' --nodes "$node:6" --ranks 6
with=

job 2 -x GPUBIND_VISIBLE=first sh -c 'echo "${CUDA_VISIBLE_DEVICES%%,*}=$GPUBIND_GPU_UUID $CUDA_VISIBLE_DEVICES"'
is '--visible first: its own, then the others' \
    "$(awk -F'[= ]' '$1 == $2 && split($3, a, ",") == 4' "$tmp/out" | wc -l)" 2

job 4 -x CUDA_VISIBLE_DEVICES=2,3 sh -c 'echo "$GPUBIND_GPU_PCI $GPUBIND_OUTER_VISIBLE_DEVICES"'
is "the user's CUDA_VISIBLE_DEVICES narrows the choice" "$(sort "$tmp/out" | uniq -c | sed 's/^ *//')" \
    '2 0000:9a:00.0 2,3
2 0000:ab:00.0 2,3'
job 2 -x "CUDA_VISIBLE_DEVICES=2,$(printf '%02000d' 3)" sh -c 'echo "$GPUBIND_GPU_PCI"'
is '... also by a list of 2 KB' "$status $(sort "$tmp/out" | xargs)$(cat "$tmp/err")" '0 0000:9a:00.0 0000:ab:00.0'
# Open MPI 5.0.7 of Debian dies in PMIx of several commands (open-mpi/ompi 13303).
several=yes
run bounded "$MPIRUN" --oversubscribe -np 1 true : -np 1 true
[ "$status" = 0 ] || several=
if [ "$several" ]; then
    job 1 -x CUDA_VISIBLE_DEVICES=1 sh -c "$seen" : -np 1 -x CUDA_VISIBLE_DEVICES=3 \
        sh -c 'echo "left $CUDA_VISIBLE_DEVICES${GPUBIND_MADE_BY-}"'
    is "what differs from rank to rank is somebody's choice" \
        "$(grep -c 'seen.* gpu 0000:2a' "$tmp/out") $(grep left "$tmp/out")" '1 left 3'
else
    skip "what differs from rank to rank is somebody's choice" "this mpirun dies of several commands, also without the plugin"
fi

job 2 -x GPUBIND=off sh -c 'echo "${GPUBIND_PLAN-none} ${CUDA_VISIBLE_DEVICES-unset}"'
is 'GPUBIND=off leaves the job alone' "$(sort -u "$tmp/out")" 'none unset'
with='PMIX_MCA_pmdl=^gpubind' job 2 sh -c 'echo "${GPUBIND_PLAN-none}"'
is 'PMIX_MCA_pmdl=^gpubind leaves all jobs alone' "$(sort -u "$tmp/out")" 'none'
with=

if [ "$several" ]; then
    job 2 sh -c "$seen" : -np 2 sh -c "$seen"
    as_launcher 'two programs in one mpirun' --nodes "$node:4" --ranks 4
else
    skip 'two programs in one mpirun' 'this mpirun dies of several commands, also without the plugin'
fi

# refused_once DESCRIPTION PATTERN: no rank ran, one sentence of ours fits.
refused_once() {
    is "$1" "$([ "$status" -ne 0 ] && echo failed) $(grep -c ran "$tmp/out") $(grep -c '^gpubind: ' "$tmp/err") $(grep '^gpubind: ' "$tmp/err" | grep -ce "$2")" \
        'failed 0 1 1'
}
job 2 -x GPUBIND_GPUS_PER_RANK=9 echo ran
refused_once 'more GPUs a rank than there are' '9 GPUs a rank were asked for'
job 2 -x GPUBIND_OVERFLOW=many echo ran
refused_once 'a word that the setting does not know' "GPUBIND_OVERFLOW: 'many' is none of"

# A site's parameters concern jobs that did not ask for them: none of them keeps one from
# running but by what it says.
# passed_over DESCRIPTION N SENTENCE [PLAN-OPTION...]: the N ranks of what was run last were
# placed as without the parameter, and that was said once.
passed_over() {
    title=$1 n=$2 sentence=$3
    shift 3
    as_launcher "$title" --nodes "$node:$n" --ranks "$n" "$@"
    is '... and one sentence says so' "$(grep '^gpubind: ' "$tmp/err")" "gpubind: $sentence"
}
with='PMIX_MCA_pmdl_gpubind_ranks_per_gpu=x PMIX_MCA_pmdl_gpubind_overflow=idle' job 5 sh -c "$seen"
passed_over 'a parameter that is no number; another one holds' 5 \
    "pmdl_gpubind_ranks_per_gpu: 'x' is not a number from 1 to 4096; passed over" --overflow idle
with='PMIX_MCA_pmdl_gpubind_master=0,x' job 2 sh -c "$seen"
passed_over 'a list with a good beginning' 2 \
    "pmdl_gpubind_master: 'x' is no rank: it takes RANK[,RANK...]|none; passed over"
with='PMIX_MCA_pmdl_gpubind_exclusive=perhaps' job 2 sh -c "$seen"
passed_over 'a parameter of the site alone' 2 \
    "pmdl_gpubind_exclusive: 'perhaps' is neither 1 nor 0; passed over"
with='PMIX_MCA_pmdl_gpubind_master=9' job 2 sh -c "$seen"
passed_over 'a master that small jobs do not have' 2 \
    '--master: the job has no rank 9, its ranks are 0 to 1; passed over: pmdl_gpubind_master'
with="PMIX_MCA_pmdl_gpubind_map=@$tmp/gone PMIX_MCA_pmdl_gpubind_gpus_per_rank=2" job 2 sh -c "$seen"
passed_over 'a map that is not on this node' 2 \
    "--map: $tmp/gone: No such file or directory; passed over: pmdl_gpubind_gpus_per_rank, pmdl_gpubind_map"
with='PMIX_MCA_pmdl_gpubind_gpus_per_rank=9 PMIX_MCA_pmdl_gpubind_overflow=error' job 5 echo ran
refused_once 'what the site has jobs refused by still does' '5 ranks want a GPU'
with='PMIX_MCA_pmdl_gpubind_gpus_per_rank=x' job 2 -x GPUBIND_GPUS_PER_RANK=2 sh -c "$seen"
as_launcher 'a bad parameter that the job replaces' --nodes "$node:2" --ranks 2 --gpus-per-rank 2
is '... is nobody'"'"'s trouble' "$(cat "$tmp/err")" ''
with='PMIX_MCA_pmdl_gpubind_master=9' job 2 -x GPUBIND_QUIET=1 sh -c "$seen"
is 'a job that wants no notices' "$status $(cat "$tmp/err")" '0 '
with=

job 4 -x GPUBIND_OVERFLO=idle sh -c "$seen"
is 'a misspelt variable is named once' "$status $(cat "$tmp/err")" \
    '0 gpubind: GPUBIND_OVERFLO is no variable of gpubind; the nearest one is GPUBIND_OVERFLOW'
job 4 -x GPUBIND_OVERFLO=idle gpubind sh -c "$seen"
is '... also with gpubind in the ranks' "$(grep -c 'is no variable' "$tmp/err")" 1
job 4 -x GPUBIND=off -x GPUBIND_OVERFLO=idle gpubind sh -c "$seen"
is '... and by gpubind where the plugin is off' "$(grep -c 'is no variable' "$tmp/err")" 1
job 5 -x GPUBIND_OVERFLOW=error echo ran
refused_once '--overflow error' '5 ranks want a GPU'
machine=$machines/nogpu-2p8c.xml
job 2 -x GPUBIND_REQUIRE_GPU=1 echo ran
refused_once '--require-gpu on a node without' 'no usable GPU'
job 2 sh -c "$seen"
as_launcher 'a node without GPU' --nodes "$node:2" --ranks 2
is '... is not worth a word' "$(cat "$tmp/err")" ''
machine=$machines/mig-1g7i.xml
job 7 sh -c "$seen"
as_launcher 'seven MIG instances' --nodes "$node:7" --ranks 7
machine=$machines/demo-2p4g.xml

job 3 -x GPUBIND_REPORT=1 true
is '--report: one table' "$(grep -c '^node' "$tmp/err") $(grep -c "planned by gpubind's plugin" "$tmp/err")" '1 1'

# ---- gpubind in the rank

job 4 gpubind sh -c 'echo "$GPUBIND_PLAN $GPUBIND_MADE_BY $GPUBIND_GPU_PCI"'
sort "$tmp/out" >"$tmp/kept"
job 4 sh -c 'echo "$GPUBIND_PLAN $GPUBIND_MADE_BY $GPUBIND_GPU_PCI"'
is 'gpubind under the plugin keeps the plan' "$(cat "$tmp/kept")" "$(sort "$tmp/out")"
job 4 gpubind --report sh -c 'echo "$GPUBIND_PLAN"'
is '... and --report shows it, with its hash and who made it' \
    "$(grep -c "plan $(sort -u "$tmp/out")\$" "$tmp/err") $(grep -c "by gpubind's plugin" "$tmp/err") $(grep -c '^ .*0000:' "$tmp/err")" \
    '1 1 4'
job 4 -x GPUBIND_MASTER=1 gpubind --report true
is '... masters too' "$(awk '$3 == "master" { print $1 }' "$tmp/err") $(grep -c '^gpubind: ' "$tmp/err")" '1 0'
job 2 -x GPUBIND_MAP=3,2,1,0 -x GPUBIND_GPUS_PER_RANK=2 gpubind --report true
is '... and sets in the order of a map' "$(grep -c '^gpubind: ' "$tmp/err") $(grep -c ' 3,2 ' "$tmp/err")" '0 1'
job 2 gpubind --gpus-per-rank 2 sh -c "$seen"
as_launcher 'other settings make another plan' --nodes "$node:2" --ranks 2 --gpus-per-rank 2
job 2 -x CUDA_VISIBLE_DEVICES=1,2 gpubind --visible all sh -c 'echo "$CUDA_VISIBLE_DEVICES ${GPUBIND_MADE_BY-gpubind}"'
is "... from what the user had set" "$(sort -u "$tmp/out")" '1,2 gpubind'
order='echo "${CUDA_DEVICE_ORDER-unset} ${CUDA_VISIBLE_DEVICES%%-*} ${GPUBIND_OUTER_DEVICE_ORDER-forgotten}"'
job 1 -x GPUBIND_IDS=index gpubind sh -c "$order"
is '... the order of CUDA devices, that of the plan where it stands' "$(cat "$tmp/out")" 'PCI_BUS_ID 0 '
job 1 -x GPUBIND_IDS=index gpubind --ids uuid sh -c "$order"
is '... none where the plugin had set it' "$(cat "$tmp/out")" 'unset GPU forgotten'
job 1 -x GPUBIND_IDS=index -x CUDA_DEVICE_ORDER=FASTEST_FIRST gpubind --ids uuid sh -c "$order"
is '... and what the user had set' "$(cat "$tmp/out")" 'FASTEST_FIRST GPU forgotten'
job 1 -x CUDA_DEVICE_ORDER=PCI_BUS_ID gpubind --policy pack sh -c "$order"
is '... also what the plugin would have set' "$(cat "$tmp/out")" 'PCI_BUS_ID GPU forgotten'
amd='echo "$GPUBIND_GPU_PCI ${HIP_VISIBLE_DEVICES-unset} ${GPUBIND_OUTER_HIP_VISIBLE_DEVICES-forgotten}"'
machine=$machines/amd-2p4g.xml
job 1 -x HIP_VISIBLE_DEVICES=2 gpubind --policy pack sh -c "$amd"
cp "$tmp/out" "$tmp/replaced"
mv "$plugin_dir" "$plugin_dir.off"
job 1 -x HIP_VISIBLE_DEVICES=2 gpubind --policy pack sh -c "$amd"
mv "$plugin_dir.off" "$plugin_dir"
is "... from what the user had set for HIP, as without the plugin" "$(cat "$tmp/replaced")" "$(cat "$tmp/out")"
check '... which is one of them' grep -q '^0000:.* unset forgotten$' "$tmp/replaced"
machine=$machines/demo-2p4g.xml
job 2 sh -c 'PMIX_RANK=7 gpubind sh -c "echo \${GPUBIND_MADE_BY-gpubind}"'
is "another rank's environment is no plan" "$(sort -u "$tmp/out")" gpubind

# ---- spawned ranks

cat >"$tmp/spawn.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    const char *gpu = getenv("GPUBIND_GPU_PCI");

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    printf("%s %s\n", parent == MPI_COMM_NULL ? "parent" : "child", gpu ? gpu : "none");
    fflush(stdout);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, atoi(argv[1]), MPI_INFO_NULL, 0, MPI_COMM_WORLD,
                       &child, MPI_ERRCODES_IGNORE);
    else
        child = parent;
    MPI_Barrier(child);
    MPI_Comm_disconnect(&child);
    MPI_Finalize();
    return 0;
}
C
with=OMPI_MCA_btl_tcp_if_include=lo # a container's other interfaces may lead nowhere
if "$MPICC" -o "$tmp/spawn" "$tmp/spawn.c" 2>"$tmp/err"; then
    spawns job 2 "$tmp/spawn" 2
    is 'two parents and two children have four GPUs' "$status $(awk '{ print $2 }' "$tmp/out" | sort -u | wc -l)" '0 4'
    spawns job 3 "$tmp/spawn" 3
    is 'a GPU for each, then they share' "$status $(awk '{ print $2 }' "$tmp/out" | sort | uniq -c | awk '{ print $1 }' | sort | tr '\n' ' ')" \
        '0 1 1 2 2 '
else
    not_ok 'the spawning program compiles'
fi
with=

# ---- a job that aborts leaves a daemon and the next job well

job 4 sh -c '[ "$OMPI_COMM_WORLD_RANK" != 1 ] || kill -9 $$; sleep 30'
check 'a rank that dies ends its job' [ "$status" -ne 0 ]

# ---- several daemons

if multinode_usable; then
    machine=$machines/thesis-6c4g.xml
    # Open MPI 5.0.7 of Debian often does not end with several daemons, also without the
    # plugin (17 of 40 runs of true), after all ranks have.
    nodes() {
        for _ in 1 2 3 4 5; do
            on_nodes "$@"
            [ "$status" != 124 ] || continue
            break
        done
    }
    on_nodes() {
        run env LAUNCH_TIMEOUT=10 LAUNCH_AGENT_ENV="PMIX_MCA_mca_base_component_path=$plugin_dir HWLOC_XMLFILE=$machine HWLOC_THISSYSTEM=1" \
            sh -c 'launch_dir=$1; shift; . "$launch_dir/multinode.sh"; multinode "$@"' - "$launch_dir" "$@"
    }
    nodes 2 6 --bind-to none -np 12 -x GPUBIND_OVERFLOW=idle sh -c "$seen"
    as_launcher 'two nodes, block' --nodes n0:6,n1:6 --ranks 12 --overflow idle
    nodes 2 6 --bind-to none -np 12 -x GPUBIND_OVERFLOW=idle -x GPUBIND_MASTER=0 sh -c "$seen"
    as_launcher 'two nodes, block, a master' --nodes n0:6,n1:6 --ranks 12 --overflow idle --master 0
    nodes 2 6 --bind-to none --map-by node -np 12 -x GPUBIND_OVERFLOW=idle -x GPUBIND_MASTER=0,1 sh -c "$seen"
    as_launcher 'two nodes, cyclic, two masters' --nodes n0:6,n1:6 --ranks 12 --distribution cyclic \
        --overflow idle --master 0,1
    nodes 3 3 --bind-to none -np 8 -x GPUBIND_MASTER=0 sh -c "$seen"
    as_launcher 'three nodes, the last not full' --nodes n0:3,n1:3,n2:3 --ranks 8 --master 0
else
    skip 'several daemons' "$launch_why"
fi
nothing_left 'nothing is left behind'
done_testing
