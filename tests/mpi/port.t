#!/bin/sh
# gpubind-port(7): each of its fragments is built into tests/mpi/port.c and run, those in MPI's words
# with --gpu-aware; the names it lists are public; and it is as the other pages are.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
page=$top_srcdir/man/gpubind-port.7

# ---- as it is shown

is 'it is of this version' "$(sed -n 's/^\.TH .* "\(gpubind [0-9.]*\)".*/\1/p' "$page")" "$(gpubind --version)"
linted "$page" 'it'
check 'it is installed' grep -qE '^	man/gpubind-port\.7 ' "$top_srcdir/man/local.mk"
# names FILE: the calls of the library that it names.
names() { sed 's/\\-/-/g' "$1" | grep -oE '\b(gpubind_[a-z_]+|MPI_GPU[A-Za-z_]+)' | sort -u; }
names "$page" >"$tmp/names"
check 'calls are named' test "$(wc -l <"$tmp/names")" -ge 30
is 'gpubind.h has them' "$(while read -r name; do
    grep -qE "\b$name\b" "$top_srcdir/src/mpi/gpubind.h" || echo "$name"; done <"$tmp/names")" ''
is 'examples that it names are there' "$(sed 's/\\-/-/g' "$page" | grep -oE '\bexamples/[a-z_/]+(\.[a-z]+)?' |
    while read -r file; do [ -e "$top_srcdir/$file" ] || echo "$file"; done)" ''

# ---- its fragments

# fragments PAGE FOLDER: a file NAME.h for each example behind a line '.\" fragment NAME'.
fragments() {
    awk -v folder="$2" '
        /^\.\\" fragment / { name = $3; next }
        /^\.EX/ && name { file = folder "/" name ".h"; next }
        /^\.EE/ { if (file) close(file); file = name = "" }
        file { gsub(/\\-/, "-"); gsub(/\\e/, "\\"); print >file }' "$1"
}

library=$top_builddir/src/mpi/.libs
why=
[ -e "$library/libgpubind.so" ] || why='no shared libraries were built'
[ -e "$top_builddir/src/aware/.libs/libgpubind-aware.so" ] || why='no shared libraries were built'
[ -z "$SANITIZED" ] || why='they are built without the sanitizers'
[ -n "$MPIRUN" ] || why='no MPI'
if [ -n "$why" ]; then
    skip 'the fragments' "$why"
    done_testing
    exit
fi

mkdir "$tmp/cuda" "$tmp/page" "$tmp/planted"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
libraries=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fragments "$page" "$tmp/page"

# renamed FRAGMENT: it is in gpubind's words.
renamed() { grep -qE 'gpubind_|MPI_GPU|nccl' "$1"; }

# build FOLDER NAME: FOLDER/NAME.
build() {
    words=
    ! renamed "$1/$2.h" || words="-DRENAMED -I$top_srcdir/src/mpi -L$library -Wl,-rpath,$library -lgpubind"
    # shellcheck disable=SC2086 # words
    "$MPICC" -D_GNU_SOURCE -O1 -Wall -Wno-unused -Werror -DFRAGMENT="\"$1/$2.h\"" "-I$top_srcdir" \
        "$top_srcdir/tests/mpi/port.c" -o "$1/$2" $words -ldl
}

# go FOLDER NAME VARIABLE=VALUE: on two ranks.
go() {
    program=$1/$2 how=
    renamed "$program.h" || how="gpubind --topology $top_srcdir/tests/machines/demo-2p4g.xml --visible all --gpu-aware"
    # shellcheck disable=SC2086 # words
    run mpi 2 env "LD_LIBRARY_PATH=$libraries" "GPUBIND_SIM_JOB=${tmp##*.}" "$3" $how "$program"
}

for name in by_hand gpu_aware renamed nonblocking both_kinds streams persistent nccl; do
    [ -e "$tmp/page/$name.h" ] || { not_ok "the page shows $name"; continue; }
    run build "$tmp/page" $name
    is "$name compiles" "$status $(cat "$tmp/err")" '0 '
    for setting in 'GPUBIND_SIM_LATENCY=0' 'GPUBIND_SIM_LATENCY=2000' 'GPUBIND_PATH=shared'; do
        go "$tmp/page" $name "$setting"
        is "$name: $setting" "$status $(cat "$tmp/out")" '0 2 ranks: 0 numbers are wrong'
    done
done
is 'no fragment is left out' "$(find "$tmp/page" -name '*.h' | wc -l)" 8

# A page that forgets to wait for the stream is noticed.
sed '/^    cudaStreamSynchronize(stream);/d' "$page" >"$tmp/forgetful.7"
fragments "$tmp/forgetful.7" "$tmp/planted"
for name in gpu_aware renamed nonblocking; do
    build "$tmp/planted" $name >"$tmp/out" 2>&1
    go "$tmp/planted" $name GPUBIND_SIM_LATENCY=2000
    check "notices that $name does not wait" grep -qx '2 ranks: [1-9][0-9]* numbers are wrong' "$tmp/out"
done
nothing_left 'nothing is left behind'
done_testing
