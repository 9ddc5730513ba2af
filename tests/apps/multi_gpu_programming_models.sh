#!/bin/sh
# NVIDIA/multi-gpu-programming-models: C++, MPI_Sendrecv. Compares with one GPU, and ends with another status if it
# differs.
. "${0%/*}/apps.sh"

# Open MPI's header says that it is not CUDA-aware, and the compiler would stop there. The CUB of CUDA 13 wants
# C++17.
for version in mpi mpi_overlap; do
    compile make -C "$version" -j "$jobs" SKIP_CUDA_AWARENESS_CHECK=1 "CUDA_HOME=$cuda" \
        "NVCC_FLAGS=-DHAVE_CUB -lineinfo -arch=sm_$arch -std=c++17"
done
is_right() {
    grep -q '^Num GPUs' "$1"
}
for n in $ranks; do
    for version in mpi mpi_overlap; do
        app=$version
        timed "$n" aware 's/.* GPUs: *\([0-9.]* s\), speedup.*/\1/p' "$version/jacobi" -nx 8192 -ny 8192 -niter 2000
    done
done
exit $failed
