#!/bin/sh
# The plugin on this machine's own GPUs: what the CUDA driver shows each rank.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
[ -e /dev/nvidiactl ] || skip_all 'no NVIDIA driver'
case $("$MPIRUN" --version 2>&1) in *'(Open MPI) '[45]*) ;; *) skip_all 'mpirun is not of Open MPI 4 or 5' ;; esac
[ -z "$SANITIZED" ] || skip_all 'daemons without the sanitizers cannot load a plugin with them'
gpus=$(gpubind --quiet --plan | grep -c '^ .* gpu ')
[ "$gpus" -gt 0 ] || skip_all 'no GPU here'

# job N [MPIRUN-OPTION...] COMMAND...
job() {
    n=$1
    shift
    run bounded env PMIX_MCA_mca_base_component_path="$plugin_dir" \
        "$MPIRUN" --oversubscribe --bind-to none -np "$n" "$@"
}

# all_right DESCRIPTION N: each of N ranks said that all is as planned, by the plugin.
all_right() {
    is "$1" "$status $(grep -c ': ok: ' "$tmp/out") $(grep -c 'WRONG' "$tmp/out")" "0 $2 0"
    diag "$(sed -n 1p "$tmp/out")"
}

for n in 1 2 8; do
    job "$n" gpubind --check
    all_right "$n ranks on $gpus GPUs: the driver shows each its own" "$n"
done
job "$gpus" sh -c 'echo "gpu $GPUBIND_GPU_UUID"'
is 'as many ranks as GPUs: all are used' "$(grep '^gpu GPU-' "$tmp/out" | sort -u | wc -l)" "$gpus"
for visible in first ordered all; do
    job 8 -x GPUBIND_VISIBLE=$visible gpubind --check
    all_right "--visible $visible" 8
done
job 4 -x GPUBIND_IDS=index gpubind --check
all_right '--ids index' 4
job 3 -x GPUBIND_MASTER=0 gpubind --check
all_right 'a master, which sees none' 3
job "$gpus" -x GPUBIND_OVERFLOW=idle gpubind --check
all_right '--overflow idle' "$gpus"
job 2 sh -c 'gpubind sh -c "echo \$GPUBIND_PLAN"; echo "$GPUBIND_PLAN"'
is 'gpubind in the rank keeps the plan' "$(sort -u "$tmp/out" | wc -l)" 1
# The launcher's plan for the same ranks, unbound.
job "$gpus" sh -c 'echo "$OMPI_COMM_WORLD_RANK $GPUBIND_GPU_UUID"'
sort "$tmp/out" >"$tmp/plugin"
run mpi "$gpus" --bind-to none gpubind --bind none sh -c 'echo "$OMPI_COMM_WORLD_RANK $GPUBIND_GPU_UUID"'
is 'as the launcher does' "$(cat "$tmp/plugin")" "$(sort "$tmp/out")"
nothing_left 'nothing is left behind'
done_testing
