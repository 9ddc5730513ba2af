#!/bin/sh
# --mps under Slurm's srun, in a private cluster: the step ends, or is cancelled.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$top_srcdir/tests/slurm.sh"
. "$top_srcdir/tests/mps.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT
slurm_start nodes=2 cpus=6 || skip_all "$launch_why"

# In the cluster's own process namespace, pids say nothing here.
all_gone() { [ -z "$(folders)" ] && [ "$(recorded start)" = "$(recorded ended)" ]; }
ended() {
    soon all_gone
    is "$1" "$(folders) $(recorded start) $(recorded ended)" " $2 $2"
}
# Not slurm_run: it has a TMPDIR of its own, which is gone with srun.
job() { run bounded srun "$@"; }

job -N 2 -n 8 --ntasks-per-node=4 "$gpubind" --topology "$small" --mps sh -c "$mps_seen"
is 'all run' "$status $(grep -c '^seen . gpu 50 /' "$tmp/out")" '0 8'
ended 'a server a node, and they end' 2
rm "$MPS_RECORD"

bounded srun -N 1 -n 4 "$gpubind" --topology "$small" --mps sleep 50 >"$tmp/out" 2>"$tmp/err" </dev/null &
starter=$!
soon grep -qs 'get_server_list' "$MPS_RECORD"
sleep 1
bounded scancel --state=RUNNING
wait "$starter"
ended 'a step that is cancelled' 1
rm "$MPS_RECORD"
# shellcheck disable=SC2016 # the ranks expand it
job -N 1 -n 4 --kill-on-bad-exit=1 "$gpubind" --topology "$small" --mps \
    sh -c '[ "$SLURM_PROCID" != 2 ] || kill -KILL $$; exec sleep 50'
check 'a rank is killed' test "$status" != 0
ended '... and takes the step with it' 1
slurm_stop
nothing_left 'nothing is left behind'
done_testing
