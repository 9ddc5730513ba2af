#!/bin/sh
# pmdl_gpubind_exclusive: the jobs of one daemon keep off each other's GPUs while there are
# free ones; in the real libpmix without a launcher, and in PRRTE's persistent daemon.
# shellcheck disable=SC2016 # the ranks expand it
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
TMPDIR=$tmp # the server's own files
export TMPDIR
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0
machine=$machines/demo-2p4g.xml # GPUs 17 and 2a in one package, 9a and ab in the other
on=PMIX_MCA_pmdl_gpubind_exclusive

# serve [NAME=VALUE...] COMMAND-OPTION...: the script on stdin.
serve() {
    site=$on=1
    while case ${1-} in [A-Z]*=*) true ;; *) false ;; esac; do
        site="$site $1"
        shift
    done
    status=0
    # shellcheck disable=SC2086 # words
    plugged $site "$top_builddir/tests/plugin/server" "$@" - >"$tmp/out" 2>"$tmp/err" || status=$?
}

# has JOB: the GPUs of its ranks, sorted, by their buses.
has() { sed -n "s/^$1 [0-9]*: GPUBIND_GPU_PCI=//p" "$tmp/out" | tr ',' '\n' | sort | sed 's/0000:\(..\):.*/\1/' | xargs; }
shared() { sed -n 's/.* too few free GPUs; ranks that share with other jobs: //p' "$tmp/err" | xargs; }

# ---- two at once, a third, ends

serve <<'S'
nspace first size=2
fork first all
nspace second size=2
fork second all GPUBIND_REPORT=1
echo ----
nspace third size=2
fork third all GPUBIND_REPORT=1
forget first
forget third
nspace fourth size=2
fork fourth all GPUBIND_REPORT=1
S
is 'two jobs at once have four GPUs' "$status $(has first), $(has second)" '0 17 9a, 2a ab'
is '... a third shares' "$(has third)" '17 9a'
is '... which the report says, once' "$(shared) $(grep -c '^node' "$tmp/err")" '2 of 2 3'
is '... what has ended is free again' "$(has fourth)" '17 9a'

serve <<'S'
nspace first size=2
fork first all
key first 0 PMIX_LOCAL_RANK
key first 1 PMIX_LOCAL_RANK
crash first
nspace second size=2
fork second all
forget first
nspace third size=2
fork third all
S
is 'a job that crashed has its GPUs until the daemon says that it is over' \
    "$status $(has second), $(has third)" '0 2a ab, 17 9a'

serve <<'S'
nspace a size=1
fork a all
nspace b size=1
fork b all
nspace c size=1
fork c all
nspace d size=3
fork d all
nspace e size=1
fork e all GPUBIND_MAP=3,2,1,0
S
is 'shared are those with the fewest ranks' \
    "$status $(for job in a b c d e; do printf '%s,' "$(has $job)"; done)" '0 17,2a,9a,17 2a ab,ab,'

serve $on=0 <<'S'
nspace first size=2
fork first all GPUBIND_EXCLUSIVE=1
nspace second size=2
fork second all GPUBIND_REPORT=1 GPUBIND_EXCLUSIVE=1
S
is 'without it all jobs are planned alike, whatever they say' \
    "$status $(has second) $(shared)" "0 $(has first) "
serve $on= <<'S'
nspace job size=2
fork job all
S
is 'the empty value is none' "$status $(has job)" '0 17 9a'
serve $on=maybe <<'S'
nspace job size=2
fork job all
S
is 'another word is passed over' "$status $(has job) $(grep '^gpubind: ' "$tmp/err")" \
    "0 17 9a gpubind: pmdl_gpubind_exclusive: 'maybe' is neither 1 nor 0; passed over"

# ---- between its registration and its first rank a job knows little

serve <<'S'
nspace first size=2
nspace second size=2
fork second all
fork first all
S
is 'two jobs that start at once, the later one first' "$status $(has first), $(has second)" '0 17 9a, 2a ab'
serve <<'S'
nspace first size=4
nspace second size=2
fork first all
fork second all GPUBIND_REPORT=1
S
is '... a later one takes nothing from the earlier' "$status $(has first), $(shared)" '0 17 2a 9a ab, 2 of 2'
serve <<'S'
nspace first size=4
nspace second size=2
fork first all GPUBIND_MASTER=0,1
fork second all GPUBIND_REPORT=1
S
is '... and looks again when it starts' "$status $(has first), $(has second) $(shared)" '0 17 9a, 2a ab '
serve <<'S'
nspace first size=1
fork first all GPUBIND_MAP=3
key first 0 PMIX_DEVICE_ID
nspace second size=3
fork second all
key second 0 PMIX_DEVICE_ID
S
is 'what a job asks for replaces what was planned for it' "$status $(has first), $(has second)" '0 ab, 17 2a 9a'
is '... also for who asks PMIx' "$(sed -n 's/.* PMIX_DEVICE_ID: //p' "$tmp/out" | xargs)" \
    "$(sed -n 's/^[a-z]* 0: GPUBIND_GPU_UUID=//p' "$tmp/out" | xargs)"

# ---- who has what

serve <<'S'
nspace first size=5
fork first all GPUBIND_MASTER=0 GPUBIND_OVERFLOW=idle GPUBIND_MAP=1
nspace second size=3
fork second all GPUBIND_REPORT=1
S
is 'masters and idle ranks have none' "$status $(has first), $(has second) $(shared)" '0 2a, 17 9a ab '
serve <<'S'
nspace first size=2 apps=0,1
fork first 0
fork first 1 CUDA_VISIBLE_DEVICES=3
nspace second size=2
fork second all
S
is 'a rank with a list of its own has what it sees' "$status $(has first), $(has second)" '0 17, 2a 9a'
serve <<'S'
nspace off size=2
fork off all GPUBIND=off
nspace list size=2
fork list all GPUBIND=off CUDA_VISIBLE_DEVICES=0
nspace job size=3
fork job all GPUBIND_REPORT=1
S
is 'a job that is left alone has what it lists' "$status $(has job) $(shared)" '0 2a 9a ab '
serve <<'S'
nspace first size=2
fork first all CUDA_VISIBLE_DEVICES=2,3
nspace second size=1
fork second all
nspace third size=2
fork third all CUDA_VISIBLE_DEVICES=0,1,2
S
is "a job's own list narrows the choice" "$status $(has first), $(has second), $(has third)" '0 9a ab, 17, 2a 9a'
serve <<'S'
nspace first size=2
fork first all
nspace second size=1
fork second all GPUBIND_GPUS_PER_RANK=2 GPUBIND_REPORT=1
S
is 'sets are made up of free GPUs' "$status $(has first), $(has second) $(shared)" '0 17 9a, 2a ab '
serve <<'S'
nspace parent size=1
fork parent all
nspace stranger size=1
fork stranger all
nspace child size=2 noderank=1 parent=parent:0
fork child all GPUBIND_REPORT=1
S
is "a spawned job comes after its parent's and after strangers'" \
    "$status $(has parent), $(has stranger), $(has child) $(shared)" '0 17, 2a, 9a ab '

for overflow in error idle; do
    serve PMIX_MCA_pmdl_gpubind_overflow=$overflow <<'S'
nspace first size=3
fork first all
nspace second size=2
fork second all
forget first
nspace third size=3
fork third all
S
    case $overflow in
    error) is 'with --overflow error nobody shares' "$status $(has first), $(has second), $(has third) $(grep '^gpubind: ' "$tmp/err")" \
        "1 17 2a 9a, , 17 2a 9a gpubind: 2 ranks want a GPU on $(hostname), which has room for 1" ;;
    idle) is '... with idle nobody, but who is left out starts' "$status $(has first), $(has second), $(has third)" '0 17 2a 9a, ab, 17 2a 9a' ;;
    esac
done

# ---- for days

if [ -n "$SANITIZED" ]; then
    skip 'memory over 1,000 namespaces' 'the sanitizers have the allocator'
    skip 'failing allocations' 'the sanitizers have the allocator'
else
    serve --watch=pmdl_gpubind <<'S'
nspace stays size=2
fork stays 0
fork stays 1 CUDA_VISIBLE_DEVICES=3
nspace job%i size=2
fork job%i 0
fork job%i 1 CUDA_VISIBLE_DEVICES=3
fork job%i 1 GPUBIND=off
forget job%i
memory
repeat 1000
nspace job%i size=2
fork job%i 0
fork job%i 1 CUDA_VISIBLE_DEVICES=3
fork job%i 1 GPUBIND=off
forget job%i
end
memory
forget stays
S
    is '1,000 namespaces leave nothing behind' \
        "$status $(has 'job[0-9]*' | tr ' ' '\n' | uniq -c | xargs) $(sed -n 's/^memory: pmdl_gpubind .* (//p' "$tmp/out" | tail -n 1) $(sed -n 's/^held at the end: //p' "$tmp/out")" \
        '0 1000 2a +0 blocks, +0 bytes) 0 blocks, 0 bytes'
    machine=$machines/small-4c2g.xml
    serve --fail-allocations=pmdl_gpubind <<'S'
nspace first size=2
fork first 0
fork first 1 CUDA_VISIBLE_DEVICES=1
nspace second size=2
fork second all
S
    is 'no memory at any time: ranks start' \
        "$status $(tail -n 1 "$tmp/out" | grep -c ' 0 failed-to-start, .* 0 crashed, 0 hung') $(tail -n 1 "$tmp/out" | awk '{ print ($1 > 50) }')" '0 1 1'
    machine=$machines/demo-2p4g.xml
fi

# ---- a daemon that lives across jobs

if [ -n "$SANITIZED" ]; then
    skip 'jobs of one prte' 'daemons without the sanitizers cannot load a plugin with them'
elif ! command -v prte >/dev/null || ! command -v prun >/dev/null; then
    skip 'jobs of one prte' 'no prte with prun: it comes with Open MPI 5'
else
    export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    # shellcheck disable=SC2329 # trap
    end_daemon() { kill "$daemon" 2>/dev/null && wait "$daemon"; rm -rf "$tmp"; }
    env PMIX_MCA_mca_base_component_path="$plugin_dir" HWLOC_XMLFILE="$machine" HWLOC_THISSYSTEM=1 \
        $on=1 timeout -k 5 $((200 * TEST_PATIENCE)) prte --no-ready-msg --report-uri "$tmp/uri" >"$tmp/prte" 2>&1 &
    daemon=$!
    trap end_daemon EXIT

    # wait_for COMMAND...: until it succeeds; 15 seconds at most, times the patience.
    wait_for() {
        for _ in $(seq $((150 * TEST_PATIENCE))); do
            "$@" && return
            sleep 0.1
        done
        return 1
    }
    # Ranks say what they have and who they are, and stay until they are told. PRRTE 3.0.8
    # loses jobs whose ranks end at once, also without the plugin (4 of 20 runs of true).
    rank='echo "$GPUBIND_GPU_PCI $$" >>"$1/$0"; n=0
        until [ -e "$1/$0.end" ] || [ $((n += 1)) -gt $((300 * ${TEST_PATIENCE:-1})) ]; do sleep 0.1; done'
    lines() { [ -e "$tmp/$1" ] && [ "$(wc -l <"$tmp/$1")" -eq "$2" ]; }
    # start JOB RANKS: runs until end JOB.
    start() {
        timeout -k 5 $((40 * TEST_PATIENCE)) sh -c 'echo $$ >"$0"; exec "$@"' "$tmp/$1.prun" \
            prun --dvm-uri "file:$tmp/uri" --map-by :oversubscribe --bind-to none -np "$2" \
            -x GPUBIND_REPORT=1 sh -c "$rank" "$1" "$tmp" >/dev/null 2>"$tmp/$1.err" &
        eval "waits_$1=$!"
        wait_for lines "$1" "$2"
    }
    ended() { status=0; eval "wait \$waits_$1" 2>/dev/null || status=$?; }
    end() { : >"$tmp/$1.end"; ended "$1"; }
    got() { sort "$tmp/$1" 2>/dev/null | sed 's/0000:\(..\):.*/\1/' | xargs; }

    wait_for test -s "$tmp/uri" || diag "$(cat "$tmp/prte")"
    start one 2
    start two 2
    is 'two jobs of one prte at once have four GPUs' "$(got one), $(got two)" '17 9a, 2a ab'
    start three 1
    is '... a third shares' "$(got three | grep -c .)" 1
    wait_for grep -q 'too few free GPUs; ranks that share with other jobs: 1 of 1' "$tmp/prte" || :
    is '... which the report says, once' "$(grep -c 'too few free' "$tmp/prte")" 1
    end three
    end one
    is 'a job that ends' "$status" 0
    start four 2
    is '... leaves its GPUs to the next' "$(got four)" '17 9a'
    # shellcheck disable=SC2046 # words
    kill -KILL $(cut -d' ' -f2 "$tmp/four")
    ended four
    is 'a job that is killed' "$status" 137
    start five 2
    is '... too' "$(got five), $(got two)" '17 9a, 2a ab'
    kill -KILL "$(cat "$tmp/five.prun")"
    ended five
    start six 1
    is 'ranks that outlive their prun keep their GPUs' "$(grep -c 'too few free' "$tmp/prte")" 2
    : >"$tmp/five.end"
    end six
    for job in five six two; do : >"$tmp/$job.end"; done
    cut -d' ' -f2 "$tmp/five" "$tmp/two" | while read -r pid; do
        wait_for eval "! kill -0 $pid 2>/dev/null"
    done
    ended two
    start seven 4
    is '... until they end' "$(got seven) $(grep -c 'too few free' "$tmp/prte")" '17 2a 9a ab 2'
    end seven
    kill "$daemon" && wait "$daemon"
    trap 'rm -rf "$tmp"' EXIT
fi
nothing_left 'nothing is left behind'
done_testing
