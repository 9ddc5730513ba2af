#!/bin/sh
# eth-cscs/SpFFT: C++, MPI_Alltoall, v and w: its own tests of GPU memory, and its benchmark, which stages by itself
# when it is built without SPFFT_GPU_DIRECT. Wants FFTW, GoogleTest, CLI11 and JSON for Modern C++ (Debian:
# libfftw3-dev, libgtest-dev, libcli11-dev, nlohmann-json3-dev), of the system or of CMAKE_PREFIX_PATH.
. "${0%/*}/apps.sh"

# build FOLDER ON|OFF TARGET...
build() {
    compile cmake "-B$1" -H. -DSPFFT_GPU_BACKEND=CUDA "-DSPFFT_GPU_DIRECT=$2" -DSPFFT_BUILD_TESTS=ON \
        -DSPFFT_BUNDLED_LIBS=OFF -DCMAKE_CUDA_COMPILER=nvcc "-DCMAKE_CUDA_ARCHITECTURES=$arch"
    folder=$1
    shift 2
    compile cmake --build "$folder" -j "$jobs" --target "$@"
}
build aware ON run_mpi_tests benchmark
build staged OFF benchmark
is_right() {
    grep -q '^\[  PASSED  \] [1-9]\|uffered  *1 ' "$1" && ! grep -q '^\[  FAILED  \]' "$1"
}
# Left out is what fails with any MPI, see docs/applications.md.
tests='*/*GPUSize1*x11x100:TransposeGPUTest.*-*.BackwardAllOneRankPerSide/UnbufferedGPU*'
for n in $ranks; do
    app=spfft_tests
    timed "$n" aware 's/^\[=*\] \([0-9]* tests\) .* ran\. (\([0-9]* ms\) total)$/\1, \2/p' aware/tests/run_mpi_tests \
        --gtest_color=no "--gtest_filter=$tests"
    for exchange in buffered compact unbuffered; do
        app=spfft_$exchange
        for way in aware staged; do
            timed "$n" $way 's/.*uffered  *1  *\([0-9.]* [a-z]*\) .*/\1 for 50 back and forth/p' \
                "$way/tests/benchmark" -d 256 256 256 -r 50 -o /dev/null -e "$exchange" -p gpu-gpu
        done
    done
done
exit $failed
