#!/bin/sh
# NCCL's and NVSHMEM's programs beside gpubind, on this machine's GPUs: in every --visible
# mode each rank uses the GPU that was given to it. By hand, from the build folder:
#     GPUBIND_TEST_GPU=1 sh ../tests/mpi/neighbours_gpu.t
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no MPI'
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI
[ -n "${NVCC-}" ] || NVCC=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
real_gpu=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_GPU=//p')
# Multicast is nothing that these programs need, and not every machine has it.
export NCCL_NVLS_ENABLE=0 NVSHMEM_DISABLE_NVLS=1

# ---- what is there

nccl=$top_builddir/examples/nccl_beside
[ -x "$nccl" ] || nccl=

# found NAME: the last such file where packages and toolkits lie.
found() {
    find /usr /opt "$(dirname "$(dirname "${NVCC:-/usr/bin/nvcc}")")" ${NVSHMEM_HOME:+"$NVSHMEM_HOME"} \
        -name "$1" 2>/dev/null | sort | tail -n 1
}
include=$(dirname "$(found nvshmem.h)")
libraries=$(dirname "$(found libnvshmem_device.a)")
host=$(found 'libnvshmem_host.so*')

# shellcheck disable=SC2046 # words
build_nvshmem() {
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
    architecture=sm_${capability:-90}
    toolkit=$(dirname "$(dirname "$NVCC")")
    "$NVCC" -rdc=true -arch="$architecture" -c -I"$include" \
        $("$MPICC" -show | tr ' ' '\n' | grep '^-I') -o "$tmp/put.o" \
        "$top_srcdir/tests/neighbours/nvshmem_put.cu" &&
        "$NVCC" -arch="$architecture" -dlink -o "$tmp/device.o" "$tmp/put.o" -L"$libraries" -lnvshmem_device &&
        "$MPICC" -o "$tmp/nvshmem_put" "$tmp/put.o" "$tmp/device.o" "$libraries/libnvshmem_device.a" \
            "$host" -Wl,-rpath,"$(dirname "$host")" $(for folder in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
                echo "-L$toolkit/$folder"; done) -lcudadevrt -lcudart_static -lstdc++ -lm -ldl -lrt -lpthread
}
nvshmem=
if [ -z "$NVCC" ]; then
    skip 'an NVSHMEM program is built' 'no nvcc'
elif [ "$include" = . ] || [ "$libraries" = . ] || [ -z "$host" ]; then
    skip 'an NVSHMEM program is built' "no nvshmem.h with libnvshmem_device.a and libnvshmem_host.so"
else
    check 'an NVSHMEM program is built' build_nvshmem
    [ ! -x "$tmp/nvshmem_put" ] || nvshmem=$tmp/nvshmem_put
fi

if [ -z "$real_gpu" ] || [ ! -e /dev/nvidiactl ]; then
    skip 'NCCL and NVSHMEM on GPUs' 'no NVIDIA driver, or GPUBIND_TEST_GPU is not 1'
    done_testing
    exit
fi
gpus=$(gpubind --quiet --plan | grep -c '^ .* gpu ')

# ---- each mode

# right PROGRAM WHAT VISIBLE: as many ranks as GPUs; each says the GPU that gpubind gave it,
# nothing is wrong, no two use the same.
right() {
    # shellcheck disable=SC2016 # of the ranks' shell
    run mpi "$gpus" gpubind --visible "$3" sh -c \
        'echo "given ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $GPUBIND_GPU_PCI" | tr A-F a-f; exec "$0"' "$1"
    is "$2, --visible $3: succeeds" "$status $(grep -c ': 0 [a-z]* are wrong$' "$tmp/out")" "0 $gpus"
    [ "$status" = 0 ] || diag "$(tail -n 20 "$tmp/err")"
    is '... each rank on its own GPU' \
        "$(sed -nE 's/^rank ([0-9]+) of [0-9]+ GPUs, ([0-9A-Fa-f:.]+): .*/\1 \2/p' "$tmp/out" | tr A-F a-f | sort)" \
        "$(sed -n 's/^given //p' "$tmp/out" | sort)"
    is '... all of them' "$(sed -n 's/^given [0-9]* //p' "$tmp/out" | sort -u | wc -l)" "$gpus"
}
for visible in own first ordered all; do
    if [ -n "$nccl" ]; then right "$nccl" NCCL $visible
    else skip "NCCL, --visible $visible" 'no nccl.h when gpubind was configured'; fi
    if [ -n "$nvshmem" ]; then right "$nvshmem" NVSHMEM $visible
    else skip "NVSHMEM, --visible $visible" 'its program was not built'; fi
done
nothing_left 'nothing is left behind'
done_testing
