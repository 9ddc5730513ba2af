#!/bin/sh
# GPU memory in plain MPI functions over several nodes: pretended ones, each with a network and devices of its
# own.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/multinode.sh"
tests=$top_builddir/tests/aware
[ -x "$tests/nodes" ] || skip_all 'configured without MPI'
[ "$real_gpu" != only ] || skip_all 'the pretended nodes share the GPUs of this machine'
# shellcheck disable=SC2154 # of the launch helpers
multinode_usable || skip_all "$launch_why"
multinode_networked || skip_all "$launch_why"

# With the sanitizers, beside two other tests on two cores, the longest takes some 35 s.
limit=150

cat >"$tmp/here" <<EOF
#!/bin/sh
GPUBIND_SIM_JOB=\$GPUBIND_SIM_JOB.\$(hostname) TEST_FILE=$tmp/data TEST_SECONDS=140 TEST_PATIENCE=$TEST_PATIENCE \
    ${SANITIZED:+ASAN_OPTIONS=detect_leaks=0} exec "\$@"
EOF
chmod +x "$tmp/here"
# Each node takes all cores for its own, and its ranks would not give way to those of another one.
mpi() {
    ranks=$1
    shift
    LAUNCH_AGENT_ENV="TEST_MARK=$TEST_MARK" multinode "$nodes" $((ranks / nodes)) \
        --mca mpi_yield_when_idle 1 -np "$ranks" "$@"
}

# all NODES RANKS PROGRAM [PART...]
all() {
    nodes=$1 size=$2 name=$3
    shift 3
    start simulated "$size" "$tmp/here" "$tests/$name" "$@"
    setting="$size ranks on $nodes nodes"
    relay "$name${*:+ $*}"
}

# ---- which way

# told NODES RANKS PART DESCRIPTION SENTENCE: what each rank tells.
told() {
    nodes=$1
    start simulated "$2" env GPUBIND_VERBOSE=1 "$tmp/here" "$tests/nodes" "$3"
    setting="$2 ranks on $nodes nodes"
    relay "nodes $3"
    is "$setting: $4" "$(sed -n "s/^gpubind: rank \([0-9]*\): $5.*/\1/p" "$tmp/err" | sort | xargs)" \
        "$(seq 0 $(($2 - 1)) | xargs)"
}
hosted='of which [0-9]* were buffered in host memory'
told 2 4 messages 'directly within a node, by MPI between nodes' \
    "16 messages from GPU memory: 5 by gpubind, $hosted; 11 were staged for MPI"
told 4 4 messages 'all by MPI' "16 messages from GPU memory: 0 by gpubind, $hosted; 16 were staged for MPI"
told 2 4 broadcasts 'those of a node go directly' '2 collective calls went as direct messages, 0 by NCCL'

# ---- that it is right

all 2 2 direct modes probes lengths persistent progress
all 2 4 direct wildcards lists layouts threads
[ -n "$SANITIZED" ] || all 2 4 direct comms # which makes thousands
all 2 2 direct finalize
all 2 2 small early
all 2 4 collectives
all 2 4 files
if [ -z "$quick" ]; then
    all 2 4 direct rings
    all 4 4 direct wildcards lists comms
    all 4 4 collectives
    all 2 2 large moved reduced attributes ahead progress wildcards pending errors
    all 2 4 large comms inter threads
    all 2 4 agree
    all 2 4 layouts
    all 2 4 threads
    all 2 4 soak 3 5
fi
nodes=2
start simulated 2 "$tmp/here" "$tests/partitioned"
why=$(sed -n 's/^1[.][.]0 # SKIP //p' "$tmp/out")
if [ -z "$why" ]; then
    start simulated 2 env GPUBIND_GPU_AWARE=off "$tmp/here" "$tests/partitioned" host
    [ "$status" = 0 ] || why="this MPI does it wrong with host memory, too: status $status"
fi
if [ -z "$why" ]; then
    all 2 4 partitioned
else
    skip 'partitioned messages' "$why"
fi

# ---- windows: by mirrors

[ "$(multinode_version)" != 4 ] || export OMPI_MCA_osc=pt2pt # else Open MPI 4.1 makes none over TCP
all 2 2 one_sided
all 2 4 one_sided
all 2 2 attached
unset OMPI_MCA_osc

# ---- a rank is killed

# shellcheck disable=SC2016 # for the ranks' shell
start simulated 4 "$tmp/here" sh -c '
    [ "${OMPI_COMM_WORLD_RANK-$PMIX_RANK}" != 1 ] || { (sleep 0.7; kill -9 $$) & }
    exec "$@"' sh "$tests/soak" 30 5
is 'a rank is killed: the job ends' "$((status != 0 && status != 124))" 1
! grep -q 'hangs:' "$tmp/out" "$tmp/err"
is 'nobody hangs' $? 0
nothing_left 'nothing is left behind'
done_testing
