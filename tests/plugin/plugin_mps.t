#!/bin/sh
# gpubind --mps in ranks that the plugin planned: its plan stands, a server is added.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
case $("$MPIRUN" --version 2>&1) in *'(Open MPI) '[45]*) ;; *) skip_all 'mpirun is not of Open MPI 4 or 5' ;; esac
[ -z "$SANITIZED" ] || skip_all 'daemons without the sanitizers cannot load a plugin with them'
. "$top_srcdir/tests/mps.sh"

machine=$demo
# with_plugin N [MPIRUN-OPTION...] -- GPUBIND-OPTION... COMMAND...
with_plugin() {
    n=$1 before=
    shift
    while [ "$1" != -- ]; do
        before="$before $1"
        shift
    done
    shift
    rm -f "$MPS_RECORD"
    # shellcheck disable=SC2086 # words
    run plugged "$MPIRUN" --oversubscribe --bind-to none -np "$n" $before gpubind --mps "$@"
}

with_plugin 8 -- sh -c "$mps_seen; echo \"\$CUDA_VISIBLE_DEVICES=\$GPUBIND_GPU_UUID \$GPUBIND_MADE_BY\""
is 'the plan is the plugin'"'"'s, and ranks have shares' \
    "$status $(grep -c '^seen . gpu 50 /' "$tmp/out") $(awk -F'[= ]' '$1 == $2 && $3 == "plugin"' "$tmp/out" | wc -l)" \
    '0 8 8'
is 'one server, for all GPUs' "$(recorded start) $(sed -n 's/.* start .*devices=\([^ ]*\).*/\1/p' "$MPS_RECORD" | tr ',' '\n' | wc -l)" '1 4'
gone 'it ends'
with_plugin 4 -- sh -c "$mps_seen"
is 'a GPU each: none' "$status $(grep -c '^seen . gpu - - -' "$tmp/out") $(recorded start)" '0 4 0'
with_plugin 5 -x GPUBIND_MASTER=0 -x GPUBIND_RANKS_PER_GPU=1 -- sh -c "$mps_seen"
is 'nor with a master beside them' "$status $(recorded start)" '0 0'
with_plugin 8 -x GPUBIND_MASTER=0 -- sh -c "$mps_seen"
is 'seven workers share, the master has none of it' \
    "$status $(grep -c '^seen . gpu .* /' "$tmp/out") $(grep -c '^seen 0 master - - -' "$tmp/out")" '0 7 1'
gone 'this ends, too'
with_plugin 8 -x GPUBIND_IDS=index -- true
refused 'indices that the plugin wrote' 'exclude each other\|CUDA_VISIBLE_DEVICES=.*UUID'
run plugged "$MPIRUN" --oversubscribe --bind-to none -np 8 -x GPUBIND_MPS=1 sh -c "$mps_seen"
is 'the plugin itself starts none' "$status $(grep -c '^seen . gpu - - -' "$tmp/out") $(cat "$tmp/err")" '0 8 '
nothing_left 'nothing is left behind'
done_testing
