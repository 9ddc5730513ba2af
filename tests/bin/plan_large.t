#!/bin/sh
# Plans of large jobs: every rank is there once, every node's part is what a plan of
# that node alone would be, and neighbours follow. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

machines=$top_srcdir/tests/machines
eight=$machines/islands-8g.xml
four=$machines/demo-2p4g.xml
export limit=120

# The sum of what is wrong in a table: ranks that are not there once, GPUs that two
# ranks of a node have, neighbours that are not the nearest ranks with a GPU.
odd() {
    sort -n | awk -v ranks="$1" '
        $1 != NR - 1 { print "rank " NR - 1 " is missing"; exit }
        $3 == "gpu" {
            if ($(NF - 1) != north) print "north of " $1 " is " $(NF - 1)
            if (south != "" && south != $1) print "south of " before " is " south
            north = before = $1; south = $NF
        }
        NR == 1 { if ($3 == "gpu") north = $1 }
        END { if (NR != ranks) print NR " ranks"; if (south != "-") print "the last has a south" }
        BEGIN { north = "-" }'
}
# table FILE: "NODE RANK LOCAL ROLE ..." without the titles.
rows() { sed '/^node/d; /^ *rank/d' "$1"; }
# node_of FILE NAME: its rows, without what a rank's global number decides.
node_of() {
    awk -v name="$2:" '/^node/ { on = $2 == name; next } on && $1 != "rank" {
        $1 = $(NF - 1) = $NF = ""; print }' "$1"
}

run bounded gpubind --plan --nodes 10000 --ranks 80000 --topology "$eight"
is '10,000 nodes of 8 GPUs: planned' "$status$(cat "$tmp/err")" 0
is '... each rank once, between its neighbours' "$(rows "$tmp/out" | odd 80000)" ''
mv "$tmp/out" "$tmp/large"
is '... a node of each name' "$(sed -n 's/^node \(n[0-9]*\):.*/\1/p' "$tmp/large" | sort -u | wc -l)" 10000
is '... each with a plan of its own' \
    "$(sed -n 's/^node.*plan //p' "$tmp/large" | sort -u | wc -l)" 10000
run bounded gpubind --plan --ranks 8 --nodes 1 --topology "$eight"
for node in n0 n4711 n9999; do
    is "... $node as if alone" "$(node_of "$tmp/large" $node)" "$(node_of "$tmp/out" n0)"
done
run bounded gpubind --plan --nodes 2 --ranks 16 --topology "$eight"
is '... the hash of n1 is that of a job of two nodes' "$(sed -n 's/^node n1:.*plan //p' "$tmp/out")" \
    "$(sed -n 's/^node n1:.*plan //p' "$tmp/large")"

run bounded gpubind --plan --nodes 3000 --ranks 24000 --distribution cyclic \
    --master 0,2999,3001,23999 --topology "$eight"
is 'cyclic, with masters: planned' "$status" 0
is '... each rank once, between its neighbours' "$(rows "$tmp/out" | odd 24000)" ''
is '... the masters' "$(rows "$tmp/out" | awk '$3 == "master" { printf "%s ", $1 }')" \
    '0 3001 2999 23999 '
is '... the others have a GPU' "$(rows "$tmp/out" | awk '$3 == "gpu"' | wc -l)" 23996

# Two machines, in turn, from a file of more names than an argument can hold.
awk -v a="$eight" -v b="$four" 'BEGIN {
    for (n = 0; n < 4000; n++) printf "node%04d.some.cluster=%s\n", n, n % 2 ? a : b }' >"$tmp/nodes"
run bounded gpubind --plan --nodes "@$tmp/nodes"
is 'two machines: a rank for each GPU' "$status $(rows "$tmp/out" | wc -l)" '0 24000'
is '... each rank once, between its neighbours' "$(rows "$tmp/out" | odd 24000)" ''
is '... each node has the GPUs of its machine' \
    "$(sed -n 's/^node \([^:]*\): \([0-9]*\) ranks, \([0-9]*\) GPUs.*/\1 \2 \3/p' "$tmp/out" |
        awk '{ wanted = substr($1, 8, 1) % 2 ? 8 : 4; if ($2 != wanted || $3 != wanted) print }')" ''

# Ranks that are bound differently on every node.
awk 'BEGIN { for (r = 0; r < 8000; r++)
    printf "rank %d=h%d slot=%d,%d\n", r, r / 4, r % 32, (r * 7 + int(r / 128)) % 32 }' >"$tmp/ranks"
run bounded gpubind --quiet --plan --ranks-file "$tmp/ranks" --topology "$eight"
is 'a rankfile of 8000 bound ranks: planned' "$status" 0
is '... each rank once, between its neighbours' "$(rows "$tmp/out" | odd 8000)" ''
mv "$tmp/out" "$tmp/large"
for node in 0 777 1999; do
    sed -n "/=h$node /p" "$tmp/ranks" | awk '{ print "rank " NR - 1 "=one " $NF }' >"$tmp/one"
    run bounded gpubind --quiet --plan --ranks-file "$tmp/one" --topology "$eight"
    is "... h$node as if alone" "$(node_of "$tmp/large" h$node)" "$(node_of "$tmp/out" one)"
done
done_testing
