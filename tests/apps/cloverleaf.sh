#!/bin/sh
# UoB-HPC/CloverLeaf: C++, MPI_Isend, MPI_Irecv and MPI_Waitall. For the reason that multi_gpu_programming_models.sh
# has, it stages by itself unless it is told not to.
. "${0%/*}/apps.sh"

compile cmake -Bbuild -H. -DMODEL=cuda -DENABLE_MPI=ON -DCMAKE_CUDA_COMPILER=nvcc "-DCUDA_ARCH=sm_$arch"
compile cmake --build build -j "$jobs"
is_right() {
    grep -q 'Outcome: PASSED' "$1"
}
for n in $ranks; do
    for way in aware staged; do
        staging=$([ $way = aware ] && echo false || echo true)
        timed "$n" $way 's/^ *Wall clock \([0-9.]*\).*/\1 s/p' build/cuda-cloverleaf --staging-buffer "$staging" \
            --file InputDecks/clover_bm16_short.in
    done
done
exit $failed
