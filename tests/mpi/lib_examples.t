#!/bin/sh
# The examples do what they say, on the simulated driver and on GPUs (GPUBIND_TEST_GPU), and show
# every call of the library.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
examples=$top_builddir/examples
[ -x "$examples/neighbors" ] || skip_all 'configured without MPI'
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI

# shows N EXAMPLE PATTERN: it ends well and prints a line that fits.
shows() {
    run mpi "$1" "$examples/$2"
    check "$driver: $2, $1 ranks" sh -c 'test "$0" = 0 && grep -qxE "$1" "$2"' "$status" "$3" "$tmp/out"
    [ "$status" = 0 ] || diag "status $status: $(cat "$tmp/out" "$tmp/err")"
}

plate='[0-9]+ ranks, [0-9]+ x 256 elements, 50 steps: the largest error is 0'
each_of_them() {
    for ranks in 1 2 5; do
        shows $ranks legacy_before "$plate"
        shows $ranks legacy_after "$plate"
    done
    check 'the plates are as large' grep -q '^5 ranks, 80 x ' "$tmp/out"
    shows 4 any_source '0 numbers are wrong'
    is '... and says what came' \
        "$(grep -c '^from rank [123]: [0-9]* numbers, [0-9]* bytes of GPU memory$' "$tmp/out")" 9
    shows 4 neighbors 'rank 0: north 3, south 1, received 3'
    is '... of all ranks' "$(grep -c '^rank [0-3]: north [0-3], south [0-3], received' "$tmp/out")" 4
    is '... and the matrix' "$(grep -v '^rank [0-3]:' "$tmp/out" | grep -A 2 '^rank  *0 ')" \
    "rank    0    1    2    3
   0  yes  yes  yes  yes
   1  yes  yes  yes  yes"
    for ranks in 1 2 5 6; do
        shows $ranks halo "$ranks ranks as [0-9] x [0-9]: 0 numbers are wrong"
    done
    shows 2 as_in_mpi '2 ranks: 0 numbers are wrong'
    shows 5 as_in_mpi '5 ranks: 0 numbers are wrong'
    for ranks in 1 2 5; do
        shows $ranks gpu_aware "$ranks ranks: 0 results are wrong"
    done
    shows 2 overlap '2 ranks: 0 numbers are wrong'
    shows 5 overlap '5 ranks: 0 numbers are wrong'
    shows 2 on_stream '2 ranks: 0 numbers are wrong'
    shows 5 on_stream '5 ranks: 0 numbers are wrong'
    for ranks in 1 2 3; do
        shows $ranks persistent "$ranks ranks: 0 numbers are wrong"
        is '... in a stream, too' "$(cat "$tmp/err")" ''
    done
    for ranks in 1 2 5; do
        shows $ranks window "$ranks ranks: 0 numbers are wrong"
        is '... by their GPUs' "$(grep -c "^$ranks of them" "$tmp/out")" 1
    done
    export GPUBIND_PATH=network
    for ranks in 2 3; do
        shows $ranks window "$ranks ranks: 0 numbers are wrong"
        is '... by the library' "$(grep -c '^0 of them' "$tmp/out")" 1
    done
    unset GPUBIND_PATH
}
# lib.sh unset it; what this shell was started with is still there.
asked() { tr '\0' '\n' <"/proc/$$/environ" | sed -n "s/^$1=//p"; }
real_gpu=$(asked GPUBIND_TEST_GPU)
quick=$(asked GPUBIND_TEST_QUICK)
libraries=${LD_LIBRARY_PATH-}
if [ "$real_gpu" != only ]; then
    driver=simulated
    export LD_LIBRARY_PATH="$tmp/cuda${libraries:+:$libraries}"
    each_of_them
    if [ -z "$quick" ]; then # as strict about calls that wait as a GPU's driver
        driver='simulated, locks'
        export GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_LOCKS=1
        each_of_them
        unset GPUBIND_SIM_KERNELS GPUBIND_SIM_LOCKS
    fi
    LD_LIBRARY_PATH=$libraries
fi
if [ -n "$real_gpu" ]; then
    driver=GPUs
    each_of_them
fi

# What gpubind.h promises is seen in some example.
calls=$(grep -oE '\b(gpubind_|MPI_GPU)[A-Za-z_]*\(' "$top_srcdir/src/mpi/gpubind.h" |
    tr -d '(' | sort -u)
for call in $calls; do
    check "an example shows $call" grep -q "\b$call(" "$top_srcdir"/examples/*.c \
        "$top_srcdir"/examples/jacobi/*.c
done
check 'there are calls to show' test -n "$calls"
nothing_left 'nothing is left behind'
done_testing
