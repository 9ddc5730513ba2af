#!/bin/sh
# Jobs over several nodes, under Open MPI: masters with block, cyclic and rankfile
# distribution; the ranks that are not the master learn of it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/multinode.sh"
multinode_usable || skip_all "$launch_why"

# job NODES SLOTS MPIRUN-OPTION... -- GPUBIND-OPTION...
# Open MPI 5's mpirun has been seen not to end after all its ranks, which are shells, had printed and ended;
# it gets a second try.
job() {
    nodes=$1 slots=$2
    shift 2
    before=
    while [ "$1" != -- ]; do
        before="$before $1"
        shift
    done
    shift
    # shellcheck disable=SC2086 # words
    set -- multinode "$nodes" "$slots" $before "$gpubind" --topology "$machine" --report "$@" sh -c "$seen"
    run "$@"
    [ "$status" = 124 ] && [ "$(multinode_version)" = 5 ] || return 0
    diag 'mpirun did not end; once more'
    run "$@"
}

for master in none 0 7 0,6; do
    job 2 6 -np 12 -- --master $master --overflow idle
    as_planned "block, master $master" 2 --nodes n0:6,n1:6 --ranks 12 --master $master --overflow idle
done
is 'reports have the nodes'"'"' names, and the hashes of the plan' \
    "$(grep '^node' "$tmp/err" | sort)" "$(grep '^node' "$tmp/plan" | sort)"
is 'each node says once who is idle' "$(grep -c '^gpubind: .*idle' "$tmp/err")" 2
for master in none 0 0,1; do
    job 2 6 -np 12 --map-by node -- --master $master --overflow idle
    as_planned "cyclic, master $master" 2 --nodes n0:6,n1:6 --ranks 12 --distribution cyclic \
        --master $master --overflow idle
done
multinode_rankfile n1 n0 n0 n1 n1 n1 n0 > "$tmp/ranks"
sed 's/ slot=.*//' "$tmp/ranks" > "$tmp/unbound" # recorded machines: nothing is bound
for master in none 0 3,6; do
    job 2 6 -np 7 --rankfile "$tmp/ranks" -- --master $master
    as_planned "rankfile, master $master" 2 --ranks-file "$tmp/unbound" --master $master
done
job 3 3 -np 8 -- --master 0
as_planned 'three nodes, the last not full' 3 --nodes n0:3,n1:3,n2:3 --ranks 8 --master 0

# A master that is alone on its node; a GPU for each of the others.
job 2 1 -np 2 -- --master 0
as_planned 'one rank a node' 2 --nodes n0:1,n1:1 --ranks 2 --master 0

# No node can go on: each says it once.
run multinode 2 3 -np 6 "$gpubind" --topology "$machine" --map 9 true
check 'refused on two nodes: a sentence a node at most' test \
    "$(grep -c '^gpubind: ' "$tmp/err")" -le 2 -a "$(grep -c '^gpubind: ' "$tmp/err")" -ge 1
is '... and the status' "$status" 125
run multinode 2 3 -np 6 "$gpubind" --topology "$machine" --master 1 --overflow idle "$gpubind" --check
is '--check on two nodes' "$status $(grep -c 'ok: ' "$tmp/out")" '0 6'

# The settings of a user who can only say mpirun -x.
run env GPUBIND_MASTER=0 GPUBIND_TOPOLOGY="$machine" GPUBIND_REPORT=1 sh -c '
    launch_dir=$1; . "$1/multinode.sh"; multinode 2 3 -x GPUBIND_MASTER -x GPUBIND_TOPOLOGY -x GPUBIND_REPORT -np 6 "$2" sh -c "$3"' \
    - "$launch_dir" "$gpubind" "$seen"
as_planned 'options by mpirun -x' 2 --nodes n0:3,n1:3 --ranks 6 --master 0
nothing_left 'nothing is left behind'
done_testing
