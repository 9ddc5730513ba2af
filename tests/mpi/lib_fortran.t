#!/bin/sh
# The Fortran module, compiled and run as a user does it, on the simulated driver; where
# GPUBIND_TEST_GPU=1 says that there are some, on GPUs too.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIFORT" ] && [ -e "$top_builddir/src/mpi/gpubind.mod" ] ||
    skip_all 'configured without Fortran'
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

sources=$top_srcdir/tests/fortran
libraries=$top_builddir/src/mpi/.libs
mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
without=${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH="$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# lib.sh unset it.
real_gpu=$(tr '\0' '\n' <"/proc/$$/environ" | sed -n 's/^GPUBIND_TEST_GPU=//p')
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI

# compiled PROGRAM SOURCE... [FLAG...]: modules lie beside the program.
compiled() {
    program=$1; shift
    mkdir "$tmp/$program.d"
    # shellcheck disable=SC2086 # flags
    check "$program compiles" sh -c 'cd "$0" && exec "$@"' "$tmp/$program.d" \
        "$MPIFORT" $SANITIZED -I"$top_builddir/src/mpi" -o "$tmp/$program" "$@" \
        -L"$libraries" -Wl,-rpath,"$libraries" -lgpubind
}

# results N PROGRAM [LAUNCHER]: its lines "ok TEXT" and "not ok TEXT" become this test's.
results() {
    run mpi "$1" ${3:+"$3"} "$tmp/$2"
    while read -r line; do
        case $line in
        'ok '*)     ok "$2: ${line#ok }" ;;
        'not ok '*) not_ok "$2: ${line#not ok }" ;;
        esac
    done <"$tmp/out"
    check "$2 ends well" sh -c 'test "$0" = 0 && grep -qx done "$1"' "$status" "$tmp/out"
    tail -n 1 "$tmp/out" | grep -qx done || diag "$(cat "$tmp/out" "$tmp/err")"
}

compiled mpif "$sources/mpif.f90"
results 2 mpif
compiled bare -Wl,--as-needed "$sources/bare.f90"
results 1 bare
for handles in integer ${MPI_F08:+f08}; do
    [ $handles = integer ] && flag= || flag=-DF08
    for name in messages calls made places progress streams halos windows; do
        # shellcheck disable=SC2086 # perhaps no flag
        compiled $name.$handles $flag "$sources/checks.f90" "$top_srcdir/examples/device.f90" \
            "$sources/$name.F90"
    done
    results 2 messages.$handles
    results 2 calls.$handles
    results 4 made.$handles
    results 2 progress.$handles
    GPUBIND_PATH=network; export GPUBIND_PATH
    results 2 progress.$handles
    unset GPUBIND_PATH
    results 2 streams.$handles
    results 6 halos.$handles
    results 2 windows.$handles
    results 2 places.$handles
    is "places.$handles prints the matrix" "$(grep -A 2 '^rank  *0 ' "$tmp/out")" \
"rank    0    1
   0  yes  yes
   1  yes  yes"
    check "places.$handles prints the paths" grep -q '^ *1  ipc' "$tmp/out"
done

# ---- the module has what gpubind.h has

# What it lacks, and why: every other call has an interface of its name, and an object of its own in the library.
# Forms with large counts have no name of their own, since the others take counts of 8 bytes, too.
left_out="
gpubind_peers_clear | the matrix of gpubind_enable_peer_access is an array of the program's own
"
is_left_out() { echo "$left_out" | grep -q "^$1 | ."; }

# calls HEADER
calls() { sed -nE 's/.*[ *](gpubind_[a-z_]+|MPI_GPU[A-Za-z_]+)\(.*/\1/p' "$1" | sort -u; }
constants() { grep -oE '\bGPUBIND_(PEER|HALO)_[A-Z_]+ = [0-9]+' "$1" | sort -u; }
nulls() { sed -nE "s/.*$2[^A-Z]*(GPUBIND_[A-Z]+_N(ULL|O_PROC))\b.*/\1/p" "$1" | sort -u; }
module=$top_srcdir/src/mpi/fortran
header=$top_srcdir/src/mpi/gpubind.h
public=$(sed -n 's/^    public :: //p' "$module/gpubind.F90" | tr -d ' ' | tr ',' '\n' | sort)
bound=$(cat "$module"/*.F90 "$module"/*.inc | grep -oE 'name="gpubind_fortran_[a-z_]+"' |
    sed -E 's/name="(.*)"/\1/' | sort -u)

# lacking HEADER: its calls that the module has no name or no object for, though they are not left out.
lacking() {
    for call in $(calls "$1"); do
        is_left_out "$call" && continue
        object=$(echo "gpubind_fortran_${call#gpubind_}" | sed 's/MPI_GPUSend/send/; s/MPI_GPURecv/recv/')
        echo "$public" | grep -qx "${call%_c}" && echo "$bound" | grep -qx "$object" || echo "$call"
    done
}
check 'gpubind.h has calls' test "$(calls "$header" | wc -l)" -gt 70
is 'the module has the calls of gpubind.h' "$(lacking "$header")" ''
is '... and no others' "$(for call in $public; do calls "$header" | grep -qx "$call" || echo "$call"; done)" ''
is 'what is left out is in gpubind.h, and not in the module' \
    "$(echo "$left_out" | sed 's/ |.*//; /^$/d' | while read -r call; do
        calls "$header" | grep -qx "$call" && ! echo "$public" | grep -qx "$call" || echo "$call"
    done)" ''
if command -v nm >"$tmp/out"; then
    nm -D --defined-only "$libraries/libgpubind.so" | awk '{ print $NF }' >"$tmp/exports"
    is 'gpubind.h has the calls that the library exports' "$(calls "$header")" \
        "$(grep -E '^(gpubind_|MPI_GPU)' "$tmp/exports" | grep -v '^gpubind_fortran_' | sort)"
    is 'the module has all objects that the library exports for it' "$bound" \
        "$(grep '^gpubind_fortran_' "$tmp/exports" | sort)"
else
    skip 'what the library exports' 'no nm'
fi
is '... and its constants' "$(constants "$module/gpubind.F90")" "$(constants "$header")"
is '... and its null handles' "$(nulls "$module/gpubind.F90" 'parameter, public ::')" \
    "$(nulls "$header" '#define')"
check 'null handles were found' test "$(nulls "$header" '#define' | wc -l)" -ge 5
is 'each is called by a test' "$(for call in $public; do
    grep -qi "call $call\b" "$sources"/*.[fF]90 || echo "$call"
done)" ''
for planted in 'int gpubind_send_twice(const void *buf);' 'int gpubind_probe_c(const void *buf);'; do
    echo "GPUBIND_PUBLIC $planted" | cat "$header" - >"$tmp/later.h"
    is "notices that the module lacks $planted" "$(lacking "$tmp/later.h")" \
        "$(echo "$planted" | sed 's/int \(.*\)(.*/\1/')"
done

# ---- examples/

for name in legacy_before legacy_after halo; do
    compiled $name "$top_srcdir/examples/device.f90" "$top_srcdir/examples/$name.f90"
    run mpi 4 "$tmp/$name"
    is "$name" "$status $(cat "$tmp/out")" \
        "0 4 ranks, 256 x 64 elements, 50 steps: the largest error is 0.0E+00"
done

if [ -n "$real_gpu" ]; then
    export LD_LIBRARY_PATH="$without"
    for handles in integer ${MPI_F08:+f08}; do
        for name in messages streams windows; do
            results 2 $name.$handles gpubind
        done
        results 6 halos.$handles gpubind
    done
    run mpi 2 gpubind "$tmp/halo"
    is 'halo, on GPUs' "$status $(cat "$tmp/out")" \
        "0 2 ranks, 256 x 32 elements, 50 steps: the largest error is 0.0E+00"
else
    skip 'on GPUs' 'GPUBIND_TEST_GPU is not set'
fi
[ -n "$MPI_F08" ] || skip 'the handles of mpi_f08' 'this MPI has no such module'
nothing_left 'nothing is left behind'
done_testing
