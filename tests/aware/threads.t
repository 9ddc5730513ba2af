#!/bin/sh
# Several threads with GPU memory in plain MPI functions.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/threads
[ -x "$program" ] || skip_all 'configured without MPI'
for setting in simulated GPU; do
    on "$setting" 2 threads
    on "$setting" 2 reductions
    on "$setting" 2 looks
    on "$setting" 2 locked
done
# A GPU and a NCCL for each rank, whose reductions of a rank come one after the other.
if is_wanted simulated && [ -z "$SANITIZED" ] && [ -n "${MPICC-}" ]; then
    check 'the fake NCCL compiles' \
        "$MPICC" -shared -fPIC -o "$tmp/cuda/libnccl.so.2" "$top_srcdir/tests/bench/nccl.c"
    cat >"$tmp/a_gpu_each" <<SCRIPT
#!/bin/sh
CUDA_VISIBLE_DEVICES=\${OMPI_COMM_WORLD_LOCAL_RANK:-\$PMI_RANK} exec "$program" "\$@"
SCRIPT
    chmod +x "$tmp/a_gpu_each"
    program=$tmp/a_gpu_each
    export GPUBIND_COLLECTIVES=nccl GPUBIND_SIM_DEVICES=3 GPUBIND_VERBOSE=1
    on simulated 3 reductions
    is 'reductions are by NCCL' "$(grep -c ' collective calls went as direct messages, [1-9][0-9]* by NCCL$' "$tmp/err")" 3
fi
nothing_left 'nothing is left behind'
done_testing
