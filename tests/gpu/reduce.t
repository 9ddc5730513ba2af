#!/bin/sh
# The reduction kernel: tests/gpu/reduce on the simulated driver, and on a GPU where GPUBIND_TEST_GPU=1 says
# that there is one.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
real_gpu=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_GPU=//p')

# reduce NAME [VARIABLE=VALUE...]
reduce() {
    name=$1
    shift
    limit=110 run bounded env "$@" "$top_builddir/tests/gpu/reduce"
    while IFS= read -r line; do
        case $line in
        'ok '*) ok "$name: ${line#* - }" ;;
        'not ok '*) not_ok "$name: ${line#* - }" ;;
        '1..0 # SKIP '*) skip "$name" "${line#*SKIP }" ;;
        '#'*) echo "$line" ;;
        esac
    done <"$tmp/out"
    case $status,$(sed -n '$p' "$tmp/out") in
    0,1..* | 1,1..*) ;;
    *) not_ok "$name: comes to its end" ;;
    esac
}

[ "$real_gpu" = only ] || reduce 'simulated' GPUBIND_SIM_KERNELS=1 "GPUBIND_SIM_JOB=${tmp##*.}" \
    "LD_LIBRARY_PATH=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
if [ -n "$real_gpu" ]; then
    reduce 'GPU'
else
    skip 'GPU' 'GPUBIND_TEST_GPU is not set'
fi
done_testing
