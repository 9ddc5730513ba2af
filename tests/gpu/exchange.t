#!/bin/sh
# Exchanges between two processes: tests/exchange/exchange on the simulated driver, and
# on GPUs where GPUBIND_TEST_GPU=1 says that there are some.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
real_gpu=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_GPU=//p')

# exchange NAME ROUNDS [VARIABLE=VALUE...]
exchange() {
    name=$1 rounds=$2
    shift 2
    limit=110 run bounded env "$@" "$top_builddir/tests/exchange/exchange" "$rounds"
    while IFS= read -r line; do
        case $line in
        'ok '*) ok "$name: ${line#* - }" ;;
        'not ok '*) not_ok "$name: ${line#* - }" ;;
        '#'*) echo "$line" ;;
        esac
    done <"$tmp/out"
    case $status,$(sed -n '$p' "$tmp/out") in
    0,1..* | 1,1..*) ;;
    *) not_ok "$name: comes to its end" ;;
    esac
}

simulated() {
    name=$1 rounds=$2
    shift 2
    exchange "$name" "$rounds" "GPUBIND_SIM_JOB=${tmp##*.}" \
        "LD_LIBRARY_PATH=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}

simulated 'memory operations' 100
simulated 'memory operations, flushed' 20 GPUBIND_SIM_FLUSH=1
simulated 'memory operations, slow' 30 GPUBIND_SIM_LATENCY=30
simulated 'kernels' 100 GPUBIND_SIM_KERNELS=1 TEST_KERNEL=1
simulated 'kernels, slow' 30 GPUBIND_SIM_KERNELS=1 TEST_KERNEL=1 GPUBIND_SIM_LATENCY=30
simulated 'one device' 20 GPUBIND_SIM_DEVICES=1
if [ -n "$real_gpu" ]; then
    exchange 'GPU' 100
else
    skip 'GPU' 'GPUBIND_TEST_GPU is not set'
fi

done_testing
