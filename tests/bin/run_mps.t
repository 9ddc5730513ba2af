#!/bin/sh
# --mps: one MPS server for the ranks of a node that share GPUs, which ends with them.
# NVIDIA's program is a stand-in (tests/mps).
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
. "$top_srcdir/tests/mps.sh"

# column N: of what the ranks said, in their order.
column() { grep '^seen' "$tmp/out" | sort -n -k2 | cut -d' ' -f"$1" | xargs; }

job 4 sh -c "$mps_seen"
is 'all ranks run' "$status $(column 3)" '0 gpu gpu gpu gpu'
is 'one server, for the GPUs by UUID, in folders of the user alone' \
    "$(sed -n 's/^[^ ]* start .*devices=/devices=/p' "$MPS_RECORD")" \
    "devices=$g0,$g1 mode=700:$(id -u) folder=700:$(id -u)"
pipe=$(sed -n 's/.* start pipe=\([^ ]*\).*/\1/p' "$MPS_RECORD")
log=$(sed -n 's/.* start .*log=\([^ ]*\).*/\1/p' "$MPS_RECORD")
is 'the ranks are told its pipes and logs' "$(grep '^seen' "$tmp/out" | cut -d' ' -f5,6 | sort -u)" "$pipe $log"
is 'two share a GPU: half of it each' "$(column 4)" '50 50 50 50'
is 'nothing is said' "$(cat "$tmp/err")" ''
gone 'it ends, and its folders go'
is 'it was told to quit' "$(recorded 'command quit') $(recorded ended)" '1 1'

# shellcheck disable=SC2016 # the ranks expand it
connections='echo "seen $GPUBIND_LOCAL_RANK ${CUDA_DEVICE_MAX_CONNECTIONS--}"'
job 4 sh -c "$connections"
is 'they have as many connections as without MPS' "$(column 3)" '8 8 8 8'
CUDA_DEVICE_MAX_CONNECTIONS=5
export CUDA_DEVICE_MAX_CONNECTIONS
job 4 sh -c "$connections"
unset CUDA_DEVICE_MAX_CONNECTIONS
is '... or what the user sets' "$(column 3)" '5 5 5 5'
gone 'these end'

job 3 sh -c "$mps_seen"
is 'a rank that is alone on its GPU has all of it, and is a client too' \
    "$(column 4) $(column 5 | tr ' ' '\n' | sort -u | wc -l)" '50 50 - 1'
job 7 sh -c "$mps_seen"
is 'a third and a fourth' "$(column 4)" '25 25 25 25 33 33 33'
job 4 env CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=70 sh -c "$mps_seen"
is 'what the program sets is its own' "$(column 4)" '70 70 70 70'
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=70 CUDA_MPS_LOG_DIRECTORY=$tmp
export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_LOG_DIRECTORY
job 4 sh -c "$mps_seen"
unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE CUDA_MPS_LOG_DIRECTORY
is 'what the user sets is kept' "$(column 4) $(column 6 | tr ' ' '\n' | sort -u)" "70 70 70 70 $tmp"
gone 'these end'
check 'the log where the user wants it stays' grep -q 'log line' "$tmp/control.log"
job 6 --master 0 --ranks-per-gpu 2 sh -c "$mps_seen"
is 'masters and idle ranks have none of it' "$(column 3,5 | sed "s|$TMPDIR/[^ ]*|pipe|g")" \
    'master - gpu pipe gpu pipe gpu pipe gpu pipe idle -'
job 4 --gpus-per-rank 2 sh -c "$mps_seen"
is 'sets that are shared' "$(column 4)" '25 25 25 25'
gone 'these end, too'

job 2 sh -c "$mps_seen"
is 'no GPU is shared: no server, no words' "$(column 5) $(recorded start)$(cat "$tmp/err")" '- - 0'
job 2 -v true
is '... but with -v' "$(grep -c 'no GPU is shared' "$tmp/err") $(recorded start)" '1 0'
job 4 -v true
is '-v says where the server is' "$(grep -c 'pipes in /' "$tmp/err")" 1
run mpi 4 env GPUBIND_MPS=1 gpubind --topology "$small" sh -c "$mps_seen"
is 'by the variable' "$(column 4)" '50 50 50 50'

# shellcheck disable=SC2016 # the ranks expand it
run mpi 4 sh -c '[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 3 ] || export GPUBIND_MPS=1
    exec gpubind --topology "$0" sh -c "$1"' "$small" "$mps_seen"
is 'one rank that asks will do' "$(column 4)" '50 50 50 50'

# ---- what the server has to see

devices() { sed -n 's/.* start .*devices=\([^ ]*\).*/\1/p' "$MPS_RECORD"; }
job 2 --map 1 true
is 'the GPUs that ranks have' "$(devices)" "$g1"
job 2 --map 1 --visible ordered true
is '--visible ordered: those of the plan' "$(devices)" "$g1"
for visible in first all; do
    job 2 --map 1 --visible $visible true
    is "--visible $visible: all of the node" "$(devices)" "$g0,$g1"
done
CUDA_VISIBLE_DEVICES=$g1
export CUDA_VISIBLE_DEVICES
job 2 --visible all true
is 'GPUs that are hidden stay so' "$status $(devices)" "0 $g1"
CUDA_VISIBLE_DEVICES=1
job 2 true
is 'indices that the user gave are written as UUIDs' "$status $(devices)" "0 $g1"
job 2 --visible all true
refused 'but not where they are left' 'CUDA_VISIBLE_DEVICES=1.*UUID'
unset CUDA_VISIBLE_DEVICES
job 4 sh -c '[ "$CUDA_VISIBLE_DEVICES" = "${CUDA_VISIBLE_DEVICES#GPU-}" ]'
check 'ranks see UUIDs' test "$status" != 0
run mpi 3 sh -c 'export CUDA_VISIBLE_DEVICES=$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2))
    exec gpubind --quiet --topology "$0" --mps true' "$small"
refused 'nor where somebody dealt them out' 'CUDA_VISIBLE_DEVICES=[01],'
job 4 --ids index true
refused '--ids index' 'exclude each other'
run mpi 4 env GPUBIND_MPS=1 GPUBIND_IDS=index gpubind --topology "$small" true
refused '... both from variables' '(--ids is from GPUBIND_IDS, --mps is from GPUBIND_MPS)$'
job 2 --ids index true
is '... unless nothing is shared' "$status" 0
job 2 --topology "$machines/mig-1g7i.xml" --map 3 true
is 'one MIG instance can be shared' "$status $(devices | cut -c1-4)" '0 MIG-'
job 9 --topology "$machines/mig-1g7i.xml" true
refused 'several cannot' 'MIG instances'
job 7 --topology "$machines/mig-1g7i.xml" true
is '... and need not, where each has its own' "$status $(recorded start)" '0 0'
job 2 --quiet --topology "$machines/nogpu-2p8c.xml" true
refused 'no GPU' 'no NVIDIA GPU'
gone 'refused or not, all end'

# ---- however the ranks end

# starts N COMMAND...: in the background, until the server is there.
starts() {
    n=$1
    shift
    rm -f "$MPS_RECORD"
    mpi "$n" gpubind --topology "$small" --mps "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    starter=$!
    soon grep -qs ' daemon ' "$MPS_RECORD"
}
lives() { [ -n "$(daemons)" ] && [ -n "$(folders)" ]; }

# shellcheck disable=SC2016 # the ranks expand it
job 4 sh -c '[ "$GPUBIND_LOCAL_RANK" != 2 ] || kill -KILL $$; exec sleep 50'
check 'a rank that is killed takes the job with it' test "$status" != 0
gone '... and the server'
# shellcheck disable=SC2016
job 4 sh -c '[ "$GPUBIND_LOCAL_RANK" = 0 ] || exec sleep 50; exit 3'
gone 'the first rank fails'
for signal in TERM INT; do
    starts 4 sleep 50
    # Its parent is the shell that timeout runs in; mpirun itself is what counts.
    for pid in $(grep -lsF "TEST_MARK=$tmp" /proc/[0-9]*/environ | cut -d/ -f3); do
        case $(cat "/proc/$pid/comm" 2>/dev/null) in
        mpirun* | mpiexec* | prterun* | orterun*) kill -$signal "$pid" ;;
        esac
    done
    wait "$starter"
    gone "mpirun gets $signal"
done

# The ranks of a node by hand, each with the status it leaves.
# by_hand JOB LOCAL SIZE COMMAND...
by_hand() {
    name=$1 local=$2 size=$3
    shift 3
    env "PMIX_NAMESPACE=$tmp.$name" "OMPI_COMM_WORLD_RANK=$local" "OMPI_COMM_WORLD_SIZE=$size" \
        "OMPI_COMM_WORLD_LOCAL_RANK=$local" "OMPI_COMM_WORLD_LOCAL_SIZE=$size" \
        gpubind --topology "$small" --map 0 --mps "$@" >"$tmp/$name.$local.out" 2>"$tmp/$name.$local.err" &
}
rm -f "$MPS_RECORD"
by_hand one 0 2 sleep 50
first=$!
by_hand one 1 2 sleep 50
second=$!
soon grep -qs ' daemon ' "$MPS_RECORD"
soon sh -c "grep -qs sleep /proc/$first/comm && grep -qs sleep /proc/$second/comm"
by_hand two 0 2 sleep 1
by_hand two 1 2 sleep 1
wait $!
is 'a second job has a server of its own' \
    "$(recorded start) $(sed -n 's/.*pipe=\([^ ]*\).*/\1/p' "$MPS_RECORD" | sort -u | wc -l)" '2 2'
one_keeper() { [ "$(keepers | wc -l)" = 1 ]; }
check 'the second ends, and one process looks after the first' soon one_keeper
keeper=$(keepers | head -n 1)
is 'it holds nothing of the ranks, and has a session of its own' \
    "$(ls -l "/proc/$keeper/fd" | sed -n 's/.* -> //p' | grep -vx '/dev/null\|anon_inode:\[pidfd\]\|pidfd:.*\|.*/lock') \
$(awk '{ print ($6 != $1) }' "/proc/$keeper/stat")" ' 1'
kill -TERM "$keeper"
kill -KILL $first
wait $first 2>/dev/null
sleep 1
check 'a rank is killed: the other still has its server' lives
kill -KILL $second
wait $second 2>/dev/null
gone 'both are'

# Where nobody sees the others' processes, or nobody meets.
for space in pid net; do
    if unshare --$space --fork true 2>/dev/null; then
        for local in 0 1; do
            env "PMIX_NAMESPACE=$tmp.$space" OMPI_COMM_WORLD_RANK=$local OMPI_COMM_WORLD_SIZE=2 \
                OMPI_COMM_WORLD_LOCAL_RANK=$local OMPI_COMM_WORLD_LOCAL_SIZE=2 \
                unshare --$space --fork gpubind --topology "$small" --map 0 --mps --timeout $((2 * TEST_PATIENCE)) true \
                2>"$tmp/$space.$local.err" &
            pids="${pids-} $!"
        done
        status=0
        for pid in $pids; do wait "$pid" || status=$?; done
        pids=
        is "a $space namespace for each" \
            "$status $(cat "$tmp/$space".?.err | grep -c 'PID namespace\|cannot meet.*--mps')" \
            "125 $([ $space = pid ] && echo 1 || echo 2)"
    else
        skip "a $space namespace for each" 'no right to make one (needs root)'
    fi
done

# What outlives a rank holds nothing up.
job 4 sh -c 'setsid sleep 20 >/dev/null 2>&1 </dev/null &'
gone 'a child that the program left behind'
# shellcheck disable=SC2046 # pids
kill $(grep -lsF "TEST_MARK=$tmp" /proc/[0-9]*/environ | cut -d/ -f3 | while read -r pid; do
    ! grep -qsx sleep "/proc/$pid/comm" || echo "$pid"; done)

# Its keeper is killed: the user's next server on this node removes what is left.
rm -f "$MPS_RECORD"
by_hand three 0 2 sleep 50
first=$!
by_hand three 1 2 sleep 50
second=$!
soon grep -qs ' daemon ' "$MPS_RECORD"
soon sh -c "grep -qs sleep /proc/$first/comm && grep -qs sleep /proc/$second/comm"
# shellcheck disable=SC2046 # pids
kill -KILL $(keepers)
kill -KILL $first $second
wait $first $second 2>/dev/null
check 'a keeper that is killed leaves its server' lives
run mpi 4 gpubind --topology "$small" --mps true
gone 'the next one removes it'

# ---- when the program does not do as it should

job 4 env true
was=$status
MPS_FAULT=refuse
export MPS_FAULT
job 4 true
refused 'it does not start: its own words' 'status 1: An instance of this daemon'
MPS_FAULT=mute # for 5 s
job 4 true
refused 'it does not answer' 'does not answer'
MPS_FAULT=late
job 4 sh -c 'kill -0 "$(cat "$CUDA_MPS_PIPE_DIRECTORY"/*.pid)"'
is 'it answers late: it is waited for' "$status" 0
MPS_FAULT=hang
job 4 true
refused 'it hangs' 'within 15 s'
gone 'these leave nothing'
MPS_FAULT=stubborn
job 4 true
is 'it does not quit: the job does not wait for that' "$status $(lives && echo 'it lives')" '0 it lives'
gone '... and it is killed'
unset MPS_FAULT
is 'all was well before' "$was" 0
mkdir "$tmp/bin"
for command in sh env true; do ln -s "/bin/$command" "$tmp/bin/$command"; done
run mpi 4 env PATH="$tmp/bin" "$(command -v gpubind)" --topology "$small" --mps true
refused 'it is not there' 'nvidia-cuda-mps-control.*not in PATH'
run mpi 2 env PATH="$tmp/bin" "$(command -v gpubind)" --topology "$small" --mps true
is '... and not needed' "$status" 0
: >"$tmp/bin/nvidia-cuda-mps-control"
run mpi 4 env PATH="$tmp/bin" "$(command -v gpubind)" --topology "$small" --mps true
refused 'it cannot be run' 'cannot be run'

# A driver that says that nobody may compute.
cat >"$tmp/nvml.c" <<'C'
#include <string.h>
struct pci { char old[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device) { *device = (void *)0; return (int)i; }
int nvmlDeviceGetPciInfo_v3(void *device, struct pci *pci)
{ (void)device; pci->bus = 3; strcpy(pci->bus_id, "00000000:03:00.0"); return 0; }
int nvmlDeviceGetUUID(void *device, char *uuid, unsigned size)
{ (void)device; (void)size; strcpy(uuid, "GPU-0"); return 0; }
int nvmlDeviceGetComputeMode(void *device, int *mode) { (void)device; *mode = 2; return 0; }
C
mkdir "$tmp/lib"
if [ -z "$SANITIZED" ] && "${CC:-cc}" -shared -fPIC -o "$tmp/lib/libnvidia-ml.so.1" "$tmp/nvml.c" 2>"$tmp/err"; then
    LD_LIBRARY_PATH=$tmp/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
    job 4 true
    refused 'compute mode Prohibited' '0000:03:00.0 is in compute mode Prohibited'
    job 2 --map 0 true
    is '... of another GPU' "$status" 0
    unset LD_LIBRARY_PATH
else
    skip 'compute mode Prohibited' 'no stand-in for NVML can be built'
fi
# A kernel without pidfd_open.
cat >"$tmp/old.c" <<'C'
#include <errno.h>
long syscall(long number, ...) { (void)number; errno = ENOSYS; return -1; }
C
if [ -z "$SANITIZED" ] && "${CC:-cc}" -shared -fPIC -o "$tmp/lib/old.so" "$tmp/old.c" 2>"$tmp/err"; then
    rm -f "$MPS_RECORD"
    run mpi 2 env LD_PRELOAD="$tmp/lib/old.so" gpubind --topology "$small" --map 0 --mps \
        env -u LD_PRELOAD sh -c 'sleep 3; kill -0 "$(cat "$CUDA_MPS_PIPE_DIRECTORY"/*.pid)"'
    is 'an old kernel: the server stays up with the ranks' "$status" 0
    gone '... and ends after them'
else
    skip 'an old kernel' 'no stand-in for it can be built'
fi

# ---- a place for the pipes

if [ "$(id -u)" = 0 ]; then
    chown 65534 "$TMPDIR"
    job 4 true
    chown 0 "$TMPDIR"
    refused 'a folder of somebody else' 'another user'
else
    skip 'a folder of somebody else' 'not root'
fi
chmod 777 "$TMPDIR"
job 4 true
refused 'a folder in which others can replace it' 'lets other users'
chmod 700 "$TMPDIR"
prefix=$(job 4 true; sed -n 's|.* start pipe=.*/\(gpubind-mps[.0-9a-f]*[.]\)[^/]*/pipe .*|\1|p' "$MPS_RECORD")
gone 'before somebody prepares something'
ln -s "$tmp/bin" "$TMPDIR/${prefix}aaaaaa"
mkdir "$TMPDIR/${prefix}bbbbbb"
job 4 true
is 'a link by such a name is left alone' "$status $(readlink "$TMPDIR/${prefix}aaaaaa") $(ls "$tmp/bin" | wc -l)" "0 $tmp/bin 4"
check '... and a folder that is just being made' test -d "$TMPDIR/${prefix}bbbbbb"
rm "$TMPDIR/${prefix}aaaaaa"
touch -d '2 minutes ago' "$TMPDIR/${prefix}bbbbbb"
job 4 true
check '... unless it has been so for long' test ! -e "$TMPDIR/${prefix}bbbbbb"
gone 'the server made its own'
long=$tmp/t/$(printf '%060d' 0)
mkdir "$long"
job 4 sh -c "TMPDIR=$TMPDIR; $mps_seen"
run mpi 4 env TMPDIR="$long" gpubind --topology "$small" --mps sh -c "$mps_seen"
is 'a name too long for a socket: /tmp' "$(column 5 | tr ' ' '\n' | sort -u | cut -d/ -f2-3 | cut -d. -f1)" 'tmp/gpubind-mps'
rmdir "$long"

# ---- a server that is there already

CUDA_MPS_PIPE_DIRECTORY=$tmp/own
export CUDA_MPS_PIPE_DIRECTORY
mkdir "$tmp/own"
job 4 sh -c "$mps_seen"
is 'none answers there: one is started' "$status $(recorded start) $(column 5 | grep -c "$tmp/own")" '0 1 0'
gone 'which ends'
CUDA_MPS_LOG_DIRECTORY=$tmp/own MPS_RECORD=$tmp/record.own nvidia-cuda-mps-control -d
job 4 sh -c "$mps_seen"
is 'the user has a server: it is used' "$status $(column 5 | tr ' ' '\n' | sort -u)" "0 $tmp/own"
is '... with shares, none is started, and it is said once' \
    "$(column 4) $(recorded start) $(grep -c "^gpubind: .*$tmp/own is used" "$tmp/err")" '50 50 50 50 0 1'
job 4 --quiet true
is '... unless --quiet' "$status$(cat "$tmp/err")" 0
check 'it still runs' grep -q daemon "$tmp/record.own"
is '... as nobody told it to quit' "$(grep -c quit "$tmp/record.own")" 0
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$tmp/own/control"
    job 4 sh -c "$mps_seen"
    is "another user's is not used" "$status $(recorded start) $(column 5 | grep -c "$tmp/own")" '0 1 0'
    chown 0 "$tmp/own/control"
else
    skip "another user's is not used" 'not root'
fi
echo quit | MPS_RECORD=$tmp/record.own nvidia-cuda-mps-control
unset CUDA_MPS_PIPE_DIRECTORY
gone 'all have ended'

# ---- words

run gpubind --mps=yes true
refused 'it takes no value' "'--mps' takes no value"
run env GPUBIND_MPS=perhaps gpubind true
refused 'nor any word' 'GPUBIND_MPS.*perhaps'
run env MPS_RECORD="$tmp/none" gpubind --quiet --plan --mps --topology "$small" --ranks 4
is '--plan starts nothing' "$status $(ls "$tmp/none" 2>/dev/null)" '0 '
nothing_left 'nothing is left behind'
done_testing
