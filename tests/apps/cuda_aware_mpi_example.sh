#!/bin/sh
# cuda-aware-mpi-example of NVIDIA-developer-blog/code-samples: C, MPI_Sendrecv and MPI_Reduce; the folder
# posts/cuda-aware-mpi-example. It has a second program, which stages by itself.
. "${0%/*}/apps.sh"

headers=$(mpicc -show | tr ' ' '\n' | grep '^-I' | tr '\n' ' ') # nvcc reads mpi.h, too
compile make -C src "CUDA_INSTALL_PATH=$cuda" "GENCODE_FLAGS=-arch=sm_$arch" "MPICFLAGS=$headers"
# Both stop after as many steps, with the same residue.
is_right() {
    grep -q '^Stopped after 1000 iterations' "$1" || return 1
    sed -n 's/^Stopped after/&/p' "$1" >"$out/stopped"
    [ -e "$out/first" ] || cp "$out/stopped" "$out/first"
    cmp -s "$out/first" "$out/stopped"
}
for n in $ranks; do
    rm -f "$out/first"
    for way in aware staged; do
        program=jacobi_cuda_aware_mpi
        [ $way = aware ] || program=jacobi_cuda_normal_mpi
        timed "$n" $way 's/^Total Jacobi run time: \([0-9.]* s\)ec.*/\1/p' "bin/$program" -t "$n" 1 -d 8192 8192
    done
done
exit $failed
