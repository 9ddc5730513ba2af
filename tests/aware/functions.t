#!/bin/sh
# functions.tsv has every function of MPI that takes a buffer or requests, and says what libgpubind-aware does.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPICC" ] || skip_all 'no MPI'
here=$top_srcdir/tests/aware
library=$top_builddir/src/aware/.libs/libgpubind-aware.so

compares() { sh "$here/functions.sh" "$1" "$2" ${3+"$3"} >"$tmp/out" 2>"$tmp/err"; }

run compares "$here/functions.tsv" "$MPICC" "$library"
is 'the table, mpi.h and the library agree' "$(cat "$tmp/out" "$tmp/err")" ''
mpich=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so
if command -v mpicc.mpich >/dev/null; then
    [ -e "$mpich" ] || mpich=
    run compares "$here/functions.tsv" mpicc.mpich ${mpich:+"$mpich"}
    is "MPICH's mpi.h and its library, likewise" "$(cat "$tmp/out" "$tmp/err")" ''
else
    skip "MPICH's mpi.h and its library, likewise" 'no mpicc.mpich'
fi

# What the comparison finds.
mkdir "$tmp/less"
grep -v '^MPI_Ssend	' "$here/functions.tsv" >"$tmp/less/functions.tsv"
run compares "$tmp/less/functions.tsv" "$MPICC" "$library"
is 'a function that is missing in the table is named' "$(cat "$tmp/out")" 'MPI_Ssend is not in the table'
grep -v '^MPI_Testall	' "$here/functions.tsv" >"$tmp/less/functions.tsv"
run compares "$tmp/less/functions.tsv" "$MPICC" "$library"
is 'so is one that takes requests alone' "$(cat "$tmp/out")" 'MPI_Testall is not in the table'
sed 's/^\(MPI_Get_address	[^	]*	[^	]*	\).*/\1staged/' "$here/functions.tsv" \
    >"$tmp/less/functions.tsv"
run compares "$tmp/less/functions.tsv" "$MPICC" "$library"
is 'so is one that the library lacks' "$(head -n 1 "$tmp/out")" \
    'MPI_Get_address is staged, but not exported'
done_testing
