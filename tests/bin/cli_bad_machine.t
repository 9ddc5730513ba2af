#!/bin/sh
# A machine on which little works, and one whose GPUs are not all ours.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
nogpu=$top_srcdir/tests/machines/nogpu-2p8c.xml

# GPUs that are there on this machine, as far as gpubind can tell.
pretend() { HWLOC_XMLFILE=$demo HWLOC_THISSYSTEM=1 bounded "$@"; }

# seen VALUE GPUS NOTICES: with CUDA_VISIBLE_DEVICES=VALUE there are GPUS of them.
seen() {
    run pretend env "CUDA_VISIBLE_DEVICES=$1" gpubind --visible first \
        sh -c 'echo $GPUBIND_ROLE $CUDA_VISIBLE_DEVICES'
    is "CUDA_VISIBLE_DEVICES='$1'" "$status $(sed 's/GPU-1\(.\)[^,]*/\1/g' "$tmp/out")" "0 $2"
    check "... is spoken of once" test \
        "$(grep -c '^gpubind: .*CUDA_VISIBLE_DEVICES.* leaves' "$tmp/err")" = "$3"
}
seen 0,1,2,3 'gpu 0,1,2,3' 0
seen 2 'gpu 2' 1
seen 0,3 'gpu 0,3' 1
seen 3,1 'gpu 1,3' 1
seen '1, 2' 'gpu 1,2' 1
seen 1,9,2 'gpu 1' 1
seen 1,-1,2 'gpu 1' 1
seen 1,,2 'gpu 1' 1
seen 1,x 'gpu 1' 1
seen -1 idle 1
seen '' idle 1
seen 9 idle 1
seen NoDevFiles idle 1
seen GPU-1333 'gpu 3' 1
seen GPU-1333,GPU-10000000-5CA1 'gpu 0,3' 1
seen gpu-1333 idle 1
seen 0,GPU-1333 'gpu 0' 1
seen GPU-1333,0 'gpu 3' 1
seen '1x, 2 3' 'gpu 1,2' 1
seen 1,2,1 idle 1
seen GPU-1 idle 1
seen MIG-1 idle 1
seen 99999999999999999999 idle 1
long=$(head -c 5000 /dev/zero | tr '\0' 1)
run pretend env "CUDA_VISIBLE_DEVICES=$long" gpubind echo ran
is 'CUDA_VISIBLE_DEVICES of 5000 characters names no GPU, and is said in few' \
    "$status $(cat "$tmp/out") $(awk 'length > 1000' "$tmp/err" | wc -l)" '0 ran 0'
long=$(head -c 60000 /dev/zero | tr '\0' 1)
run pretend env "CUDA_VISIBLE_DEVICES=$long" gpubind echo ran
refused 'CUDA_VISIBLE_DEVICES of 60000 characters' 'CUDA_VISIBLE_DEVICES is too long'
run pretend env CUDA_VISIBLE_DEVICES=1 gpubind --map 2 echo ran
refused 'a map of GPUs that are hidden' "'2'"
run pretend env CUDA_VISIBLE_DEVICES= gpubind --require-gpu echo ran
refused '--require-gpu with all GPUs hidden' 'no usable GPU'
run bounded gpubind --topology "$nogpu" --require-gpu echo ran
refused '--require-gpu without GPU' 'no usable GPU'
run bounded gpubind --topology "$nogpu" sh -c 'echo $GPUBIND_ROLE'
is 'a node without GPU: idle, and said once' \
    "$status $(cat "$tmp/out") $(grep -c ^gpubind: "$tmp/err")" '0 idle 1'

# More ranks than cores.
cpu=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)
if [ -n "$MPIRUN" ]; then
    run mpi 3 taskset -c "$cpu" gpubind sh -c 'grep -o "Cpus_allowed_list.*" /proc/self/status'
    is 'three ranks on one core: they run there' \
        "$status $(tr -s '\t' ' ' < "$tmp/out" | sort -u)" "0 Cpus_allowed_list: $cpu"
    is 'and it is said once' "$(grep -c '^gpubind: .*core' "$tmp/err")" 1
else
    skip 'three ranks on one core' 'no mpirun'
fi
run bounded gpubind --plan --topology "$demo" --ranks 8 --cpuset 0-2
is 'a plan of 8 ranks for 3 cores says so once' \
    "$status $(grep -c '^gpubind: .*core' "$tmp/err")" '0 1'

# No folder of one's own, nobody to talk to.
run bounded env -u HOME gpubind --topology "$demo" echo ran
is 'no HOME' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
run bounded env -u HOME OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 \
    OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 \
    OMPI_MCA_orte_bound_at_launch=1 gpubind --topology "$demo" echo ran
is 'no HOME to look for a parameter file in' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
run bounded env TMPDIR=/no/such/folder gpubind --topology "$demo" echo ran
is 'no TMPDIR' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
run bounded env -i "$(command -v gpubind)" --topology "$demo" /bin/echo ran
is 'no environment at all' "$status$(cat "$tmp/out" "$tmp/err")" 0ran
run sh -c 'bounded() { timeout 60 "$@"; }; bounded gpubind --report --topology "$0" echo ran 2>&-' "$demo"
is 'closed stderr' "$status$(cat "$tmp/out")" 0ran
run sh -c 'timeout 60 gpubind --report --topology "$0" echo ran 2>/dev/full' "$demo"
is 'full stderr' "$status$(cat "$tmp/out")" 0ran
for action in '--plan' '--help' '--version'; do
    run sh -c "timeout 60 gpubind $action --topology '$demo' >/dev/full"
    refused "$action to a full disk" 'No space left\|write'
    run sh -c "timeout 60 gpubind $action --topology '$demo' >&-"
    refused "$action to nowhere" 'Bad file\|write'
done

# File systems that are not there.
if [ "$(id -u)" = 0 ] && unshare --mount mount -t tmpfs none /mnt 2>/dev/null; then
    for missing in /sys /proc '/proc /sys' /dev /run; do
        run bounded unshare --mount sh -c 'for folder in $1; do mount -t tmpfs none "$folder"; done
            exec gpubind --report echo ran' - "$missing"
        is "without $missing: it goes on" "$status$(cat "$tmp/out")" 0ran
        check 'and its table is there' grep -q '^node ' "$tmp/err"
    done
    run bounded unshare --mount sh -c 'mount -t tmpfs none /proc; mount -t tmpfs none /sys
        exec gpubind --topology "$0" sh -c "echo \$GPUBIND_ROLE"' "$demo"
    is 'a recorded machine needs neither /proc nor /sys' "$status$(cat "$tmp/out" "$tmp/err" | grep -v '^==')" 0gpu # a sanitizer would like /proc
else
    skip 'file systems that are not there' 'no right to mount (needs root)'
fi
nothing_left 'nothing is left behind'
done_testing
