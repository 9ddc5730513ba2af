#!/bin/sh
# libgpubind.so exports what gpubind.h promises, what stands in for MPI's functions, and
# nothing else.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
library=$top_builddir/src/mpi/.libs/libgpubind.so
[ -r "$library" ] || skip_all 'configured without MPI'
command -v nm >/dev/null || skip_all 'no nm'

nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$tmp/exported"
sed -nE 's/.*[ *](gpubind_[a-z_]+|MPI_GPU[A-Za-z_]+)\(.*/\1/p' \
    "$top_srcdir/src/mpi/gpubind.h" | sort -u >"$tmp/promised"
check 'gpubind.h promises calls' test "$(wc -l <"$tmp/promised")" -gt 25
is 'all that is promised is exported' "$(comm -23 "$tmp/promised" "$tmp/exported")" ''
# Fortran's entry points: of the module, and MPI's with an underscore behind.
is 'nothing else is' "$(comm -13 "$tmp/promised" "$tmp/exported" |
    grep -vE '^(MPI_[A-Z][a-z_]+|p?mpi_[a-z0-9_]+_|gpubind_fortran_[a-z0-9_]+)$')" ''
is 'of MPI, nothing that only begins something' \
    "$(grep -E '^MPI_(I[a-z]|[A-Za-z_]*_init)' "$tmp/exported" |
        grep -vE '^MPI_(Init|Init_thread|Iprobe|Improbe|Intercomm_create|Intercomm_merge)$')" ''
is 'all that Fortran calls is stood in for in C, too' "$(grep -E '^mpi_[a-z0-9_]+_$' "$tmp/exported" |
    grep -vE '_f08_$|^mpi_gpu' | sed 's/_$//' | while read -r name; do
        grep -qix "$name" "$tmp/exported" || echo "$name"
    done)" ''
# The library for MPICH: the same, with the large counts that its mpi.h has, and any MPI of that ABI will do.
mpich=$top_builddir/src/mpi/.libs/libgpubind-mpich.so
if [ -e "$mpich" ]; then
    nm -D --defined-only "$mpich" | awk '{ print $3 }' | sort >"$tmp/of_mpich"
    is 'for MPICH: all that is promised is exported' "$(comm -23 "$tmp/promised" "$tmp/of_mpich")" ''
    is 'for MPICH: nothing else is' "$(comm -13 "$tmp/promised" "$tmp/of_mpich" |
        grep -vE '^(MPI_[A-Z][a-z_]+|p?mpi_[a-z0-9_]+_|gpubind_fortran_[a-z0-9_]+)$')" ''
    is 'for MPICH: it needs no MPI by name' "$(objdump -p "$mpich" 2>"$tmp/err" | grep 'NEEDED.*libmpi')" ''
    is 'for MPICH: what MPI 3 lacks is weak' \
        "$(nm -D --undefined-only "$mpich" | awk '$1 != "w" && $2 ~ /^MPI|^PMPI/ && $2 ~ /_c$|from_group$/ { print $2 }')" ''
else
    skip 'the library for MPICH' 'not built'
fi
done_testing
