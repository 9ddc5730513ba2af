#!/bin/sh
# AMD's and Intel's GPUs under mpirun, on recorded machines: what is in their variables.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

machines=$top_srcdir/tests/machines

# job N OPTION...: what each rank has in $shown, by local rank, in $said.
job() {
    ranks=$1
    shift
    # shellcheck disable=SC2016,SC2086 # the ranks expand it; words
    run mpi "$ranks" gpubind --topology "$machine" "$@" sh -c \
        'echo "$GPUBIND_LOCAL_RANK $(for name; do eval "echo \${$name-unset}"; done | xargs)"' \
        sh $shown
    said=$(sort -n "$tmp/out")
}
notices() { sed -n 's/^gpubind: //p' "$tmp/err"; }
# with VARIABLE=VALUE... job ...: with that set before.
with() {
    names=
    while [ "$1" != job ]; do
        export "${1?}"
        names="$names ${1%%=*}"
        shift
    done
    "$@"
    # shellcheck disable=SC2086 # words
    unset $names
}

# ---- AMD: ROCm's numbers are 2, 3, 0, 1 in order of PCI address

machine=$machines/amd-2p4g.xml
shown='ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES GPU_DEVICE_ORDINAL'
job 4
is 'AMD: UUIDs, with all their digits' "$said" '0 GPU-0010aa00000000c1 unset unset unset
1 GPU-0310aa00000000c6 unset unset unset
2 GPU-0010aa00000000c9 unset unset unset
3 GPU-0110aa00000000ce unset unset unset'
is '... nothing is said' "$(notices)" ''
job 4 --ids index
is 'AMD: indices are ROCm'"'"'s' "$(echo "$said" | cut -d' ' -f2 | xargs)" '2 3 0 1'
job 4 --ids index --visible first
is 'AMD: --visible first' "$(echo "$said" | cut -d' ' -f2 | xargs)" '2,3,0,1 3,2,0,1 0,2,3,1 1,2,3,0'
job 4 --ids index --visible ordered --master 0
is 'AMD: --visible ordered, beside a master' "$(echo "$said" | cut -d' ' -f2 | xargs)" \
    'unset 0,2,3 0,2,3 0,2,3'
job 6 --overflow idle --master 1
is 'AMD: masters and idle ranks see none: the variable is set, and empty' \
    "$(echo "$said" | grep -v GPU-)" '1 unset unset unset
5 unset unset unset'
job 2 --gpus-per-rank 2 --ids index
is 'AMD: sets by XGMI, over fewest hops' "$(echo "$said" | cut -d' ' -f2 | xargs)" '2,0 3,1'
job 1 --map 3,GPU-0010aa00000000c1,c6:00.0 --gpus-per-rank 3 --ids index
is 'AMD: a map of index, UUID and address' "$(echo "$said" | cut -d' ' -f2)" '1,2,3'
with ROCR_VISIBLE_DEVICES=3,0 job 2 --ids index
is 'AMD: a value for all ranks narrows, by ROCm'"'"'s numbers' \
    "$(echo "$said" | cut -d' ' -f2 | xargs) $(notices)" '3 0 ROCR_VISIBLE_DEVICES=3,0 leaves 2 of 4 GPUs'
with ROCR_VISIBLE_DEVICES=gpu-0010aa00000000c9,2,7 job 2 --ids index
is 'AMD: UUIDs and numbers mixed, to the first that is none' \
    "$(echo "$said" | cut -d' ' -f2 | xargs) $(notices | grep -c "'7' names no further")" '2 0 1'
with HIP_VISIBLE_DEVICES=1,2 job 2 --ids index
is 'AMD: HIP'"'"'s variable narrows, and has done its work then' \
    "$(echo "$said" | xargs) $(notices)" \
    '0 2 unset unset unset 1 1 unset unset unset HIP_VISIBLE_DEVICES=1,2 leaves 2 of 4 GPUs'
with ROCR_VISIBLE_DEVICES=1,0,3 HIP_VISIBLE_DEVICES=2 job 1 --ids index
is 'AMD: HIP counts what ROCm leaves' "$(echo "$said" | cut -d' ' -f2,3)" '3 unset'
with CUDA_VISIBLE_DEVICES=1 job 1 --ids index
is 'AMD: HIP reads the variable of CUDA, too' "$(echo "$said" | cut -d' ' -f2-4)" '1 unset unset'
with ROCR_VISIBLE_DEVICES=2,3 CUDA_VISIBLE_DEVICES=2,3 GPU_DEVICE_ORDINAL=2,3 job 2 --ids index
is 'AMD: what a launcher wrote into all of them counts once' "$(echo "$said" | xargs)" \
    '0 2 unset unset unset 1 3 unset unset unset'
with HIP_VISIBLE_DEVICES=1 job 2 --visible all
is 'AMD: --visible all leaves all alone' "$(echo "$said" | xargs)" '0 unset 1 unset unset 1 unset 1 unset unset'
# shellcheck disable=SC2016 # the ranks expand it
run mpi 2 sh -c 'HIP_VISIBLE_DEVICES=$((3 - ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}))
    export HIP_VISIBLE_DEVICES
    exec gpubind --topology "$0" sh -c "$1"' "$machine" \
    'echo "$GPUBIND_LOCAL_RANK $GPUBIND_GPU_UUID $HIP_VISIBLE_DEVICES ${ROCR_VISIBLE_DEVICES-unset}"'
is 'AMD: ranks that have theirs keep it' "$(sort "$tmp/out")" '0 GPU-0310aa00000000c6 3 unset
1 GPU-0010aa00000000c1 2 unset'

tioga=$top_srcdir/../shared/topologies/tioga-epyc-8mi250.xml
if [ -r "$tioga" ]; then
    machine=$tioga
    job 8 --ids index
    is 'eight dies of four MI250: one each' "$(echo "$said" | cut -d' ' -f2 | sort -n | xargs)" '0 1 2 3 4 5 6 7'
    job 4 --gpus-per-rank 2 --ids index
    is '... both dies of a module for each of four' "$(echo "$said" | cut -d' ' -f2 | xargs)" '0,1 2,3 4,5 6,7'
else
    skip 'eight dies of four MI250' 'no ../shared/topologies'
fi

# ---- Intel: two cards of two tiles; Level Zero's own order begins with the second

machine=$machines/intel-2p4t.xml
shown='ZE_AFFINITY_MASK ZE_FLAT_DEVICE_HIERARCHY'
job 4
is 'Intel: tiles, as devices' "$said" '0 2 FLAT
1 3 FLAT
2 0 FLAT
3 1 FLAT'
with ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 job 4
is 'Intel: in order of PCI address' "$(echo "$said" | cut -d' ' -f2 | xargs)" '0 1 2 3'
with ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE job 4
is 'Intel: tiles, as parts of cards' "$said" '0 1.0 COMPOSITE
1 1.1 COMPOSITE
2 0.0 COMPOSITE
3 0.1 COMPOSITE'
with ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_ENABLE_PCI_ID_DEVICE_ORDER=1 job 2 --gpus-per-rank 2
is 'Intel: a card for each of two' "$(echo "$said" | cut -d' ' -f2 | xargs)" '0.0,0.1 1.0,1.1'
job 2 --visible first
is 'Intel: --visible first is own, which is said' \
    "$(echo "$said" | cut -d' ' -f2 | xargs) $(notices | grep -c 'Level Zero keeps an order of its own')" \
    '2 0 1'
job 6 --overflow idle --master 2
is 'Intel: masters and idle ranks: a number that no device has' \
    "$(echo "$said" | sed -n '3p;6p' | cut -d' ' -f2 | xargs)" '65535 65535'
job 2 --map 1:1,18:00.0:0
is 'Intel: a map of tiles' "$(echo "$said" | cut -d' ' -f2 | xargs)" '1 2'
with ZE_AFFINITY_MASK=1,2 job 2
is 'Intel: a mask for all ranks narrows' "$(echo "$said" | cut -d' ' -f2 | xargs) $(notices)" \
    '2 1 ZE_AFFINITY_MASK=1,2 leaves 2 of 4 GPUs'
with ZE_AFFINITY_MASK=1,0.1 ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE job 3
is 'Intel: a mask of a card and a tile' "$(echo "$said" | cut -d' ' -f2 | xargs)" '1.0 1.1 0.1'
with ZE_AFFINITY_MASK=7,3 job 1
is 'Intel: an entry that names nothing is passed over, and said' \
    "$(echo "$said" | cut -d' ' -f2) $(notices | grep -c "'7' names no GPU")" '3 1'
with ZE_AFFINITY_MASK= job 4
is 'Intel: an empty mask is none' "$(echo "$said" | cut -d' ' -f2 | xargs) $(notices)" '2 3 0 1 '
job 1 --visible all
is 'Intel: --visible all' "$said" '0 unset unset'
machine=$machines/intel-flat-2t.xml
job 2
is 'Intel: a machine that was recorded with tiles as devices' "$said" '0 0 FLAT
1 1 FLAT'
with ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE job 2
is '... and seen otherwise by the job' "$(echo "$said" | cut -d' ' -f2 | xargs)" '0.0 0.1'
nothing_left 'nothing is left behind'
done_testing
