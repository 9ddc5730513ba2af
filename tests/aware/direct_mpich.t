#!/bin/sh
# The same as direct.t for programs of MPICH, beside the MPI that was configured.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/direct.sh"
[ -z "$SANITIZED" ] || skip_all 'the programs are built without the sanitizers'
[ -z "$quick" ] || skip_all 'the quick tests are over the other MPI'
command -v mpicc.mpich >"$tmp/out" || skip_all 'no mpicc.mpich'
MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
[ -e "$aware" ] || skip_all 'no libgpubind-aware-mpich was built'

# build NAME SOURCE...: a program of MPICH, which $tmp/aware_NAME runs with the library.
build() {
    name=$1
    shift
    run mpicc.mpich -pthread -D_GNU_SOURCE "-I$top_srcdir" "-I$top_srcdir/src" "-I$top_srcdir/src/mpi" \
        -o "$tmp/$name" "$@" "$top_srcdir/tests/aware/no_gpubind.c" "$top_srcdir/tests/mpi/job.c" \
        "$top_srcdir/tests/mpi/gpu.c" "$top_srcdir/tests/mpi/gpu_vmm.c" -ldl
    is "$name compiles with mpicc.mpich" "$status" 0
    printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$aware" "$tmp/$name" >"$tmp/aware_$name"
    chmod +x "$tmp/aware_$name"
}
build direct "$top_srcdir"/tests/aware/direct*.c
build soak "$top_srcdir"/tests/aware/soak*.c
build agree "$top_srcdir/tests/aware/agree.c"
build contract "$top_srcdir/tests/aware/contract.c"
program=$tmp/aware_soak
on simulated 2 2 31
on simulated 2 2 33
program=$tmp/aware_agree
on simulated 2 agree
program=$tmp/aware_contract
on simulated 2 contract
program=$tmp/aware_direct
setting='slow copies'
all 2 lists progress threads
setting=simulated
every_part 2
# Ranks of MPICH spin while they wait.
all 3 wildcards rings
[ "$(nproc)" -lt 4 ] || all 3 lists comms progress
nothing_left 'nothing is left behind'
done_testing
