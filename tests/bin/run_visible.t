#!/bin/sh
# What a rank may see before gpubind runs, on a pretended driver: containers that show some of the GPUs, UUIDs
# that cannot be read, lists that wrappers rotate.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
sim=$top_builddir/tests/nvml/.libs/libnvmlsim.so
[ -r "$sim" ] || skip_all 'no pretended driver: not built here'

# The sanitizer wants to be first where a library is preloaded; Open MPI leaks.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
mkdir "$tmp/lib"
ln -s "$sim" "$tmp/lib/libnvidia-ml.so.1"

# driver: the files of the GPUs on stdin, as in tests/nvml/sim.c.
driver() {
    rm -rf "$tmp/sim"
    mkdir -p "$tmp/sim/dev" "$tmp/sim/proc/driver/nvidia/gpus"
    : >"$tmp/sim/dev/nvidiactl"
    cat >"$tmp/sim/gpus"
    while read -r pci uuid minor; do
        mkdir "$tmp/sim/proc/driver/nvidia/gpus/$pci"
        printf 'Model: \t\t Fake\nGPU UUID: \t %s\nDevice Minor: \t %s\n' "$uuid" "$minor" \
            >"$tmp/sim/proc/driver/nvidia/gpus/$pci/information"
        : >"$tmp/sim/dev/nvidia$minor"
    done <"$tmp/sim/gpus"
}

# The demo machine without the UUIDs, which only a driver of its own would have told.
sed '/NVIDIAUUID/d' "$top_srcdir/tests/machines/demo-2p4g.xml" >"$tmp/machine.xml"
cat >"$tmp/gpubind-here" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$tmp/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" GPUBIND_SIM_NVML="$tmp/sim"
export HWLOC_XMLFILE="$tmp/machine.xml" HWLOC_THISSYSTEM=1
LD_PRELOAD="$sim" GPUBIND_BIND=none exec gpubind "\$@"
END
chmod +x "$tmp/gpubind-here"

# job N OPTION...: what each rank got, by local rank, is in $said: "LOCAL ROLE ADDRESS VISIBLE".
# shellcheck disable=SC2016 # the ranks expand it
says='echo "$GPUBIND_LOCAL_RANK $GPUBIND_ROLE ${GPUBIND_GPU_PCI#0000:} ${CUDA_VISIBLE_DEVICES-unset}"'
job() {
    ranks=$1
    shift
    run mpi "$ranks" "$tmp/gpubind-here" "$@" sh -c "$says"
    said=$(sed -E 's/(GPU-[0-9a-f]+)[-0-9a-f]*/\1/g' "$tmp/out" | sort -n)
}
notices() { sed -n 's/^gpubind: //p' "$tmp/err"; }

# ---- a container that was given the third and the fourth of four GPUs

driver <<'GPUS'
0000:9a:00.0 GPU-12222222-5ca1-ab1e-cafe-000000000002 2
0000:ab:00.0 GPU-13333333-5ca1-ab1e-cafe-000000000003 3
GPUS
job 4
is 'a container with two of four GPUs: no rank gets another' "$status
$said" '0
0 gpu 9a:00.0 GPU-12222222
1 gpu 9a:00.0 GPU-12222222
2 gpu ab:00.0 GPU-13333333
3 gpu ab:00.0 GPU-13333333'
is '... which is said' "$(notices | grep -c ': 2 GPUs may not be opened by this job')" 1
job 2 --ids index
is '... --ids index counts as CUDA does there' "$said" '0 gpu 9a:00.0 0
1 gpu ab:00.0 1'
CUDA_VISIBLE_DEVICES=1
export CUDA_VISIBLE_DEVICES
job 2
is '... and so do numbers in CUDA_VISIBLE_DEVICES' "$said" '0 gpu ab:00.0 GPU-13333333
1 gpu ab:00.0 GPU-13333333'
unset CUDA_VISIBLE_DEVICES
run "$tmp/gpubind-here" --list
is '... --list shows these' "$(grep -c '^ *[0-9] *0000:' "$tmp/out")" 2
rm -r "$tmp/sim/proc/driver/nvidia/gpus"
job 2
is 'without the folder of the driver, NVML tells which there are' "$said" '0 gpu 9a:00.0 GPU-12222222
1 gpu ab:00.0 GPU-13333333'
# ---- a machine that has just started, without persistence mode: NVML alone tells UUIDs

driver <<'GPUS'
0000:17:00.0 GPU-10000000-5ca1-ab1e-cafe-000000000000 0
0000:2a:00.0 GPU-11111111-5ca1-ab1e-cafe-000000000001 1
0000:9a:00.0 GPU-12222222-5ca1-ab1e-cafe-000000000002 2
0000:ab:00.0 GPU-13333333-5ca1-ab1e-cafe-000000000003 3
GPUS
sed -i 's/GPU-[-0-9a-f]*/GPU-????????-????-????-????-????????????/' "$tmp"/sim/proc/driver/nvidia/gpus/*/information
CUDA_VISIBLE_DEVICES=GPU-12222222-5ca1-ab1e-cafe-000000000002
export CUDA_VISIBLE_DEVICES
job 1
is 'a UUID that NVML tells' "$said" '0 gpu 9a:00.0 GPU-12222222'
rm "$tmp/sim/gpus"
job 1
refused 'a UUID that nobody tells' "CUDA_VISIBLE_DEVICES: 'GPU-12222222-[-0-9a-f]*' may be a GPU whose UUID cannot be read\$"
CUDA_VISIBLE_DEVICES=2
job 1
is '... numbers do without' "$said" '0 gpu 9a:00.0 2'
unset CUDA_VISIBLE_DEVICES
# ---- a wrapper that rotates the list

# rotated FIRST SECOND: local rank 0 has the one list, rank 1 the other.
rotated() {
    # shellcheck disable=SC2016 # the ranks expand it
    run mpi 2 sh -c 'case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) list=$1 ;; *) list=$2 ;; esac
        CUDA_VISIBLE_DEVICES=$list exec "$0" sh -c "$3"' "$tmp/gpubind-here" "$1" "$2" "$says"
    said=$(sed -E 's/(GPU-[0-9a-f]+)[-0-9a-f]*/\1/g' "$tmp/out" | sort -n)
}
rotated 2,3 3,2
is 'lists of the same GPUs with other first ones were chosen: kept, and the first one used' "$said" '0 gpu 9a:00.0 2,3
1 gpu ab:00.0 3,2'
is '... which is said' "$(notices | grep -c 'chosen rank by rank before gpubind ran; kept')" 1
rotated 2,3,1 2,1,3
is '... with the same first one they narrow the choice' "$(echo "$said" | cut -d' ' -f3 | xargs)" '2a:00.0 9a:00.0'
# ---- a list that CUDA refuses

CUDA_VISIBLE_DEVICES=3,3
export CUDA_VISIBLE_DEVICES
job 1
is 'a GPU named twice: none, as CUDA has it' "$(echo $said)" '0 idle'
is '... and why' "$(notices | grep -c "'3' names a GPU for the second time")" 1
unset CUDA_VISIBLE_DEVICES
# ---- a launcher that gives each group of ranks the GPUs of a socket

# grouped N OPTION...: the first half of N ranks has 0,1, the other half 2,3.
grouped() {
    ranks=$1
    shift
    # shellcheck disable=SC2016 # the ranks expand it
    run mpi "$ranks" sh -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} half=$1
        shift
        CUDA_VISIBLE_DEVICES=$([ "$rank" -lt "$half" ] && echo 0,1 || echo 2,3) exec "$@"' \
        sh $((ranks / 2)) "$tmp/gpubind-here" "$@" sh -c "$says"
    said=$(sed -E 's/(GPU-[0-9a-f]+)[-0-9a-f]*/\1/g' "$tmp/out" | sort -n)
}
grouped 4 --ids index
is 'groups of ranks with the same GPUs: each rank has its own' "$said" '0 gpu 17:00.0 0
1 gpu 2a:00.0 1
2 gpu 9a:00.0 2
3 gpu ab:00.0 3'
is '... which is said' "$(notices | grep -c '4 ranks were given lists of several GPUs in common: each has 1 of its list')" 1
grouped 6 --ids index
is '... more ranks share them evenly' "$(echo "$said" | cut -d' ' -f4 | xargs)" '0 0 1 2 2 3'
grouped 6 --ids index --overflow idle
is '... or those that find none left are idle' "$(echo "$said" | cut -d' ' -f2,4 | xargs)" 'gpu 0 gpu 1 idle gpu 2 gpu 3 idle'
is '... which is said' "$(notices | grep -c '2 of these are idle: their lists have too few GPUs')" 1
grouped 6 --ids index --ranks-per-gpu 1
is '... also by --ranks-per-gpu' "$(echo "$said" | cut -d' ' -f2,4 | xargs)" 'gpu 0 gpu 1 idle gpu 2 gpu 3 idle'
grouped 6 --ids index --ranks-per-gpu 2
is '... as many as that allows share' "$(echo "$said" | cut -d' ' -f4 | xargs)" '0 0 1 2 2 3'
grouped 6 --ids index --overflow error
is '... or it is an error' "$status $(grep -c '3 ranks want a GPU of the list that they were given, which has room for 2' "$tmp/err")" '125 1'
grouped 4 --ids index --gpus-per-rank 2
is '... or have as many as were asked for' "$(echo "$said" | cut -d' ' -f4 | xargs)" '0,1 0,1 2,3 2,3'
grouped 4 --ids index --master 0
is '... masters need none' "$(echo "$said" | cut -d' ' -f2,4 | xargs)" 'master gpu 0,1 gpu 2 gpu 3'
nothing_left 'nothing is left behind'
done_testing
