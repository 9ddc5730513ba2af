#!/bin/sh
# --mps over several pretended nodes: a server each, under Open MPI.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/multinode.sh"
# shellcheck disable=SC2154 # of the launch helpers
multinode_usable || skip_all "$launch_why"
. "$top_srcdir/tests/mps.sh"

# What a login file on the nodes would set.
LAUNCH_AGENT_ENV="PATH=$mps_bin:/usr/bin:/bin MPS_RECORD=$MPS_RECORD TEST_MARK=$TEST_MARK"
export LAUNCH_AGENT_ENV
servers() { sed -n "s/^\([^ ]*\) $1.*/\1/p" "$MPS_RECORD" | sort | xargs; }

run multinode 2 3 -np 6 "$gpubind" --topology "$small" --mps sh -c "$mps_seen; hostname"
is 'all run' "$status $(grep -c '^seen . gpu' "$tmp/out")" '0 6'
is 'a server a node' "$(servers start)" 'n0 n1'
is 'each with its pipes' "$(grep '^seen' "$tmp/out" | cut -d' ' -f5 | sort | uniq -c | awk '{ print $1 }' | xargs)" '3 3'
gone 'they end'
is 'each on its node' "$(servers ended)" 'n0 n1'

rm "$MPS_RECORD"
run multinode 2 2 -np 3 "$gpubind" --topology "$small" --master 0 --map 0 -v --mps sh -c "$mps_seen"
is 'only where GPUs are shared' "$status $(cat "$MPS_RECORD" 2>/dev/null)" '0 '
is '... and each node says so' "$(grep -c 'no GPU is shared' "$tmp/err")" 2
# shellcheck disable=SC2016 # the ranks expand it
run multinode 2 3 -np 6 "$gpubind" --topology "$small" --mps \
    sh -c '[ "$OMPI_COMM_WORLD_RANK" != 4 ] || kill -KILL $$; exec sleep 50'
check 'a rank of one node is killed' test "$status" != 0
gone 'the servers of all end'
is '... by themselves' "$(servers ended)" 'n0 n1'
unset LAUNCH_AGENT_ENV # it holds what is looked for
nothing_left 'nothing is left behind'
done_testing
