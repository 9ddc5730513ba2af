#!/bin/sh
# examples/jacobi: five versions compute the same numbers as one process alone, bit by bit;
# on the simulated driver with the host's arithmetic, on real GPUs (GPUBIND_TEST_GPU=1) with
# the kernels.
# shellcheck disable=SC2016 # an inner shell expands it
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
jacobi=$top_builddir/examples/jacobi/jacobi
source=$top_srcdir/examples/jacobi
data=$top_srcdir/tests/jacobi
[ -x "$jacobi" ] || skip_all 'configured without MPI'
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
# lib.sh unset it; what this shell was started with is still there.
asked() { tr '\0' '\n' <"/proc/$$/environ" | sed -n "s/^$1=//p"; }
real_gpu=$(asked GPUBIND_TEST_GPU)
libraries=${LD_LIBRARY_PATH-}

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
export LD_LIBRARY_PATH="$tmp/cuda${libraries:+:$libraries}" GPUBIND_SIM_JOB="${tmp##*.}"
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI

# with N VARIABLES OPTION...: N ranks with these in their environment.
with() {
    size=$1 variables=$2
    shift 2
    # shellcheck disable=SC2086 # words
    run mpi "$size" env $variables "$jacobi" --quiet "$@"
}

# agrees N VARIABLES OPTION...: all versions are right.
agrees() {
    with "$@" --check
    shift 2
    rights=$(grep -cE '^[a-z]+ .* right$' "$tmp/out")
    check "$size ranks${variables:+, $variables}: $*" test "$status $rights" = '0 5'
    [ "$status $rights" = '0 5' ] || diag "status $status: $(cat "$tmp/out" "$tmp/err")"
}

# ---- numbers

host='--compute host --steps 12 --warmup 3'
# ranks | environment | options: strips of uneven height, of one row and of two, narrow
# and wide grids, columns that fill no 16 bytes
cases='
1 |                                            | --size 13x37 --norm-every 1
1 |                                            | --size 1x1 --periodic --type double
1 | GPUBIND_SIM_LATENCY=100                    | --size 2x300 --periodic --norm-every 3
2 |                                            | --size 13x37 --norm-every 4
2 |                                            | --per-gpu 7x16 --periodic --type double --norm-every 1
2 | GPUBIND_SIM_LATENCY=100                    | --size 9x65 --norm-every 1
2 | GPUBIND_SIM_LATENCY=100 GPUBIND_PATH=network | --size 2x4097 --periodic
3 | GPUBIND_SIM_DEVICES=3                      | --size 8x33 --type double
3 | GPUBIND_SIM_LATENCY=100                    | --size 3x5 --norm-every 2
3 | GPUBIND_SIM_LATENCY=100 GPUBIND_SIM_PEERS=none | --size 17x129 --periodic --norm-every 1
5 |                                            | --size 23x64 --norm-every 5
5 | GPUBIND_SIM_LATENCY=100                    | --size 11x31 --type double --norm-every 1
'
printf '%s\n' "$cases" | sed -n 's/ *| */|/gp' >"$tmp/cases"
while IFS='|' read -r size variables options <&3; do
    # shellcheck disable=SC2086 # words
    agrees "$size" "$variables" $options $host
done 3<"$tmp/cases"

# ranks of gpubind that get no GPU take no part
if [ -x "$top_builddir/bin/gpubind" ]; then
    # shellcheck disable=SC2086 # words
    run mpi 5 gpubind --master 0 --topology "$top_srcdir/tests/machines/demo-2p4g.xml" env \
        -u CUDA_VISIBLE_DEVICES "$jacobi" --size 9x20 --check $host
    is 'a master has no strip' "$status $(grep -c ' 4 ranks, .*' "$tmp/out") \
$(grep -c 'right$' "$tmp/out")" '0 1 5'
fi

# ---- what it prints

# shellcheck disable=SC2086 # words
with 2 '' --size 64x64 --norm-every 5 --csv $host --timeline "$tmp/timeline.csv"
is 'CSV has a header and five lines' "$(sed 1d "$tmp/out" | cut -d, -f1-7 | tr '\n' ' ')" \
    "$(for name in blocking nonblocking boundary streams halo; do
        printf '%s,2,64,64,float,host,5 ' "$name"; done)"
is 'all of them say the same norm' "$(sed 1d "$tmp/out" | cut -d, -f13 | cut -c1-7 | sort -u | grep -c '[1-9]')" 1
cp "$tmp/out" "$tmp/results.csv"
is 'the timeline has all versions of both ranks' \
    "$(sed 1d "$tmp/timeline.csv" | cut -d, -f1,2 | sort -u | grep -c .)" 10
is 'the last version computes and exchanges in two streams, four steps' \
    "$(grep '^halo,1,' "$tmp/timeline.csv" | cut -d, -f4,5 | sort | uniq -c | tr -s ' ' | tr '\n' ';')" \
    ' 4 stream 0,boundary; 4 stream 0,exchange; 4 stream 2,interior;'
# shellcheck disable=SC2086 # words
with 2 '' --size 8x8 --no-exchange $host --version halo
is '--no-exchange has nothing to compare with' \
    "$status $(awk '$1 == "halo" { print $4 }' "$tmp/out")" '0 -'
run mpi 1 "$jacobi" --help
is '--help has all versions' "$status $(grep -cE '^  (blocking|nonblocking|boundary|streams|halo) ' "$tmp/out")" '0 5'

# ---- wrong input

# rejects OPTIONS SENTENCE: said once, by all ranks together.
rejects() {
    # shellcheck disable=SC2086 # words
    with 2 '' $1
    is "rejects $1" "$(grep -c '^jacobi: ' "$tmp/err") $(grep '^jacobi: ' "$tmp/err")" "1 jacobi: $2"
    check '... and fails' test "$status" -ne 0
}
rejects '--version none' "--version: 'none' is none of all, blocking, nonblocking, boundary, streams, halo"
rejects '--size 12' "--size: '12' is no ROWSxCOLUMNS, as 4096x4096"
rejects '--size 0x8' "--size: '0x8' is no ROWSxCOLUMNS, as 4096x4096"
rejects '--per-gpu 8x8x8' "--per-gpu: '8x8x8' is no ROWSxCOLUMNS, as 4096x4096"
rejects '--size 1x8' '--size: 1 rows are less than 2 ranks'
rejects '--steps -1' "--steps: '-1' is no number from 1 to 100000000"
rejects '--type int' "--type: 'int' is none of float|double"
rejects '--wrong' '--wrong: no such option, or not with what it needs; see --help'
rejects '--size' '--size: no such option, or not with what it needs; see --help'
rejects 'more' "'more' is no option"
rejects '--check --no-exchange' '--check: without messages, by --no-exchange, the numbers are wrong'
rejects '--check --size 9999x9999' '--check: 9999 x 9999 cells are more than 16777216'
rejects '--graph' '--graph: takes --version halo'
rejects '--graph --version halo --steps 3' '--graph: takes an even number of --steps after 2 of --warmup'
rejects "--timeline $tmp/no/file" "--timeline: '$tmp/no/file' cannot be written"
if [ "$real_gpu" = only ]; then
    skip 'rejects --compute gpu' 'only the simulated driver refuses the kernels'
else
    rejects '--compute gpu' "no kernels: $(grep -q bytes "$top_builddir/examples/jacobi/kernels_built.c" 2>/dev/null &&
        echo 'the driver does not load the kernels' || echo 'the program was built without nvcc')"
fi
LD_LIBRARY_PATH=$libraries
with 2 GPUBIND_ROLE=idle
is 'without a GPU it says so' "$(grep '^jacobi: ' "$tmp/err")" 'jacobi: no rank has a GPU'
LD_LIBRARY_PATH=$tmp/cuda${libraries:+:$libraries}

# ---- built as its README says, here with a version that orders the streams wrongly

mkdir "$tmp/copy"
cp "$source"/*.[ch] "$source/kernels.cu" "$source/Makefile" "$tmp/copy"
chmod u+w "$tmp/copy"/*
# The south edge no longer travels.
sed -i 's/^\(.*strip_row(s, array, \)last\(), s->columns, s->type, job->south, TO_SOUTH,\)/\11\2/' \
    "$tmp/copy/versions.c"
check 'the copy is another one' sh -c '! cmp -s "$0" "$1"' "$source/versions.c" "$tmp/copy/versions.c"
library=$top_builddir/src/mpi/.libs
if [ -n "$SANITIZED" ]; then
    skip 'the Makefile for users builds it' 'the library is built with sanitizers'
else
    check 'the Makefile for users builds it' make -s -C "$tmp/copy" MPICC="$MPICC" NVCC=none \
        GPUBIND="-I$top_srcdir/src/mpi -L$library -Wl,-rpath,$library -lgpubind"
    # shellcheck disable=SC2086 # words
    run mpi 2 "$tmp/copy/jacobi" --size 12x12 --check $host
    is '--check finds a wrong row' "$(grep -cE 'right$' "$tmp/out") \
$(grep -cE '^blocking .* [0-9]+ cells are wrong' "$tmp/out")" '4 1'
    check '... and the status tells' test "$status" -ne 0
fi

# ---- pictures

if ! command -v python3 >/dev/null; then
    skip 'pictures' 'no python3'
else
    plot=$source/plot.py
    # drawn DESCRIPTION WANTED: the picture in $tmp/out is XML with WANTED rectangles, a card
    # among them, and in each its sentence.
    drawn() {
        is "$1" "$status $(python3 -c '
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
svg = "{http://www.w3.org/2000/svg}"
bars = [r for r in root.iter(svg + "rect") if r.find(svg + "title") is not None]
inside = all(float(b.get("x")) + float(b.get("width")) < 960 for b in bars)
print(root.tag == svg + "svg", len(bars), inside)' "$tmp/out" 2>&1)" "0 True $2 True"
    }
    # has TEXT...: the picture shows each.
    has() {
        for text in "$@"; do
            check "... shows $text" grep -qF ">$text<" "$tmp/out"
        done
    }
    run "$plot" bars "$data/results.csv"
    drawn 'bars: ten versions, nine with a part for the messages' 19
    has '16384 x 16384 float, 2 ranks' '16384 x 2048 float, 2 ranks, norm each step' halo \
        'us a step' 'exposed communication' '312.4 us, exposed 41.3'
    run "$plot" timeline "$data/timeline.csv"
    drawn 'timeline: the last version, two steps, two ranks' 20
    has 'Jacobi, version streams: 2 steps' 'rank 0, stream 0' 'rank 1, stream 2' us 'inner rows' \
        'boundary rows' exchange
    run "$plot" timeline "$data/timeline.csv" boundary 1 'A <title> & more'
    drawn 'timeline: the one that is named' 2
    has 'rank 0, host' 'A &lt;title&gt; &amp; more'
    run "$plot" bars "$tmp/results.csv"
    check 'bars: what the program wrote' test "$status $(grep -c '>halo<' "$tmp/out")" = '0 1'
    run "$plot" timeline "$tmp/timeline.csv"
    check 'timeline: what the program wrote' test "$status $(grep -c '>rank 1, stream 2<' "$tmp/out")" = '0 1'
    # wrong ones: a sentence, no traceback
    : >"$tmp/empty.csv"
    sed 's/312.400/much/' "$data/results.csv" >"$tmp/word.csv"
    for wrong in "bars $tmp/none.csv" "bars $tmp/empty.csv" "bars $data/timeline.csv" \
        "bars $tmp/word.csv" "timeline $data/results.csv" "timeline $data/timeline.csv none" \
        "timeline $data/timeline.csv halo 0"; do
        # shellcheck disable=SC2086 # words
        run "$plot" $wrong
        is "plot.py: ${wrong##*/}" "$status $(wc -l <"$tmp/err") $(grep -c '^plot.py: ' "$tmp/err")" '1 1 1'
    done
    run "$plot" circles "$data/results.csv"
    is 'plot.py: no such picture' "$status $(grep -c '^usage: ' "$tmp/err")" '2 1'
fi

# ---- on GPUs

if [ -z "$real_gpu" ]; then
    skip 'the kernels' 'GPUBIND_TEST_GPU is not set'
else
    LD_LIBRARY_PATH=$libraries
    kernels='--compute gpu --steps 30 --warmup 4'
    for size in 1 2 3; do
        for grid in 3x1 13x37 64x4096 1023x1025 700x33 3x9001; do
            # shellcheck disable=SC2086 # words
            agrees $size '' --size $grid --norm-every 3 $kernels
            # shellcheck disable=SC2086 # words
            agrees $size '' --size $grid --norm-every 1 --type double --periodic --march 5 $kernels
        done
    done
    # shellcheck disable=SC2086 # words
    with 2 '' --size 300x301 --check --version halo --graph --norm-every 1 $kernels
    check 'in a graph' sh -c 'test "$0" = 0 && grep -q "^halo .* right$" "$1"' "$status" "$tmp/out"
    # shellcheck disable=SC2086 # words
    with 2 '' --size 300x301 --check --version halo --graph --norm-every 4 $kernels
    check '... and with a norm at times' \
        sh -c 'test "$0" = 0 && grep -q "^halo .* right$" "$1"' "$status" "$tmp/out"
fi
nothing_left 'nothing is left behind'
done_testing
