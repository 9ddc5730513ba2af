#!/bin/sh
# Slurm that lets a task open its own GPUs alone (ConstrainDevices): CUDA counts from 0 those that may be opened,
# so CUDA_VISIBLE_DEVICES=0,1 is another pair in each job. On a pretended driver, whose files are devices.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$top_srcdir/tests/slurm.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT
sim=$top_builddir/tests/nvml/.libs/libnvmlsim.so
[ -r "$sim" ] || skip_all 'no pretended driver: not built here'

# The demo machine's four GPUs, in the order of their files; those of numbers that no driver has.
mkdir -p "$tmp/sim/dev" "$tmp/lib"
ln -s "$sim" "$tmp/lib/libnvidia-ml.so.1"
: >"$tmp/sim/dev/nvidiactl"
cat >"$tmp/sim/gpus" <<'GPUS'
0000:17:00.0 GPU-10000000-5ca1-ab1e-cafe-000000000000 0
0000:2a:00.0 GPU-11111111-5ca1-ab1e-cafe-000000000001 1
0000:9a:00.0 GPU-12222222-5ca1-ab1e-cafe-000000000002 2
0000:ab:00.0 GPU-13333333-5ca1-ab1e-cafe-000000000003 3
GPUS
while read -r pci uuid minor; do
    mkdir -p "$tmp/sim/proc/driver/nvidia/gpus/$pci"
    printf 'Model: \t\t Fake\nGPU UUID: \t %s\nDevice Minor: \t %s\n' "$uuid" "$minor" \
        >"$tmp/sim/proc/driver/nvidia/gpus/$pci/information"
    mknod -m 666 "$tmp/sim/dev/nvidia$minor" c 240 "$minor" 2>/dev/null || skip_all 'no right to make device files'
done <"$tmp/sim/gpus"
# Nodes have no environment of the test's.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
cat >"$tmp/gpubind-here" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$tmp/lib" GPUBIND_SIM_NVML="$tmp/sim" ASAN_OPTIONS="$ASAN_OPTIONS"
export HWLOC_XMLFILE="$top_srcdir/tests/machines/demo-2p4g.xml" HWLOC_THISSYSTEM=1
LD_PRELOAD="$sim" exec "$gpubind" --bind none "\$@"
END
chmod +x "$tmp/gpubind-here"
slurm_start nodes=1 cpus=8 gres=4 devices="$tmp/sim/dev" || skip_all "$launch_why"

# shellcheck disable=SC2016 # the ranks expand it
says='echo "$SLURM_PROCID $GPUBIND_ROLE ${GPUBIND_GPU_PCI#0000:}"'
may='for minor in 0 1 2 3; do [ ! -r "$0/nvidia$minor" ] || printf "%s " $minor; done'
got() { sort "$tmp/out" | tr '\n' ';'; }

run slurm_run -n 1 --gres=gpu:2 sh -c "$may" "$tmp/sim/dev"
is 'Slurm keeps a task from the other GPUs' "$status $(cat "$tmp/out")" '0 0 1 '
run slurm_run -n 4 --gres=gpu:4 "$tmp/gpubind-here" sh -c "$says"
is 'all GPUs: one each' "$status $(got)" '0 0 gpu 17:00.0;1 gpu 2a:00.0;2 gpu 9a:00.0;3 gpu ab:00.0;'
run slurm_run -n 2 --gres=gpu:2 "$tmp/gpubind-here" sh -c "$says"
is 'two of four, two ranks' "$status $(got)" '0 0 gpu 17:00.0;1 gpu 2a:00.0;'
is '... which is said' "$(cat "$tmp/err")" 'gpubind: n0: 2 GPUs may not be opened by this job'
mkdir "$tmp/steps"
# shellcheck disable=SC2016 # of the inner shell
run slurm_job salloc -n 4 --gres=gpu:4 sh -c '
    srun --exact -n 2 --gres=gpu:2 "$0" sh -c "$1" &
    sleep 0.5
    srun --exact -n 2 --gres=gpu:2 "$0" sh -c "$1 \$CUDA_VISIBLE_DEVICES"; wait' "$tmp/gpubind-here" \
    "$(both_steps "$tmp/steps"); $says"
is 'two steps at once, each with its own' "$(cut -d' ' -f2-3 "$tmp/out" | sort | xargs)" \
    'gpu 17:00.0 gpu 2a:00.0 gpu 9a:00.0 gpu ab:00.0'
run slurm_run -n 2 --gres=gpu:2 "$tmp/gpubind-here" --report true
is '--report counts what the job has' "$(grep -c '^node n0: 2 ranks, 2 GPUs' "$tmp/err")" 1
for option in '--gpus-per-task=1' '--gres=gpu:2 --gpu-bind=single:1'; do
    # shellcheck disable=SC2086 # words
    run slurm_run -n 2 $option "$tmp/gpubind-here" sh -c "$says"
    is "$option: each rank has the one that Slurm gave it" "$status $(got)" '0 0 gpu 17:00.0;1 gpu 2a:00.0;'
done

# The first card has two MIG instances.
mkdir -p "$tmp/sim/proc/driver/nvidia/capabilities/gpu0/mig/gi1" "$tmp/sim/proc/driver/nvidia/capabilities/gpu0/mig/gi2"
sed -i -e '1s/$/ mig/' -e '1a MIG-a0000000-0000-5000-8000-000000000000' -e '1a MIG-a1111111-0000-5000-8000-000000000000' \
    "$tmp/sim/gpus"
# shellcheck disable=SC2016 # the ranks expand it
uuid='echo "$SLURM_PROCID ${CUDA_VISIBLE_DEVICES%%-0000-*}"'
run slurm_run -n 2 --gres=gpu:1 "$tmp/gpubind-here" sh -c "$uuid"
is 'MIG: two ranks on a card, an instance each' "$status $(got)" '0 0 MIG-a0000000;1 MIG-a1111111;'
run slurm_run -n 3 --gres=gpu:2 "$tmp/gpubind-here" sh -c "$uuid"
is '... beside a whole card' "$status $(got)" \
    '0 0 MIG-a0000000;1 MIG-a1111111;2 GPU-11111111-5ca1-ab1e-cafe-000000000001;'
slurm_stop
slurm_tried
is 'no cgroup is left' "$(find /sys/fs/cgroup/devices -maxdepth 1 -name 'slurm*')" ''
nothing_left 'nothing is left behind'
done_testing
