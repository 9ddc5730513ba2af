# Sourced after lib.sh by tests that start the ranks of a node by hand, with the
# environment that Open MPI would give them.
# shellcheck shell=sh disable=SC2154

demo=$top_srcdir/tests/machines/demo-2p4g.xml
job=$tmp # names the job: no other test meets there
starters=

# rank LOCAL SIZE [NAME=VALUE|OPTION...]: starts that rank in the background. It leaves
# its status in $tmp/LOCAL.status and what it said in $tmp/LOCAL.out and .err.
# $within: words of a command that execs gpubind in another place.
rank() {
    local=$1 size=$2
    shift 2
    rm -f "$tmp/$local.status"
    (
        variables=
        while case ${1-} in *=*) true ;; *) false ;; esac; do
            variables="$variables $1"
            shift
        done
        # shellcheck disable=SC2086 # words
        env "PMIX_NAMESPACE=$job" "OMPI_COMM_WORLD_RANK=$local" "OMPI_COMM_WORLD_SIZE=$size" \
            "OMPI_COMM_WORLD_LOCAL_RANK=$local" "OMPI_COMM_WORLD_LOCAL_SIZE=$size" $variables \
            sh -c 'echo $$ > "$0"; exec ${within-} gpubind "$@"' "$tmp/$local.pid.new" \
            --topology "$demo" "$@" sh -c 'echo $GPUBIND_LOCAL_RANK $GPUBIND_ROLE $GPUBIND_GPU_UUID' \
            >"$tmp/$local.out" 2>"$tmp/$local.err" </dev/null
        echo $? > "$tmp/$local.status"
    ) 2>/dev/null &
    starters="$starters $!"
    until [ -s "$tmp/$local.pid.new" ]; do sleep 0.05; done
    mv "$tmp/$local.pid.new" "$tmp/$local.pid"
}

# soon COMMAND...: until it succeeds, for a minute at most.
soon() {
    tries=0
    until "$@"; do
        [ $((tries += 1)) -lt 600 ] || return 1
        sleep 0.1
    done
}

# place LOCAL: the name at which that rank holds the meeting.
place() {
    sockets=$(ls -l "/proc/$(cat "$tmp/$1.pid")/fd" 2>/dev/null | sed -n 's/.*socket:\[\([0-9]*\)\].*/\1/p')
    for socket in $sockets; do
        awk -v inode="$socket" '$7 == inode && $4 == "00010000" { print $8 }' /proc/net/unix
    done
}
leads() { [ -n "$(place "$1")" ]; }
# came LEADER N: N others are connected to it.
came() { [ "$(grep -c " $(place "$1" | sed 's/[.]/[.]/g')\$" /proc/net/unix)" -gt "$2" ]; }
killed() { kill -KILL "$(cat "$tmp/$1.pid")"; soon test -s "$tmp/$1.status"; }

# ended DESCRIPTION STATUS LOCAL...: these ranks end with STATUS, a word for each or one
# for all; none hangs.
ended() {
    what=$1 wanted=$2
    shift 2
    got=
    for local in "$@"; do
        soon test -s "$tmp/$local.status"
        got="$got $(cat "$tmp/$local.status" 2>/dev/null || echo hangs)"
    done
    got=$(printf '%s\n' $got | sort -u | xargs)
    is "$what" "$got" "$wanted"
    case $got in *hangs*) for local in "$@"; do
        kill -KILL "$(cat "$tmp/$local.pid")" 2>/dev/null; done ;; esac
    wait $starters
    starters=
}
# sentences LOCAL...: all that gpubind said.
sentences() { for local in "$@"; do cat "$tmp/$local.err"; done | grep '^gpubind: '; }
gpus() { for local in "$@"; do cat "$tmp/$local.out"; done | cut -d' ' -f3 | sort -u | grep -c GPU; }
