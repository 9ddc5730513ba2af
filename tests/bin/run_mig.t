#!/bin/sh
# MIG under mpirun: on a pretended driver, whose NVML names the instances. Of the demo
# machine's four GPUs, the first has three instances and the third has two; the second
# and the fourth are whole.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/multinode.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
sim=$top_builddir/tests/nvml/.libs/libnvmlsim.so
[ -r "$sim" ] || skip_all 'no pretended driver: not built here'

# The sanitizer wants to be first where a library is preloaded; Open MPI leaks.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
mkdir "$tmp/lib"
ln -s "$sim" "$tmp/lib/libnvidia-ml.so.1"
export HWLOC_XMLFILE="$top_srcdir/tests/machines/demo-2p4g.xml" HWLOC_THISSYSTEM=1

# machine: sets up the driver's files for what stands on stdin, as in tests/nvml/sim.c.
machine() {
    rm -rf "$tmp/sim"
    mkdir -p "$tmp/sim/dev" "$tmp/sim/proc/driver/nvidia/gpus"
    : >"$tmp/sim/dev/nvidiactl"
    cat >"$tmp/sim/gpus"
    while read -r pci uuid minor mode; do
        if [ -z "$minor" ]; then
            mkdir -p "$caps/gi$((gi += 1))"
            continue
        fi
        mkdir "$tmp/sim/proc/driver/nvidia/gpus/$pci"
        printf 'Model: \t\t Fake\nGPU UUID: \t %s\nDevice Minor: \t %s\n' "$uuid" "$minor" \
            >"$tmp/sim/proc/driver/nvidia/gpus/$pci/information"
        : >"$tmp/sim/dev/nvidia$minor"
        caps=$tmp/sim/proc/driver/nvidia/capabilities/gpu$minor/mig gi=0
        [ "$mode" != mig ] || mkdir -p "$caps"
    done <"$tmp/sim/gpus"
}
mixed() {
    machine <<'END'
0000:17:00.0 GPU-10000000-5ca1-ab1e-cafe-000000000000 2 mig
    MIG-a0000000-0000-5000-8000-000000000000
    MIG-a1111111-0000-5000-8000-000000000000
    MIG-a2222222-0000-5000-8000-000000000000
0000:2a:00.0 GPU-11111111-5ca1-ab1e-cafe-000000000001 0
0000:9a:00.0 GPU-12222222-5ca1-ab1e-cafe-000000000002 1 mig
    MIG-c0000000-0000-5000-8000-000000000000
    MIG-c1111111-0000-5000-8000-000000000000
0000:ab:00.0 GPU-13333333-5ca1-ab1e-cafe-000000000003 3
END
}

# The launcher with the pretended driver; nodes that are other hosts have no environment
# of the test's.
cat >"$tmp/gpubind-here" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$tmp/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" GPUBIND_SIM_NVML="$tmp/sim"
export HWLOC_XMLFILE="$HWLOC_XMLFILE" HWLOC_THISSYSTEM=1 ASAN_OPTIONS="$ASAN_OPTIONS"
LD_PRELOAD="$sim" exec "$gpubind" --bind none "\$@"
END
chmod +x "$tmp/gpubind-here"

# What each rank got: "LOCAL ROLE ADDRESS VISIBLE", UUIDs to the second dash.
# shellcheck disable=SC2016 # the ranks expand it
says='echo "$GPUBIND_LOCAL_RANK $GPUBIND_ROLE ${GPUBIND_GPU_PCI#0000:} ${CUDA_VISIBLE_DEVICES-unset}"'
short() { sed -E 's/((GPU|MIG)-[0-9a-f]+)[-0-9a-f]*/\1/g' "$tmp/out" | sort -n; }

# job N OPTION...: N ranks; what they got is in $said.
job() {
    ranks=$1
    shift
    : >"$tmp/sim/opens"
    run mpi "$ranks" "$tmp/gpubind-here" "$@" sh -c "$says"
    said=$(short)
}
# opened DESCRIPTION N: so many processes opened NVML.
opened() { is "$1" "$(wc -l <"$tmp/sim/opens")" "$2"; }
notices() { grep '^gpubind: ' "$tmp/err"; }

# ---- who gets what

mixed
job 7
is 'seven ranks: an instance or a whole GPU each' "$status
$said" "0
0 gpu 17:00.0 MIG-a0000000
1 gpu 17:00.0 MIG-a1111111
2 gpu 17:00.0 MIG-a2222222
3 gpu 2a:00.0 GPU-11111111
4 gpu 9a:00.0 MIG-c0000000
5 gpu 9a:00.0 MIG-c1111111
6 gpu ab:00.0 GPU-13333333"
opened '... one process opened NVML' 1
is '... and nothing is said' "$(notices)" ''
job 9
is 'nine ranks: neighbours share' "$(echo "$said" | cut -d' ' -f4 | uniq -c | sed 's/^ *//')" \
    '2 MIG-a0000000
2 MIG-a1111111
1 MIG-a2222222
1 GPU-11111111
1 MIG-c0000000
1 MIG-c1111111
1 GPU-13333333'
job 9 --overflow idle --master 1
is 'a master and an idle rank see nothing' "$(echo "$said" | grep -v ' gpu ')" \
    '1 master  
8 idle  '
is '... the others have one each' "$(echo "$said" | grep ' gpu ' | cut -d' ' -f4 | sort -u | wc -l)" 7
job 3 --map 0:2,3,9a:00.0:1 --visible first
is 'a map of parts; whole GPUs are not shown beside instances' "$said" \
    '0 gpu 17:00.0 MIG-a2222222
1 gpu 2a:00.0 GPU-11111111,GPU-13333333
2 gpu 9a:00.0 MIG-c1111111'
job 2 --map MIG-c1,GPU-10000000-5ca1-ab1e-cafe-000000000000:1 --ids index
is 'a map of UUIDs; instances have no index' "$said" \
    '0 gpu 9a:00.0 MIG-c1111111
1 gpu 17:00.0 MIG-a1111111'
job 2 --map 3,6 --visible ordered --ids index
is 'indices are those of cards' "$said" \
    '0 gpu 2a:00.0 1,3
1 gpu ab:00.0 1,3'
job 2 --visible all
is '--visible all leaves the variable alone' "$(echo "$said" | cut -d' ' -f4 | sort -u)" unset
is '... which is not what it seems' "$(notices | grep -c 'first MIG instance that it sees')" 1
job 1 --map 17:00.0
refused 'the address of a partitioned GPU is not that of an instance' 'fits more than one GPU'

# ---- several GPUs a rank

job 2 --gpus-per-rank 2
refused 'two GPUs a rank: refused, with the reason' 'a process can use one MIG instance only, not 2'
opened '... once, after one look at NVML' 1
job 1 --gpus-per-rank 2 --map 3,6
is 'two whole GPUs beside instances' "$said" '0 gpu 2a:00.0,0000:ab:00.0 GPU-11111111,GPU-13333333'

# ---- what was set before

CUDA_VISIBLE_DEVICES=MIG-a1111111-0000-5000-8000-000000000000
export CUDA_VISIBLE_DEVICES
job 2
is 'one instance for the job: its ranks share it' "$(echo "$said" | cut -d' ' -f3- | uniq -c)" \
    '      2 17:00.0 MIG-a1111111'
is '... which is said' "$(notices | grep -c 'leaves 1 of 7 GPUs')" 1
CUDA_VISIBLE_DEVICES=0,3
job 4
is 'a number is that of a card, and stands for its instances' "$(echo "$said" | cut -d' ' -f4)" \
    'MIG-a0000000
MIG-a1111111
MIG-a2222222
GPU-13333333'
CUDA_VISIBLE_DEVICES=GPU-12222222-5ca1-ab1e-cafe-000000000002
job 2
is 'so does its UUID' "$(echo "$said" | cut -d' ' -f4)" 'MIG-c0000000
MIG-c1111111'
CUDA_VISIBLE_DEVICES=MIG-c0000000-0000-5000-8000-000000000000,MIG-a0000000-0000-5000-8000-000000000000
job 2
is 'two instances for two ranks' "$(echo "$said" | cut -d' ' -f4)" 'MIG-a0000000
MIG-c0000000'
unset CUDA_VISIBLE_DEVICES
# shellcheck disable=SC2016 # the ranks expand it
run mpi 2 sh -c '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] &&
    export CUDA_VISIBLE_DEVICES=MIG-c1111111,MIG-a0000000 || export CUDA_VISIBLE_DEVICES=0
    exec "$0" sh -c "$1"' "$tmp/gpubind-here" \
    'echo "$GPUBIND_LOCAL_RANK $GPUBIND_GPU_UUID $CUDA_VISIBLE_DEVICES"'
is 'ranks that have theirs keep it: what CUDA opens of it' "$(short)" \
    '0 MIG-c1111111 MIG-c1111111,MIG-a0000000
1 MIG-a0000000 0'

# ---- what the driver lets one see

rm "$tmp/sim/dev/nvidia2"
job 4
is 'a card that may not be opened takes its instances along' "$(echo "$said" | cut -d' ' -f4)" \
    'GPU-11111111
MIG-c0000000
MIG-c1111111
GPU-13333333'
CUDA_VISIBLE_DEVICES=1
export CUDA_VISIBLE_DEVICES
job 2
is '... and the numbers of cards close up' "$(echo "$said" | cut -d' ' -f4)" 'MIG-c0000000
MIG-c1111111'
unset CUDA_VISIBLE_DEVICES
sed '/MIG-c/d' "$tmp/sim/gpus" >"$tmp/gpus"
machine <"$tmp/gpus"
job 5
is 'a card in MIG mode without instances is not there' "$(echo "$said" | cut -d' ' -f4)" \
    'MIG-a0000000
MIG-a1111111
MIG-a2222222
GPU-11111111
GPU-13333333'
sed '/MIG-/d; s/ mig$//' "$tmp/sim/gpus" >"$tmp/gpus"
machine <"$tmp/gpus"
job 4
is 'nothing partitioned: whole GPUs' "$(echo "$said" | cut -d' ' -f4)" 'GPU-10000000
GPU-11111111
GPU-12222222
GPU-13333333'
opened '... and nobody opened NVML' 0
mixed
rm "$tmp/sim/gpus"
job 2
refused 'NVML that does not work: nobody could name the instances' 'named by NVML alone: NVML cannot be used'

# A recorded machine that knows of its instances is not asked about again.
sed "s/demo-2p4g/mig-1g7i/" "$tmp/gpubind-here" >"$tmp/gpubind-there"
chmod +x "$tmp/gpubind-there"
mixed
: >"$tmp/sim/opens"
run mpi 2 "$tmp/gpubind-there" sh -c "$says"
is 'instances that the recorded machine names' "$(short)" '0 gpu 17:00.0 MIG-20000000
1 gpu 17:00.0 MIG-20000001'
opened '... need no NVML' 0

# ---- nodes

if multinode_usable; then
    : >"$tmp/sim/opens"
    run multinode 2 7 -np 14 "$tmp/gpubind-here" --quiet sh -c "$says"
    is 'two nodes: each rank has its own' \
        "$status $(short | sort | uniq -c | awk '{ n[$1]++ } END { print n[2], length(n) }')" '0 7 1'
    is '... one process a node opened NVML' "$(cut -d' ' -f1 "$tmp/sim/opens" | sort | xargs)" 'n0 n1'
else
    skip 'two nodes' "$launch_why"
fi
nothing_left 'nothing is left behind'
done_testing
