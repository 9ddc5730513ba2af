#!/bin/sh
# gpubind --check, which tells whether a rank sees the GPUs that it was given: on the simulated driver's two.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -z "$SANITIZED" ] || skip_all 'the simulated driver has none of the sanitizers'

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
export "GPUBIND_SIM_JOB=${tmp##*.}" GPUBIND_SIM_DEVICES=2

# checked PCI UUID: what is wrong with a rank whose GPUs these are, or ok.
checked() {
    # shellcheck disable=SC2016 # the rank expands it
    bounded env "LD_LIBRARY_PATH=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" gpubind --quiet sh -c '
        unset CUDA_VISIBLE_DEVICES GPUBIND_VISIBLE_DEVICES GPUBIND_RECORDED
        GPUBIND_ROLE=gpu GPUBIND_GPU_PCI=$1 GPUBIND_GPU_UUID=$2 gpubind --check' - "$1" "$2" |
        sed -n 's/^.*: ok: .*/ok/p; s/^.*: \(does not see .*\)/\1/p'
}
a=0000:0b:00.0 b=0000:1a:00.0
uuid=$(bounded env "LD_LIBRARY_PATH=$tmp/cuda" gpubind --quiet sh -c 'unset CUDA_VISIBLE_DEVICES; gpubind --check' |
    sed -n "s/.*first $a \([0-9a-f-]*\).*/\1/p")
check 'the simulated GPU has a UUID' test -n "$uuid"
is 'by UUID' "$(checked $a "GPU-$uuid")" ok
is 'another UUID' "$(checked $a "GPU-0$uuid")" "does not see its GPU 0 of $a"
is 'by address, as no UUID can be read' "$(checked $a '')" ok
is 'two by address' "$(checked $a,$b ,)" ok
is 'one by UUID and one by address' "$(checked $a,$b "GPU-$uuid,")" ok
is '... the other way round' "$(checked $b,$a ",GPU-$uuid")" ok
is 'another address' "$(checked $a,0000:1b:00.0 ,)" "does not see its GPU 1 of $a,0000:1b:00.0"
done_testing
