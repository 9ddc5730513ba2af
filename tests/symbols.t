#!/bin/sh
# What the linker sees of each program and shared object: no external name has two definitions,
# and the folders that call each other form no cycle, whatever their includes say.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"
command -v nm >/dev/null && command -v tsort >/dev/null || skip_all 'no nm or no tsort'

# what is linked | the makefile's names of what its objects are built for
programs="
gpubind          | bin_gpubind src_host_libgpubind_host_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
gpubind-bench    | bin_gpubind_bench src_host_libgpubind_host_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind.so    | src_mpi_libgpubind_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind-mpich.so   | src_mpi_libgpubind_mpich_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind-mpi-abi.so | src_mpi_libgpubind_mpi_abi_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind-aware | src_aware_libgpubind_aware_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind-aware-mpich   | src_aware_libgpubind_aware_mpich_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
libgpubind-aware-mpi-abi | src_aware_libgpubind_aware_mpi_abi_la src_gpu_libgpubind_gpu_la src_core_libgpubind_core_la
discover.so      | src_host_discover_la src_core_libgpubind_core_la
the PMIx plugin  | plugin_pmix_mca_pmdl_gpubind_la src_host_libgpubind_host_la src_core_libgpubind_core_la
the Slurm plugin | plugin_spank_gpubind_la src_host_libgpubind_host_la src_core_libgpubind_core_la
"

# objects NAME...: those that were built, one a line; a libtool object's is the position-dependent
# one, or where only shared objects are built the other.
objects() (
    cd "$top_builddir" || exit 1
    {
        echo 'include Makefile'
        echo 'symbols-objects:'
        for name; do printf '\t@echo $(%s_OBJECTS)\n' "$name"; done
    } | MAKEFLAGS='' MAKELEVEL='' "${MAKE:-make}" -s -f - symbols-objects | tr ' ' '\n' |
        while read -r object; do
            plain=${object%.lo}
            plain=${plain%.o}.o
            for file in "$plain" "${plain%/*}/.libs/${plain##*/}"; do
                [ -f "$file" ] && { echo "$file"; break; }
            done
        done
)

# symbols FOLDER: of the objects whose names it reads: OBJECT NAME TYPE, without what the compiler's
# instrumentation adds.
symbols() (
    cd "$1" && xargs nm -g -P -A | sed -E 's/^([^ ]*): ([^ ]*) (.).*/\1 \2 \3/' | grep -v ' __'
)

# twice: of symbols, the names that two objects define.
twice() {
    awk '$3 !~ /[UwWvVi]/ { where[$2] = where[$2] " " $1; n[$2]++ }
         END { for (name in n) if (n[name] > 1) print name ":" where[name] }' | sort
}

# calls: of symbols, "FOLDER FOLDER NAME" for each folder that uses a name of another.
calls() {
    awk '{ folder = $1; sub(/\/\.libs\//, "/", folder); sub(/\/[^\/]*$/, "", folder) }
         $3 !~ /[UwvV]/ { home[$2] = folder }
         $3 == "U" { uses[folder " " $2] = 1 }
         END { for (use in uses) { split(use, part, " ")
                   if (home[part[2]] != "" && home[part[2]] != part[1])
                       print part[1], home[part[2]], part[2] } }' | sort
}

# cycles: of calls, the folders of cycles with the names by which they call each other.
cycles() {
    cat >"$tmp/calls"
    cut -d ' ' -f 1,2 "$tmp/calls" | sort -u | tsort 2>&1 >/dev/null |
        sed -n 's/^tsort: //p' | grep -E '^[a-z/_]+$' | sort -u >"$tmp/cycle"
    awk 'NR == FNR { in_cycle[$1] = 1; next }
         in_cycle[$1] && in_cycle[$2] { print $1 " -> " $2 ": " $3 }' "$tmp/cycle" "$tmp/calls"
}

echo "$programs" | grep '|' >"$tmp/programs"
while IFS='|' read -r program names; do
    program=$(echo $program)
    # shellcheck disable=SC2086 # words
    objects $names >"$tmp/objects"
    # shellcheck disable=SC2086
    set -- $names
    if [ -z "$(objects "$1")" ]; then
        skip "$program" 'not built'
        continue
    fi
    symbols "$top_builddir" <"$tmp/objects" >"$tmp/symbols"
    is "$program: each name is defined once" "$(twice <"$tmp/symbols")" ''
    is "$program: no folders call each other in a cycle" "$(calls <"$tmp/symbols" | cycles)" ''
    # UCX's sbrk(0) undoes what another thread's malloc does at the same time.
    is "$program: the heap's end is malloc's affair" "$(grep -E ' s?brk U$' "$tmp/symbols")" ''
done <"$tmp/programs"

# The same of planted objects: FILE CODE... of a tree whose folders are a, b and c.
planted() {
    rm -rf "$tmp/tree"
    while [ $# -gt 0 ]; do
        mkdir -p "$tmp/tree/$(dirname "$1")"
        printf '%s\n' "$2" | ${CC:-cc} -x c -c -o "$tmp/tree/$1" - || return 1
        shift 2
    done
    (cd "$tmp/tree" && find . -name '*.o' | sed 's,^\./,,' | sort) | symbols "$tmp/tree"
}
if ! command -v "${CC:-cc}" >/dev/null; then
    skip 'planted objects' 'no compiler'
    done_testing
fi
is 'a name that two objects define is found' \
    "$(planted src/a/1.o 'int f(void) { return 1; }' src/b/2.o 'int f(void) { return 2; }' | twice)" \
    'f: src/a/1.o src/b/2.o'
is 'a static one is not' \
    "$(planted src/a/1.o 'int f(void) { return 1; }' src/b/2.o 'static int f(void) { return 2; }
        int g(void) { return f(); }' | twice)" ''
is 'a cycle of three folders is found' \
    "$(planted src/a/1.o 'int f(void), g(void); int f(void) { return g(); }' \
        src/b/2.o 'int h(void), g(void); int g(void) { return h(); }' \
        src/c/.libs/3.o 'int h(void), f(void); int h(void) { return f(); }' | calls | cycles)" \
    'src/a -> src/b: g
src/b -> src/c: h
src/c -> src/a: f'
is 'a chain is none' \
    "$(planted src/a/1.o 'int f(void), g(void); int f(void) { return g(); }' \
        src/b/2.o 'int h(void), g(void); int g(void) { return h(); }' \
        src/c/.libs/3.o 'int h(void); int h(void) { return 0; }' | calls | cycles)" ''
done_testing
