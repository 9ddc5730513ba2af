#!/bin/sh
# gpubind_device.cuh, on real GPUs. By hand, from the build folder:
#     GPUBIND_TEST_GPU=1 sh ../tests/mpi/windows_gpu.t
# and with compute-sanitizer --target-processes all in front of sh.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

# built FILE FLAG: the kernels, with that flag.
built() {
    code=${NVCC_CODE:--gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75}
    # shellcheck disable=SC2086 # words
    "$NVCC" $code "$2" -fatbin -I"$top_srcdir/src/mpi" -o "$1" "$top_srcdir/tests/mpi/windows_kernels.cu"
}
[ -n "${NVCC-}" ] || NVCC=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)
[ -n "$NVCC" ] || skip_all 'no nvcc'
check 'the header compiles without checks' built "$tmp/fast" -DNDEBUG
check 'the header compiles with checks' built "$tmp/checked" -DGPUBIND_DEBUG

# The example, as its head says, but with this build's library.
library=$top_builddir/src/mpi/.libs
# shellcheck disable=SC2086,SC2046 # words
example() {
    code=${NVCC_CODE:--arch=sm_90}
    "$NVCC" $code -DNDEBUG -c -I"$top_srcdir/src/mpi" \
        $("$MPICC" -show | tr ' ' '\n' | grep '^-I') -o "$tmp/device_put.o" \
        "$top_srcdir/examples/device_put.cu" || return
    toolkit=$(dirname "$(dirname "$NVCC")")
    "$MPICC" $SANITIZED -o "$tmp/device_put" "$tmp/device_put.o" -L"$library" -Wl,-rpath,"$library" \
        -lgpubind $(for folder in lib64 lib targets/x86_64-linux/lib targets/sbsa-linux/lib; do
            echo "-L$toolkit/$folder"; done) -lcudart_static -lstdc++ -ldl -lrt -lpthread
}
check 'the example is built' example
if [ -z "$real_gpu" ]; then
    skip 'the header in kernels' 'no GPU, or GPUBIND_TEST_GPU is not 1'
    done_testing
    exit
fi

for file in fast checked; do
    for ranks in 1 2; do
        on GPU "$ranks" windows_gpu "$tmp/$file"
    done
done

# What leaves a window is said and stops the kernel; the last case does not leave it.
patterns='8 bytes at 993 leave the 1000 bytes of rank 0
8 bytes at 9223372036854775808 leave
target 1 is not from 0 to 0
target -1 is not from 0 to 0
signal 2 is none of the 2 of rank 0
18446744073709551615 bytes at 8 leave'
for case in 0 1 2 3 4 5 6; do
    start GPU 1 "$program" windows_trap "$tmp/checked" $case
    relay windows_trap
    pattern=$(echo "$patterns" | sed -n $((case + 1))p)
    [ -z "$pattern" ] || check "... and says: $pattern" grep -q "^gpubind: rank 0: $pattern" "$tmp/out"
done
for ranks in 1 2; do
    start GPU "$ranks" "$tmp/device_put"
    is "the example, $ranks ranks" "$status $(cat "$tmp/out")" "0 $ranks ranks: 0 sums are wrong"
    diag "$(said)"
done
nothing_left 'nothing is left behind'
done_testing
