#!/bin/sh
# A node's launcher processes meet, whatever becomes of some of them. They are
# started by hand, with the environment that Open MPI would give them.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

. "$top_srcdir/tests/ranks.sh"

for local in 0 1 2 3; do rank $local 4; done
ended 'all come' 0 0 1 2 3
is 'four GPUs' "$(gpus 0 1 2 3)" 4
is 'nothing to say' "$(sentences 0 1 2 3)" ''
for local in 3 2 1 0; do rank $local 4; done
ended 'the same names can be used again' 0 0 1 2 3

for local in 0 1 3; do rank $local 4 --timeout $((2 * TEST_PATIENCE)); done
ended 'one never comes: the others go on' 0 0 1 3
is 'and say so once, and which' "$(sentences 0 1 3)" \
    'gpubind: 3 of the 4 ranks on this node came here; not counted: rank 2'
rank 2 4 --timeout 1
ended 'one that comes late goes on alone' 0 2

rank 0 3
soon leads 0
rank 1 3
soon came 0 1
killed 1
rank 2 3
ended 'one is killed while it waits: the others go on' 0 0 2

rank 0 4
soon leads 0
rank 1 4
rank 2 4
soon came 0 2
killed 0
another_leads() { leads 1 || leads 2; }
soon another_leads
rank 3 4 --timeout 10
rank 0 4
ended 'the leader is killed: the others meet again' 0 0 1 2 3
is 'four GPUs, also then' "$(gpus 0 1 2 3)" 4

rank 0 2
soon leads 0
killed 0
rank 1 2 --timeout 1
ended 'the leader is killed before anybody comes' 0 1

rank 0 2
soon leads 0
cp "$tmp/0.pid" "$tmp/first.pid"
rank 0 2
ended 'two that say they are the same rank' 125 0
is 'one sentence' "$(sentences 0 | grep -c 'local rank 0')" 1

rank 0 3 --overflow idle
rank 1 3 --overflow share
rank 2 3 GPUBIND_OVERFLOW=idle
ended 'options that differ' 125 0 1 2
is 'one sentence about the options' "$(sentences 0 1 2 | grep -c different):$(sentences 0 1 2 | wc -l)" 1:1
rank 0 2 --overflow idle
rank 1 2 GPUBIND_OVERFLOW=idle
ended 'the same option, given in two ways' 0 0 1
rank 0 2 --visible all --report --nic ucx
rank 1 2 --visible own --omp none -v
ended 'what each rank may choose for itself' 0 0 1

# A list of visible devices as many MIG instances have, here by zeros.
zeros=$(printf '%020000d' 0)
for local in 0 1; do rank $local 2 "CUDA_VISIBLE_DEVICES=3,$zeros"; done
ended 'a list of 20 KB' 0 0 1
is '... counts' "$(gpus 0 1) $(sentences 0 1 | sed 's/00*/0/')" \
    '2 gpubind: CUDA_VISIBLE_DEVICES=3,0... leaves 2 of 4 GPUs'

# Two jobs: their local ranks are the same, their places are not.
for local in 0 1 2; do rank $local 3; done
for local in 10 11 12; do rank $local 3 "PMIX_NAMESPACE=$job.other" "OMPI_COMM_WORLD_RANK=${local#1}" \
    "OMPI_COMM_WORLD_LOCAL_RANK=${local#1}" OMPI_COMM_WORLD_LOCAL_SIZE=3 OMPI_COMM_WORLD_SIZE=3; done
ended 'two jobs at once' 0 0 1 2 10 11 12
is 'each has its own three GPUs' "$(gpus 0 1 2) $(gpus 10 11 12) $(sentences 0 1 2 10 11 12)" '3 3 '

# Other programs are ranks of the job as well: they never come. Who comes a second later is not waited for.
cat >"$tmp/together" <<'S'
#!/bin/sh
until [ -e "${0%/*}/go" ]; do sleep 0.05; done
exec "$@"
S
chmod +x "$tmp/together"
export within="$tmp/together"
for local in 0 1; do rank $local 4 OMPI_NUM_APP_CTX=2 --timeout 600; done
: >"$tmp/go"
ended 'MPMD does not stall' 0 0 1
is 'and says who did not come' "$(gpus 0 1) $(sentences 0 1)" \
    '2 gpubind: 2 of the 4 ranks on this node came here; not counted: ranks 2-3'
rm "$tmp/go"
for local in 1 2 3; do rank $local 4 OMPI_NUM_APP_CTX=2 OMPI_COMM_WORLD_SIZE=8 --timeout 600; done
: >"$tmp/go"
unset within
ended 'the same on one of several nodes' 0 1 2 3
is 'there by the local rank' "$(sentences 1 2 3)" \
    'gpubind: 3 of the 4 ranks on this node came here; not counted: local rank 0'

# Abstract sockets belong to a network namespace.
if unshare --net true 2>/dev/null; then
    export within='unshare --net'
    for local in 0 1 2; do rank $local 3 --timeout 1; done
    unset within
    ended 'ranks that cannot meet go on' 0 0 1 2
    is 'with a GPU each, as if they had met' "$(gpus 0 1 2)" 3
    export within='unshare --net'
    for local in 0 1; do rank $local 2 --timeout 1 --master 0; done
    unset within
    ended 'but for masters, which all must know of' 125 0 1
else
    skip 'ranks that cannot meet' 'no right to make a network namespace (needs root)'
fi

many=$(seq 0 63)
for local in $many; do rank "$local" 64; done
# shellcheck disable=SC2086 # words
ended '64 at once' 0 $many
# shellcheck disable=SC2086
is 'share the four GPUs' "$(gpus $many) $(cat "$tmp"/*.out | sort -u | wc -l)" '4 64'
# A launcher may kill all others as soon as one rank fails: the reason must be out by then.
# Here the leader cannot write yet.
rm "$tmp/0.err"
mkfifo "$tmp/0.err"
exec 9<>"$tmp/0.err"
dd if=/dev/zero of="$tmp/0.err" oflag=nonblock bs=4096 count=1000 2>/dev/null
rank 0 2 --map 9
soon leads 0
rank 1 2 --map 9
sleep 2
check 'nobody fails before the leader has said why' test ! -e "$tmp/1.status"
dd bs=4096 count=16 <&9 >/dev/null 2>&1
ended 'then all fail' 125 0 1
dd iflag=nonblock bs=4096 count=1 <&9 2>/dev/null >"$tmp/words"
is 'and it was said once' "$(cat "$tmp/words" "$tmp/1.err" | grep -c "^gpubind: .*'9'")" 1
exec 9>&-

nothing_left 'nothing is left behind'
done_testing
