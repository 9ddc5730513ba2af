#!/bin/sh
# The main cases under MPICH's Hydra.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/hydra.sh"
hydra_usable || skip_all "$launch_why"

# job NODES SLOTS RANKS GPUBIND-OPTION...
job() {
    nodes=$1 slots=$2 n=$3
    shift 3
    run hydra "$nodes" "$slots" -np "$n" "$gpubind" --topology "$machine" --report "$@" sh -c "$seen"
}

job 1 4 4
as_planned 'one node' 1 --nodes n0 --ranks 4
for master in 0 7 0,6; do
    job 2 6 12 --master $master --overflow idle
    as_planned "block, master $master" 2 --nodes n0:6,n1:6 --ranks 12 --master $master --overflow idle
done
is 'each node says once who is idle' "$(grep -c '^gpubind: .*idle' "$tmp/err")" 2
job 2 1 8 --master 0
as_planned 'cyclic, master 0' 2 --nodes n0,n1 --ranks 8 --distribution cyclic --master 0
run hydra 1 4 -np 1 "$gpubind" --topology "$machine" sh -c "$seen" : \
    -np 3 "$gpubind" --topology "$machine" sh -c "$seen"
is 'two programs of one job, both through gpubind' \
    "$(grep '^seen' "$tmp/out" | cut -d' ' -f6 | sort -u | wc -l)" 4
run hydra 1 4 -np 1 true : -np 3 "$gpubind" --timeout 2 --topology "$machine" sh -c "$seen"
is 'two programs of one job, one through gpubind: it goes on' \
    "$status $(grep '^seen' "$tmp/out" | cut -d' ' -f6 | sort -u | wc -l)" '0 3'
run hydra 1 4 -np 4 "$gpubind" --topology "$machine" --map 9 true
check 'refused: one sentence' test "$(grep -c '^gpubind: ' "$tmp/err")" = 1
check '... and a status' test "$status" != 0
run hydra 1 4 -np 4 "$gpubind" --topology "$machine" --master 1 "$gpubind" --check
is '--check' "$status $(grep -c 'ok: ' "$tmp/out")" '0 4'
run hydra 1 2 -np 2 "$gpubind" --quiet "$gpubind" --check
is '--check on this machine' "$status $(grep -c 'ok: ' "$tmp/out")" '0 2'
nothing_left 'nothing is left behind'
done_testing
