#!/bin/sh
# UoB-HPC/TeaLeaf: C++, MPI_Isend, MPI_Irecv and MPI_Waitall; it stages as CloverLeaf does.
. "${0%/*}/apps.sh"

compile cmake -Bbuild -H. -DMODEL=cuda -DENABLE_MPI=ON -DCMAKE_CUDA_COMPILER=nvcc "-DCUDA_ARCH=sm_$arch"
compile cmake --build build -j "$jobs"
sed 's/^\([xy]_cells\)=.*/\1=2000/; s/^end_step=.*/end_step=4/' "$out/source/tea.in" >"$out/tea.in"
is_right() {
    grep -q 'Outcome: PASSED' "$1"
}
for n in $ranks; do
    for way in aware staged; do
        staging=$([ $way = aware ] && echo false || echo true)
        timed "$n" $way 's/^ *Wallclock:[^0-9]*\([0-9.]*\)s.*/\1 s/p' build/cuda-tealeaf --staging-buffer "$staging" \
            --file "$out/tea.in"
    done
done
exit $failed
