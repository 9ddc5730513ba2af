#!/bin/sh
# Programs of MPICH, which know nothing of gpubind, with libgpubind-aware-mpich before them.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
[ -z "$SANITIZED" ] || skip_all 'the programs are built without the sanitizers'
command -v mpicc.mpich >"$tmp/out" || skip_all 'no mpicc.mpich'
MPIRUN=$(command -v mpirun.mpich || command -v mpiexec.hydra) || skip_all 'no mpirun.mpich'
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
[ -e "$aware" ] || skip_all 'no libgpubind-aware-mpich was built'

export "TEST_FILE=$tmp/data"
for name in callbacks irregular layouts threads collectives packing partitioned files queries \
    sessions; do
    run mpicc.mpich -pthread "-I$top_srcdir" -o "$tmp/$name" "$top_srcdir/tests/aware/$name"*.c -ldl
    if [ "$status" != 0 ]; then
        not_ok "$name compiles with mpicc.mpich"
        continue
    fi
    program=$tmp/aware_$name
    printf '#!/bin/sh\nLD_PRELOAD=%s exec %s\n' "$aware" "$tmp/$name" >"$program"
    chmod +x "$program"
    for n in 2 3; do
        on simulated $n $name
        on kernels $n $name
    done
done
nothing_left 'nothing is left behind'
done_testing
