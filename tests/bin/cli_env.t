#!/bin/sh
# What every rank finds in its environment: under mpirun, on recorded machines.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml
tail=-5ca1-ab1e-cafe-00000000000
g0=GPU-10000000${tail}0 g1=GPU-11111111${tail}1 g2=GPU-12222222${tail}2 g3=GPU-13333333${tail}3

# ranks N MACHINE EXPRESSION OPTION...: what the shell makes of EXPRESSION in each
# rank, in order of rank.
ranks() {
    n=$1 machine=$2 expression=$3
    shift 3
    mpi "$n" gpubind --topology "$machine" "$@" \
        sh -c "echo \"\$GPUBIND_LOCAL_RANK: $expression\"" 2>&1 | sort -n
}
cuda='${CUDA_VISIBLE_DEVICES-unset} ${GPUBIND_VISIBLE_DEVICES-unset} ${CUDA_DEVICE_ORDER-unset}'

is 'a GPU each' "$(ranks 4 "$demo" '$GPUBIND_ROLE $GPUBIND_GPU_PCI $GPUBIND_GPU_UUID')" \
    "0: gpu 0000:17:00.0 $g0
1: gpu 0000:2a:00.0 $g1
2: gpu 0000:9a:00.0 $g2
3: gpu 0000:ab:00.0 $g3"
is 'cores, memory, threads, NIC' "$(ranks 4 "$demo" \
    '$GPUBIND_CPUS $GPUBIND_NUMA $OMP_NUM_THREADS $OMP_PLACES $GPUBIND_NIC ${UCX_NET_DEVICES-unset}')" \
    '0: 0-3,16-19 0 4 cores mlx5_0 unset
1: 4-7,20-23 0 4 cores mlx5_0 unset
2: 8-11,24-27 1 4 cores mlx5_1 unset
3: 12-15,28-31 1 4 cores mlx5_1 unset'
# ports STATE0 STATE1...: the demo machine whose NICs have infos of their ports, as hwloc writes them.
ports() {
    n=0
    cp "$demo" "$tmp/ports.xml"
    for states; do
        infos=$(printf '%s' "$states" | awk -v RS=, '{ printf "<info name=\"Port%dState\" value=\"%d\"\/>", NR, $1 }')
        sed -i "s/\\(<object type=\"OSDev\"[^>]*name=\"mlx5_$n\"[^>]*\\)\/>/\\1>$infos<\/object>/" "$tmp/ports.xml"
        n=$((n + 1))
    done
    ranks 4 "$tmp/ports.xml" '$UCX_NET_DEVICES' --nic ucx | xargs
}
is 'NICs whose ports are up' "$(ports 4 4)" '0: mlx5_0:1 1: mlx5_0:1 2: mlx5_1:1 3: mlx5_1:1'
is 'a NIC that is down is nobody'"'"'s' "$(ports 1 4)" '0: mlx5_1:1 1: mlx5_1:1 2: mlx5_1:1 3: mlx5_1:1'
is 'of a NIC with two ports, the one that is up' "$(ports 4 1,4)" '0: mlx5_0:1 1: mlx5_0:1 2: mlx5_1:2 3: mlx5_1:2'
is 'where all are down, the nearest' "$(ports 1 1)" '0: mlx5_0:1 1: mlx5_0:1 2: mlx5_1:1 3: mlx5_1:1'
plan=$(bounded gpubind --plan --json --topology "$demo" --ranks 2 | sed 's/.*"plan":"\([^"]*\)".*/\1/')
is 'plan and version' "$(ranks 2 "$demo" '$GPUBIND_PLAN gpubind $GPUBIND_VERSION')" \
    "$(for rank in 0 1; do echo "$rank: $plan $(gpubind --version)"; done)"

is '--visible own' "$(ranks 2 "$demo" "$cuda")" "0: $g0 $g0 unset
1: $g2 $g2 unset"
is '--visible first' "$(ranks 2 "$demo" '$CUDA_VISIBLE_DEVICES' --visible first)" \
    "0: $g0,$g1,$g2,$g3
1: $g2,$g0,$g1,$g3"
is '--visible all leaves it unset' "$(ranks 2 "$demo" "$cuda" --visible all)" \
    '0: unset unset unset
1: unset unset unset'
is '--visible all leaves what is set' \
    "$(CUDA_VISIBLE_DEVICES=3,1 ranks 2 "$demo" "$cuda" --visible all --quiet)" \
    '0: 3,1 unset unset
1: 3,1 unset unset'
is '--ids index' "$(ranks 4 "$demo" "$cuda" --ids index)" \
    "$(for rank in 0 1 2 3; do echo "$rank: $rank $rank PCI_BUS_ID"; done)"
is '--gpus-per-rank 2' "$(ranks 2 "$demo" '$CUDA_VISIBLE_DEVICES' --gpus-per-rank 2)" "0: $g0,$g1
1: $g2,$g3"
is '--map' "$(ranks 2 "$demo" '$CUDA_VISIBLE_DEVICES' --map 3,1)" "0: $g3
1: $g1"

# Entry (local rank mod number of GPUs) is the rank's own, whoever has no GPU.
own='$(echo $CUDA_VISIBLE_DEVICES | cut -d, -f$((GPUBIND_LOCAL_RANK % $(echo $CUDA_VISIBLE_DEVICES | tr , "\n" | wc -l) + 1)))'
for case in '4' '5 --master 0' '5 --master 2' '6' '4 --map 2,0,3'; do
    n=${case%% *}
    options=${case#"$n"}
    # shellcheck disable=SC2086 # words
    is "--visible ordered, ranks: $case" \
        "$(ranks "$n" "$demo" "$own" --visible ordered $options | grep -v ': $')" \
        "$(ranks "$n" "$demo" '$GPUBIND_GPU_UUID' $options | grep -v ': $')"
done

none='$GPUBIND_ROLE <$CUDA_VISIBLE_DEVICES> <$GPUBIND_GPU_UUID> <$GPUBIND_GPU_PCI> ${CUDA_VISIBLE_DEVICES+set}'
for visible in own first ordered all; do
    is "master and idle ranks see no GPU, --visible $visible" \
        "$(ranks 6 "$demo" "$none" --master 0 --overflow idle --visible $visible --quiet | grep -v ': gpu ')" \
        '0: master <> <> <> set
5: idle <> <> <> set'
done

# The user's settings win.
export OMP_NUM_THREADS=3 OMP_PLACES=sockets UCX_NET_DEVICES=all
is 'OMP_* and UCX_NET_DEVICES of the user stay' \
    "$(ranks 2 "$demo" '$OMP_NUM_THREADS $OMP_PLACES $UCX_NET_DEVICES' --nic ucx)" '0: 3 sockets all
1: 3 sockets all'
unset OMP_NUM_THREADS OMP_PLACES UCX_NET_DEVICES
is '--nic ucx' "$(ranks 2 "$demo" '$UCX_NET_DEVICES' --nic ucx)" '0: mlx5_0:1
1: mlx5_1:1'
is '--nic ofi' "$(ranks 2 "$demo" '$FI_VERBS_DEVICE_NAME ${UCX_NET_DEVICES-unset}' --nic ofi)" \
    '0: mlx5_0 unset
1: mlx5_1 unset'
is '--nic none' "$(ranks 1 "$demo" '<$GPUBIND_NIC>' --nic none)" '0: <>'
is 'no NCCL_IB_HCA' "$(ranks 1 "$demo" '${NCCL_IB_HCA-unset}' --nic ucx)" '0: unset'
is '--omp none' "$(ranks 1 "$demo" '${OMP_NUM_THREADS-unset} ${OMP_PLACES-unset}' --omp none)" \
    '0: unset unset'

# For gpubind's libraries in the program.
is '--verbose is passed on' "$(ranks 1 "$demo" '${GPUBIND_VERBOSE-unset}' --verbose 2>&1 | grep '^0:')" '0: 1'
is '... and no more than that' "$(ranks 1 "$demo" '${GPUBIND_VERBOSE-unset}')" '0: unset'
is '... also over the variable' "$(GPUBIND_VERBOSE=0 ranks 1 "$demo" '$GPUBIND_VERBOSE' --verbose 2>&1 | grep '^0:')" '0: 1'
is '... which is left alone without' "$(GPUBIND_VERBOSE=0 ranks 1 "$demo" '$GPUBIND_VERBOSE')" '0: 0'

# A list that is the same for all ranks says which GPUs there are; lists that differ
# are somebody's binding.
# On this machine, which pretends to have GPUs.
listed() {
    run mpi 2 sh -c 'export HWLOC_XMLFILE="$0" HWLOC_THISSYSTEM=1
        rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        eval "export CUDA_VISIBLE_DEVICES=$1"
        exec gpubind --bind none sh -c "echo \$GPUBIND_GPU_UUID \$CUDA_VISIBLE_DEVICES"' "$demo" "$1"
}
listed 3,2
is 'CUDA_VISIBLE_DEVICES of all ranks' "$(sort "$tmp/out")" "$g2 $g2
$g3 $g3"
is 'is spoken of once' "$(grep -c '^gpubind: CUDA_VISIBLE_DEVICES=3,2 ' "$tmp/err")" 1
listed 1
is 'one GPU for two ranks' "$(sort "$tmp/out")" "$g1 $g1
$g1 $g1"
listed '$((rank + 1))'
is 'lists that differ are kept' "$(sort "$tmp/out")" "$g1 1
$g2 2"
is 'and that is said once' "$(grep -c '^gpubind: .*rank by rank' "$tmp/err")" 1
is 'also for a recorded machine' \
    "$(CUDA_VISIBLE_DEVICES=3 ranks 1 "$demo" '$CUDA_VISIBLE_DEVICES' --quiet)" "0: $g3"

# Other GPUs.
is 'MIG instances' "$(ranks 2 "$machines/mig-1g7i.xml" '$CUDA_VISIBLE_DEVICES')" \
    '0: MIG-20000000-0000-5000-8000-000000000000
1: MIG-20000001-0000-5000-8000-000000000001'
sed 's/0302 \[10de:2330\]/0380 [1002:740c]/; s/nvml\([0-9]\)/rsmi\1/; s/"NVML"/"RSMI"/
    s/NVIDIA Corporation/AMD/; s/"NVIDIAUUID" value="GPU-1\(.\{7\}\)[^"]*/"AMDUUID" value="e850aef0\1a/' \
    "$machines/small-4c2g.xml" > "$tmp/amd.xml"
is 'AMD GPUs' \
    "$(ranks 2 "$tmp/amd.xml" '$ROCR_VISIBLE_DEVICES ${CUDA_VISIBLE_DEVICES-unset} $GPUBIND_GPU_UUID')" \
    '0: GPU-e850aef00000000a unset GPU-e850aef00000000a
1: GPU-e850aef01111111a unset GPU-e850aef01111111a'
is 'a master beside AMD GPUs' \
    "$(ranks 2 "$tmp/amd.xml" '<${ROCR_VISIBLE_DEVICES-unset}> ${CUDA_VISIBLE_DEVICES-unset}' --master 0)" \
    '0: <> unset
1: <GPU-e850aef00000000a> unset'
sed 's/0302 \[10de:2330\]/0380 [8086:0bd5]/; s/nvml\([0-9]\)/ze\1/; s/"NVML"/"LevelZero"/
    s/NVIDIA Corporation/Intel/; s/"NVIDIAUUID"/"LevelZeroUUID"/' \
    "$machines/small-4c2g.xml" > "$tmp/intel.xml"
is 'Intel GPUs' "$(ranks 2 "$tmp/intel.xml" '$ZE_AFFINITY_MASK ${CUDA_VISIBLE_DEVICES-unset}')" \
    '0: 0 unset
1: 1 unset'
done_testing
