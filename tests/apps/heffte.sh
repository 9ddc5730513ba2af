#!/bin/sh
# icl-utk-edu/heffte: C++, MPI_Alltoall and v, MPI_Isend, MPI_Send, MPI_Irecv and MPI_Waitany: its own tests, and its
# benchmark, which compares with its input after transforms back and forth; with -no-gpu-aware it stages by itself.
. "${0%/*}/apps.sh"

targets=speed3d_c2c
for n in $ranks; do # one program for each number of ranks
    [ ! -e "$out/source/test/test_fft3d_np$n.cpp" ] || targets="$targets test_fft3d_np$n"
done
compile cmake -Bbuild -H. -DCMAKE_BUILD_TYPE=Release -DHeffte_ENABLE_CUDA=ON -DCMAKE_CUDA_COMPILER=nvcc \
    "-DCMAKE_CUDA_ARCHITECTURES=$arch"
# shellcheck disable=SC2086 # words
compile cmake --build build -j "$jobs" --target $targets test_fft3d_r2c
is_right() {
    grep -q '^ *heffte::.* pass$\|^Max error:' "$1" && ! grep -q ' fail *$\|^ERROR' "$1"
}
for n in $ranks; do
    if [ -x "$out/source/build/test/test_fft3d_np$n" ]; then
        for test in "test_fft3d_np$n" test_fft3d_r2c; do
            app=$test
            timed "$n" aware 's/^ *\(heffte::.* pass\)$/\1/p' "build/test/$test"
        done
    fi
    for how in a2a a2av p2p p2p_pl; do
        app=heffte_$how
        for way in aware staged; do
            staging=$([ $way = aware ] || echo -no-gpu-aware)
            # shellcheck disable=SC2086 # one word, or none
            timed "$n" $way 's/^Time per run: \([^ ]*\) (s)/\1 s a transform/p' build/benchmarks/speed3d_c2c \
                cufft double 256 256 256 "-$how" -n50 $staging
        done
    done
done
exit $failed
