#!/bin/sh
# Strided data: random types in all settings, and failures on their way.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 2 strided
on simulated 2 strided 3000
on kernels 2 strided 3000
on 'no eager' 2 strided
on 'nothing kept' 2 strided
on 'GPU' 2 strided 3000
on 'GPU no eager' 2 strided
on 'small memory' 2 strided

everywhere 2 strided_bursts
everywhere 2 strided_late
for setting in 'slower copies' 'no eager' 'nothing kept' 'small memory' 'slow network' \
    'slow shared' thread threads 'network threads' 'slow network threads' 'GPU no eager' \
    'GPU network threads' 'GPU thread'; do
    on "$setting" 2 strided_bursts 30
    on "$setting" 2 strided_late
done

# The same as in lib_failures.t: an error or the right data, and the next message right.
failing() {
    setting=$1 what=$2
    export GPUBIND_SIM_FAIL="$3"
    shift 3
    start "$setting" 2 "$program" failures "$@" strided
    setting="$setting, $what"
    relay 'failures strided'
    unset GPUBIND_SIM_FAIL
}
some() {
    list=
    for call in cuMemcpyDtoDAsync_v2 cuMemcpyBatchAsync_v2 cuMemcpy2DAsync_v2 cuMemcpy3DAsync_v2 \
        cuLaunchKernel cuMemcpyAsync; do
        for fault in 3=700 8=719 9=719 17=2 30=700; do
            list=${list:+$list,}$call:$fault$1
        done
    done
    echo "$list"
}
for each in simulated kernels 'no peers' 'network path'; do
    failing "$each" 'copies fail' "$(some '')" some
    failing "$each" 'copies fail later' "$(some late)" some
done
for each in simulated kernels; do
    for fault in cuMemAlloc_v2:3=2 cuMemAlloc_v2:3+=2 cuEventQuery:1+=999 cuEventCreate:1+=999 \
        cuMemcpyHtoDAsync_v2:3+=999 cuModuleGetFunction:2+=500; do
        failing "$each" "$fault" "$fault"
    done
done
done_testing
