#!/bin/sh
# The same as direct.t for programs of MPICH, beside the MPI that was configured.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/aware/direct.sh"
[ -z "$SANITIZED" ] || skip_all 'the programs are built without the sanitizers'
command -v mpicc.mpich >"$tmp/out" || skip_all 'no mpicc.mpich'
MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
[ -e "$aware" ] || skip_all 'no libgpubind-aware-mpich was built'

run mpicc.mpich -pthread -D_GNU_SOURCE "-I$top_srcdir" "-I$top_srcdir/src" "-I$top_srcdir/src/mpi" \
    -o "$tmp/direct" "$top_srcdir"/tests/aware/direct*.c "$top_srcdir/tests/aware/no_gpubind.c" \
    "$top_srcdir/tests/mpi/job.c" "$top_srcdir/tests/mpi/gpu.c" "$top_srcdir/tests/mpi/gpu_vmm.c" -ldl
is 'it compiles with mpicc.mpich' "$status" 0
program=$tmp/aware_direct
printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$aware" "$tmp/direct" >"$program"
chmod +x "$program"
for setting in simulated 'slow copies'; do
    every_part 2
done
# Ranks of MPICH spin while they wait.
setting=simulated
if [ "$(nproc)" -ge 4 ]; then
    all 3 wildcards lists comms rings progress
else
    all 3 wildcards rings
fi
on 'host path' 2 threads
on 'host path' 2 lists
export OMPI_MCA_btl_vader_single_copy_mechanism=none
on 'host path' 2 truncation
nothing_left 'nothing is left behind'
done_testing
