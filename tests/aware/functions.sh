#!/bin/sh
# functions.sh TABLE MPICC [LIBRARY]: compares functions.tsv with the functions in the headers of
# that MPI, and with what libgpubind-aware.so exports. A line for each that does not fit, and status
# 1; functions that this MPI lacks are no matter.
table=$1 mpicc=$2 library=${3-}
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT

# What takes a void *, or requests, without the PMPI_ names.
printf '%s\n' '#include <mpi.h>' '#ifdef OPEN_MPI' '#include <mpi-ext.h>' '#endif' \
    >"$folder/headers.c"
"$mpicc" -E -P "$folder/headers.c" >"$folder/headers" || exit 2
tr '\n\t' '  ' <"$folder/headers" | tr ';' '\n' | grep 'void *[*]\|MPI_Request' |
    grep -o ' [*]*MPIX*_[A-Za-z0-9_]* *(' | tr -d ' *(' | sort -u >"$folder/functions"
grep -q '^MPI_Send$' "$folder/functions" || { echo "no MPI_Send in the headers of $mpicc"; exit 2; }

: >"$folder/exports"
[ -z "$library" ] || nm -D --defined-only "$library" | awk '{ print $NF }' >"$folder/exports" ||
    exit 2

awk -F'\t' -v library="$library" '
    FILENAME ~ /functions.tsv$/ {
        if ($0 ~ /^#/) next
        if ($4 !~ /^(staged|passed|counted)$/ || ($4 == "staged") != ($5 == "") || $1 in what)
            problem("the row of " $1 " is not as the others")
        what[$1] = $4
        if ($3 == "_c") what[$1 "_c"] = $4
        next
    }
    FILENAME ~ /exports$/ { exported[$1] = 1; next }
    !($1 in what) { problem($1 " is not in the table"); next }
    library != "" { compare($1, what[$1]); compare("P" $1, what[$1]) }
    function compare(name, means) {
        if (name in exported && means == "passed") problem(name " is exported, not passed on")
        if (!(name in exported) && means != "passed") problem(name " is " means ", but not exported")
    }
    function problem(text) { print text; failed = 1 }
    END { exit failed }' "$table" "$folder/exports" "$folder/functions"
