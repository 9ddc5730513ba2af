#!/bin/sh
# What the plugin takes for the GPUs of a job, on a pretended driver: Slurm's numbers of them, and UUIDs that cannot
# be read.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
sim=$top_builddir/tests/nvml/.libs/libnvmlsim.so
[ -r "$sim" ] || skip_all 'no pretended driver: not built here'
TMPDIR=$tmp # the server's own files
export TMPDIR
# What libpmix leaks is not ours to report; the sanitizer wants to be first where a library is preloaded.
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0
machine=$tmp/machine.xml
sed '/NVIDIAUUID/d' "$machines/demo-2p4g.xml" >"$machine"

# driver MINOR...: that machine's GPUs, whose device files are not in PCI order; those of these numbers may be opened.
driver() {
    rm -rf "$tmp/sim"
    mkdir -p "$tmp/sim/dev"
    : >"$tmp/sim/dev/nvidiactl"
    for minor in "$@"; do : >"$tmp/sim/dev/nvidia$minor"; done
    while read -r pci uuid minor; do
        mkdir -p "$tmp/sim/proc/driver/nvidia/gpus/$pci"
        printf 'GPU UUID: \t %s\nDevice Minor: \t %s\n' "$uuid" "$minor" \
            >"$tmp/sim/proc/driver/nvidia/gpus/$pci/information"
    done <<'GPUS'
0000:17:00.0 GPU-10000000-5ca1-ab1e-cafe-000000000000 1
0000:2a:00.0 GPU-11111111-5ca1-ab1e-cafe-000000000001 3
0000:9a:00.0 GPU-12222222-5ca1-ab1e-cafe-000000000002 2
0000:ab:00.0 GPU-13333333-5ca1-ab1e-cafe-000000000003 0
GPUS
}
# As on a machine that has just started, without persistence mode.
forget_uuids() { sed -i 's/GPU-[-0-9a-f]*/GPU-????????-????-????-????-????????????/' "$tmp"/sim/proc/driver/nvidia/gpus/*/information; }

# serve SERVER [NAME=VALUE...]: the script on stdin. The plugin takes a server of the name slurmstepd for Slurm's.
ln -s "$top_builddir/tests/plugin/server" "$tmp/slurmstepd"
ln -s "$top_builddir/tests/plugin/server" "$tmp/daemon"
serve() {
    server=$1
    shift
    status=0
    plugged env LD_PRELOAD="$sim" GPUBIND_SIM_NVML="$tmp/sim" "$@" "$tmp/$server" - >"$tmp/out" 2>"$tmp/err" || status=$?
}
# What each rank was given: "NUMBER ADDRESS VISIBLE OUTER", UUIDs to their second dash.
gave() {
    for rank in 0 1 2 3; do
        grep -q "^job $rank: GPUBIND_ROLE" "$tmp/out" || continue
        echo "$rank $(sed -n "s/^job $rank: GPUBIND_GPU_PCI=0000://p" "$tmp/out")" \
            "$(sed -n "s/^job $rank: CUDA_VISIBLE_DEVICES=//p" "$tmp/out")" \
            "$(sed -n "s/^job $rank: GPUBIND_OUTER_VISIBLE_DEVICES=//p" "$tmp/out")"
    done | sed -E 's/(GPU-[0-9a-f]+)[-0-9a-f]*/\1/g'
}

# ---- Slurm: the step's GPUs by the numbers of their device files

step() {
    serve slurmstepd SLURM_CONF=/nowhere GPUBIND_RELAY=1 GPUBIND_RELAY_GPUS="$1" <<'S'
nspace job size=1 like=slurm
fork job 0 child
S
}
two='0 2a:00.0 GPU-11111111 GPU-11111111,GPU-12222222'
driver 0 1 2 3
step 2,3
is 'Slurm: numbers are those of device files' "$status
$(gave)" "0
$two"
driver 2 3
step 2,3
is '... also where a device cgroup hides the others' "$(gave)" "$two"
forget_uuids
step 2,3
is '... without UUIDs the values count what may be opened' "$(gave)" '0 2a:00.0 0 0,1'
driver 0 1 2 3
forget_uuids
step 0,1
is '... which is all, where nothing hides GPUs' "$(gave)" '0 17:00.0 0 0,3'
driver 0 1
step 2,3
is '... numbers of no GPU that may be opened: the ranks are left alone' "$status $(gave)" '0 '
# ---- UUIDs, and a driver that does not tell them yet

named=GPU-12222222-5ca1-ab1e-cafe-000000000002
driver 0 1 2 3
serve daemon <<S
nspace job size=1
fork job 0 CUDA_VISIBLE_DEVICES=$named
S
is 'a list of UUIDs' "$status $(gave)" '0 0 9a:00.0 GPU-12222222 GPU-12222222'
forget_uuids
for setting in '' GPUBIND_OVERFLOW=idle; do
    serve daemon <<S
nspace job size=2
fork job all CUDA_VISIBLE_DEVICES=$named GPUBIND_REPORT=1 $setting
S
    is "${setting:-no setting}: the ranks keep a list of UUIDs that the driver does not tell" \
        "$status $(grep -c 'ROLE' "$tmp/out") $(sort -u "$tmp/out" | grep -c "^job .: CUDA_VISIBLE_DEVICES=$named\$")" '0 0 2'
    is '... which the report says once' "$(cat "$tmp/err")" \
        "gpubind: the plugin leaves the ranks alone: CUDA_VISIBLE_DEVICES: '$named' may be a GPU whose UUID cannot be read"
done
serve daemon <<S
nspace job size=1
fork job 0 CUDA_VISIBLE_DEVICES=$named
S
is '... and nothing is said without one' "$(cat "$tmp/out" "$tmp/err")" "job 0: CUDA_VISIBLE_DEVICES=$named"
nothing_left 'nothing is left behind'
done_testing
