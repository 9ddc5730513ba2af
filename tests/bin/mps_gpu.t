#!/bin/sh
# --mps with NVIDIA's own program and this machine's GPUs.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -e /dev/nvidiactl ] || skip_all 'no NVIDIA driver'
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
command -v nvidia-cuda-mps-control >/dev/null || skip_all 'no nvidia-cuda-mps-control'
gpus=$(gpubind --quiet --plan | grep -c '^ .* gpu ')
[ "$gpus" -gt 0 ] || skip_all 'no GPU here'
[ -z "$SANITIZED" ] || skip_all 'the CUDA driver and the sanitizers want the same addresses'
"${CC:-cc}" -o "$tmp/client" "$top_srcdir/tests/mps/client.c" -ldl 2>"$tmp/err" ||
    skip_all "the client cannot be built: $(head -n 1 "$tmp/err")"

unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
[ ! -e /tmp/nvidia-mps/control ] || skip_all 'an MPS server may run already (/tmp/nvidia-mps)'
mkdir "$tmp/t"
TMPDIR=$tmp/t
export TMPDIR
control() { bounded nvidia-cuda-mps-control; }

# Left by what failed: end it, whatever the test says.
end_all() {
    for pid in $(grep -ls '^nvidia-cuda-mps' /proc/[0-9]*/comm | cut -d/ -f3); do
        ! grep -qsF "TEST_MARK=$tmp" "/proc/$pid/environ" || kill -KILL "$pid"
    done
}
trap 'end_all; rm -rf "$tmp"' EXIT
mps_processes() {
    for pid in $(grep -ls '^nvidia-cuda-mps\|^gpubind-mps' /proc/[0-9]*/comm | cut -d/ -f3); do
        ! grep -qsF "TEST_MARK=$tmp" "/proc/$pid/environ" || echo "$pid"
    done
}
gone() {
    for _ in $(seq 30); do
        left=$(mps_processes; find "$TMPDIR" -maxdepth 1 -name 'gpubind-mps.*')
        [ -n "$left" ] || break
        sleep 1
    done
    is "$1" "$left" ''
}

# ---- does it work here at all?

run bounded gpubind --quiet "$tmp/client"
alone=$(cat "$tmp/out")
[ "$status" = 0 ] || skip_all "CUDA does not work here: $alone"
mkdir "$tmp/byhand"
CUDA_MPS_PIPE_DIRECTORY=$tmp/byhand CUDA_MPS_LOG_DIRECTORY=$tmp/byhand
export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
limit=30 run bounded nvidia-cuda-mps-control -d
[ "$status" = 0 ] || skip_all "the daemon does not start, by hand: $(cat "$tmp/out" "$tmp/err" | head -n 1)"
limit=60 run bounded gpubind --quiet "$tmp/client" 'echo get_server_list | timeout 10 nvidia-cuda-mps-control'
byhand="status $status: $(cat "$tmp/out" | xargs)"
servers=$(grep -cx '[0-9][0-9]*' "$tmp/out")
log=$(tail -n 3 "$tmp/byhand/server.log" 2>/dev/null)
diag "the pipe directory holds: $(ls -l "$tmp/byhand" | awk 'NR > 1 { print substr($1, 1, 1) $NF }' | xargs)"
echo quit | limit=20 control >/dev/null 2>&1
end_all
unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
diag "alone: $alone"
diag "by hand: $byhand"
diag "$(uname -r), $(sed -n 's/.*Kernel Module[^0-9]*\([0-9.]*\).*/driver \1/p' /proc/driver/nvidia/version 2>/dev/null)"
case $byhand in
'status 0: devices='*) ;;
*) skip_all "MPS does not work here, by hand: $byhand; $log" ;;
esac
[ "$servers" = 1 ] || skip_all "a program does not reach the MPS server, by hand: $byhand"

# ---- the real thing

# job N OPTION... COMMAND...
job() {
    nranks=$1
    shift
    run mpi "$nranks" gpubind --mps "$@"
}
whole=$(echo "$alone" | sed 's/.*multiprocessors=\([0-9]*\).*/\1/')
for n in 2 4; do
    ranks=$((n * gpus))
    job "$ranks" --report sh -c '"$0" | sed "s/^/$GPUBIND_GPU_UUID=/"' "$tmp/client"
    is "$ranks ranks on $gpus GPUs: each computes on its own, the only one that it sees" \
        "$status $(sed -n 's/^\(GPU-[^=]*\)=devices=1 uuid=\(GPU-[^ ]*\) .*sum=ok$/\1 \2/p' "$tmp/out" |
            awk '$1 == $2' | wc -l)" "0 $ranks"
    most=$(sed -n 's/.*multiprocessors=\([0-9]*\).*/\1/p' "$tmp/out" | sort -n | tail -n 1)
    check "... with $most of $whole multiprocessors" test "${most:-$whole}" -le $((whole / n + 2))
    check '... and the report knows of the server' grep -q 'an MPS server is running' "$tmp/err"
    gone '... and it ends'
done
# One after the other: of four that asked the daemon at once, one was told "Cannot send command".
# shellcheck disable=SC2016 # the ranks expand it
job $((2 * gpus)) sh -c \
    '"$0" "flock $0.lock sh -c \"echo get_server_list | timeout 20 nvidia-cuda-mps-control\""' "$tmp/client"
is 'they share one server' "$status $(grep -x '[0-9][0-9]*' "$tmp/out" | sort -u | wc -l)" '0 1'
diag "$(sort "$tmp/out" | uniq -c)"
gone '... and it ends'
for visible in own first ordered all; do
    job $((2 * gpus)) --visible $visible gpubind --check
    is "--visible $visible: --check finds all as planned" \
        "$status $(grep -c ': ok: ' "$tmp/out")" "0 $((2 * gpus))"
    [ "$status" = 0 ] || diag "$(cat "$tmp/out")"
done
job $((2 * gpus)) --ids index true
is '--ids index is refused' "$status" 125
job "$gpus" -v true
is 'a GPU each: no server' "$status $(grep -c 'no GPU is shared' "$tmp/err")" '0 1'
gone 'all have ended'
n=$((2 * gpus > 4 ? 2 * gpus : 4))
if [ -x "$top_builddir/tests/mpi/ranks" ]; then
    job $n "$top_builddir/tests/mpi/ranks" on_stream_shared
    is "$n ranks: messages on streams of GPUs that they share" "$status $(grep -c '^not ok' "$tmp/out")" '0 0'
    [ "$status" = 0 ] || diag "$(tail -n 5 "$tmp/out" "$tmp/err")"
    gone '... and the server ends'
else
    skip 'messages on streams of GPUs that ranks share' 'no tests/mpi/ranks'
fi
before=$(date +%s%N)
run mpi $((2 * gpus)) gpubind true
between=$(date +%s%N)
job $((2 * gpus)) true
after=$(date +%s%N)
diag "mpirun gpubind true takes $(((between - before) / 1000000)) ms, with --mps $(((after - between) / 1000000)) ms"

# shellcheck disable=SC2016 # the ranks expand it
job $((2 * gpus)) sh -c '"$0"; [ "$GPUBIND_LOCAL_RANK" != 1 ] || kill -KILL $$; exec sleep 40' "$tmp/client"
check 'a rank is killed' test "$status" != 0
gone '... and the server ends'
# shellcheck disable=SC2016
job $((2 * gpus)) sh -c 'setsid "$0" "sleep 30" >/dev/null 2>&1 </dev/null & sleep 3' "$tmp/client"
is 'a client outlives its rank' "$status" 0
gone '... and the server is ended'
for pid in $(grep -lsx sleep /proc/[0-9]*/comm | cut -d/ -f3); do
    ! grep -qsF "TEST_MARK=$tmp" "/proc/$pid/environ" || kill "$pid"
done
nothing_left 'nothing is left behind'
done_testing
