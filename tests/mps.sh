# Sourced after lib.sh by tests of --mps, with a stand-in for NVIDIA's program.
# shellcheck shell=sh disable=SC2034,SC2154

mps_bin=$top_srcdir/tests/mps
machines=$top_srcdir/tests/machines
small=$machines/small-4c2g.xml # two GPUs
demo=$machines/demo-2p4g.xml   # four
tail=-5ca1-ab1e-cafe-00000000000
g0=GPU-10000000${tail}0 g1=GPU-11111111${tail}1
PATH=$mps_bin:$PATH
MPS_RECORD=$tmp/record
# Where folders of servers are made, and looked for by nothing_left.
mkdir "$tmp/t"
TMPDIR=$tmp/t
export PATH MPS_RECORD TMPDIR
unset CUDA_DEVICE_MAX_CONNECTIONS CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY CUDA_MPS_ACTIVE_THREAD_PERCENTAGE MPS_FAULT

# What a rank says of its MPS variables.
# shellcheck disable=SC2016,SC2034 # the ranks expand it
mps_seen='echo "seen $GPUBIND_LOCAL_RANK $GPUBIND_ROLE ${CUDA_MPS_ACTIVE_THREAD_PERCENTAGE--}" \
    "${CUDA_MPS_PIPE_DIRECTORY--} ${CUDA_MPS_LOG_DIRECTORY--}"'

# job N OPTION... COMMAND...: a new record.
job() {
    n=$1
    shift
    rm -f "$MPS_RECORD"
    run mpi "$n" gpubind --topology "$small" --mps "$@"
}

recorded() { cat "$MPS_RECORD" 2>/dev/null | grep -c " $1"; }
folders() { find "$TMPDIR" -maxdepth 1 -name 'gpubind-mps.*'; }
# daemons: pids of the stand-ins that run.
daemons() {
    for daemon in $(sed -n 's/.* daemon //p' "$MPS_RECORD" 2>/dev/null); do
        ! kill -0 "$daemon" 2>/dev/null || echo "$daemon"
    done
}

# keepers: pids of the processes that look after servers of this test.
keepers() {
    for keeper in $(grep -lsx gpubind-mps /proc/[0-9]*/comm | cut -d/ -f3); do
        ! grep -qsF "TEST_MARK=$tmp" "/proc/$keeper/environ" || echo "$keeper"
    done
}

# soon COMMAND...: until it succeeds, for half a minute at most.
soon() {
    tries=0
    until "$@"; do
        [ $((tries += 1)) -lt 300 ] || return 1
        sleep 0.1
    done
}
all_gone() { [ -z "$(folders)$(daemons)" ]; }

# gone DESCRIPTION: the servers end, and leave nothing.
gone() {
    soon all_gone
    is "$1" "$(folders) $(daemons)" ' '
}
