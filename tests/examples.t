#!/bin/sh
# What README.md shows is what happens, links of the documents lead somewhere, and the examples run.
. "${top_srcdir:-.}/tests/lib.sh"

machine=$top_srcdir/tests/machines/demo-2p4g.xml
hello=$top_builddir/examples/hello_gpu
export MPIRUN="${MPIRUN:-mpirun}"
# More ranks than cores, in the words of Open MPI 4 and 5.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
have_mpi=false
[ ! -x "$hello" ] || ! command -v "$MPIRUN" >/dev/null || have_mpi=true

# tables FILE: what gpubind said there, whatever the launcher added.
tables() { grep -E '^(node |  )' "$1"; }

# ---- README.md

if $have_mpi; then
    sed -n '/^\$ mpirun/,/^```/p' "$top_srcdir/README.md" | sed '$d' >"$tmp/shown"
    command=$(sed -n '1s/^\$ mpirun -np \([0-9]*\) /mpi \1 /p' "$tmp/shown")
    # The same from this build folder.
    command=$(printf '%s\n' "$command" |
        sed "s|tests/machines|$top_srcdir/&|; s|build/examples/hello_gpu|$hello|")
    eval "$command" >"$tmp/out" 2>"$tmp/err"
    host='s/^(rank .*) on [^ ]+: /\1 on HOST: /; s/^node [^:]+:/node HOST:/'
    is "README.md shows what its example prints" \
        "$( { tables "$tmp/err"; cat "$tmp/out"; } | sed -E "$host")" \
        "$(sed 1d "$tmp/shown" | sed -E "$host")"
else
    skip "README.md shows what its example prints" "no MPI, or no mpirun"
fi

# anchors FILE: its headings, as links name them.
anchors() {
    sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for document in "$top_srcdir"/*.md "$top_srcdir"/docs/*.md; do
    name=${document#"$top_srcdir/"}
    for link in $(grep -oE '\]\([^):]+\)' "$document" | tr -d ']()'); do
        file=${link%%"#"*}
        target=${document%/*}/$file
        [ -n "$file" ] || target=$document
        check "$name points at $link" test -e "$target"
        case $link in
        *"#"*) check '... which has that heading' sh -c 'echo "$0" | grep -qxe "$1"' "$(anchors "$target")" "${link#*"#"}" ;;
        esac
    done
done
check 'README.md points at all documents' sh -c 'cd "$0" && for document in docs/*.md; do
    grep -qF "]($document)" README.md || { echo "not at $document"; exit 1; }; done' "$top_srcdir"
check 'README.md fits a screen or two' test "$(wc -l <"$top_srcdir/README.md")" -le 80

# The commands of the documents are ones that gpubind takes.
plans=$(grep -hoE '^ *gpubind --plan.*' "$top_srcdir/README.md" "$top_srcdir"/docs/*.md | sed 's/^ *//')
check "the documents have plans" test -n "$plans"
cp "$machine" "$tmp/node.xml"
echo "$plans" >"$tmp/plans"
while read -r plan; do
    check "$plan" sh -c "cd '$tmp' && $plan"
done <"$tmp/plans"

# ---- examples/

sh "$top_srcdir/examples/plan.sh" "$machine" >"$tmp/out" 2>"$tmp/err"
is "plan.sh shows ten nodes" "$(grep -cE '^node |^\{"node":' "$tmp/out")" 10
is "plan.sh says what the last plan costs" "$(grep -c '^gpubind: cost: ' "$tmp/err")" 1
is "plan.sh has no error" "$(grep -vE '^gpubind: (rank|cost|demo-2p4g has more) ?' "$tmp/err")" ""

if ! $have_mpi; then
    skip "mpmd.sh" "no MPI, or no mpirun"
elif ! mpi 1 true : -np 1 true >"$tmp/out" 2>&1; then
    skip "mpmd.sh" "this mpirun dies of two commands, as Open MPI 5.0's can (open-mpi/ompi 13303)"
else
    sh "$top_srcdir/examples/mpmd.sh" "$hello" "$hello" >"$tmp/out" 2>"$tmp/err"
    is "mpmd.sh ends well" "$?" 0
    is "mpmd.sh starts five ranks" "$(grep -c '^rank [0-4] of 5 ' "$tmp/out")" 5
    is "mpmd.sh has a master" "$(grep -c '^rank 0 of 5 .* role master,' "$tmp/out")" 1
    is "mpmd.sh has one node of five" "$(tables "$tmp/err" | grep -c ': 5 ranks, ')" 1
fi

# A stand-in for srun: drops its options, and is one rank of no launcher.
mkdir "$tmp/bin"
cat >"$tmp/bin/srun" <<'SRUN'
#!/bin/sh
while case $1 in -*) true ;; *) false ;; esac; do shift; done
exec "$@"
SRUN
chmod +x "$tmp/bin/srun"
if command -v bash >/dev/null; then
    PATH=$tmp/bin:$PATH GPUBIND_TOPOLOGY=$machine \
        bash "$top_srcdir/examples/slurm.sbatch" sh -c 'echo "$GPUBIND_ROLE"' \
        >"$tmp/out" 2>"$tmp/err"
    is "slurm.sbatch ends well" "$?" 0
    is "slurm.sbatch runs the program" "$(tail -n 1 "$tmp/out")" master
    is "slurm.sbatch reports once" "$(grep -c '^node [^ ]*: 1 rank,' "$tmp/err")" 1
    check "slurm.sbatch checks first" grep -q 'local rank 0: ok: master' "$tmp/out"
else
    skip "slurm.sbatch" "no bash"
fi

done_testing
