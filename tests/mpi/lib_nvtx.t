#!/bin/sh
# NVTX: the calls of both libraries are ranges of the tool that NVTX_INJECTION64_PATH names (tests/mpi/nvtx_tool.c),
# each of which ends in its thread; and a tool that is not there, or does not want to, changes nothing.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

is_wanted simulated || skip_all 'on the simulated driver alone'
tool=$top_builddir/tests/mpi/.libs/libnvtx_tool.so
traced=$top_builddir/tests/aware/traced
export "NVTX_TOOL_FILE=$tmp/ranges" # not the tool's name: nothing but gpubind is to load it

# with SETTING N COMMAND...: start, with the tool.
with() {
    rm -f "$tmp/ranges"
    way=$1 ranks=$2
    shift 2
    start "$way" "$ranks" env "NVTX_INJECTION64_PATH=$tool" "$@"
}
# What is wrong with the ranges: each push has its pop, in its thread, and all are of one domain.
wrong() {
    awk '$3 == "push" { depth[$1, $2]++; pushes++; if ($5 == "?") print "attributes of no NVTX 3" }
        $3 == "pop" && --depth[$1, $2] < 0 { print "an end without a begin" }
        $3 != "start" && $4 != "gpubind" { print "domain " $4 }
        END {
            for (thread in depth) if (depth[thread] > 0) print "left open"
            if (!pushes) print "none"
        }' "$tmp/ranges" | sort | uniq -c
}
# count NAME...: how many ranges have these names, or names and peers.
count() { for name; do grep -c " push gpubind $name\$" "$tmp/ranges"; done | xargs; }

# ---- libgpubind

# balanced SETTING N TEST...
balanced() {
    is_wanted "$1" || return 0
    with "$1" "$2" "$program" "$3"
    is "$1: $3 comes to its end" "$status" 0
    is "$1: $3: each range ends" "$(wrong)" ''
}
balanced simulated 2 pt2pt
check 'messages have their names and the other rank' \
    test "$(count 'MPI_GPUSend 1' 'gpubind_irecv 0' gpubind_waitall | sed 's/[1-9][0-9]*/some/g')" = 'some some some'
is 'the tool was started once in a rank' "$(grep -c start "$tmp/ranges")" 2
balanced simulated 2 truncation # errors, that return
balanced simulated 3 arguments
balanced simulated 2 on_stream_direct
balanced threads 2 threads
balanced simulated 2 windows
check 'puts on a stream, too' grep -q ' push gpubind gpubind_put_on_stream [01]$' "$tmp/ranges"

# ---- libgpubind-aware

# aware SETTING
aware() {
    is_wanted "$1" || return 0
    with "$1" 3 env "GPUBIND_TRACE=$tmp/trace" "$traced"
    is "$1: libgpubind-aware: the program comes to its end" "$status" 0
    is "$1: ... each range ends" "$(wrong)" ''
    is "$1: ... and calls have them, by whatever way the data go" \
        "$(count 'MPI_Sendrecv 1' 'MPI_Recv 0' MPI_Start MPI_Bcast MPI_Allreduce MPI_Waitall 'MPI_Rget 2')" \
        '1 4 6 3 6 3 1'
}
if [ -x "$traced" ]; then
    aware simulated
    command -v python3 >/dev/null &&
        is 'a trace is written all the same' \
            "$(python3 "$top_srcdir/tests/aware/traced.py" "$tmp/trace" direct 2>&1)" ''
    aware 'host path'
    aware threads
    with simulated 3 "$traced" collectives
    is 'nothing inside a call is one, without a trace, too' \
        "$(sed -n 's/.* push gpubind //p' "$tmp/ranges" | sort | uniq -c | xargs)" \
        '6 MPI_Allreduce 3 MPI_Alltoall 3 MPI_Bcast 3 MPI_Iallgather 3 MPI_Reduce_scatter_block 3 MPI_Scatter 3 MPI_Scatterv 3 MPI_Wait'
    for errors in 'direct truncation' window_errors; do
        # shellcheck disable=SC2086 # words
        with 'no reads' 2 "$top_builddir"/tests/aware/$errors # Open MPI's own write behind short buffers
        is "$errors: each range ends" "$status $(wrong)" '0 '
    done
    rm "$tmp/ranges"
    start simulated 3 "$traced" messages
    is 'without the variable: nothing is loaded' "$status $([ -e "$tmp/ranges" ] || echo none)" '0 none'
    if [ -z "$SANITIZED" ]; then
        with simulated 2 env "LD_PRELOAD=$top_builddir/src/aware/.libs/libgpubind-aware.so.0" "$program" pt2pt
        is 'both libraries: each range ends' "$status $(wrong)" '0 '
        is '... and each has started the tool' "$(grep -c start "$tmp/ranges")" 4
    fi
fi

# ---- no ranges

# none WHAT SAID VARIABLE...: the program runs as without; what GPUBIND_LOG says.
none() {
    what=$1 said=$2
    shift 2
    rm -f "$tmp/ranges"
    start simulated 2 env "$@" "$program" alone
    is "$what: the program runs" "$status $(cat "$tmp/err")" '0 '
    is '... and has no ranges' "$(grep -s ' push ' "$tmp/ranges")" ''
    start simulated 1 env "$@" GPUBIND_LOG=info "$program" alone
    is '... the log says why' "$(sed -n 's/.* core info: \(.*NVTX.*\)/\1/p' "$tmp/err")" "$said"
}
none 'no variable' ''
none 'an empty one' '' NVTX_INJECTION64_PATH=
none 'no such file' "no NVTX tool: $tmp/none.so: cannot open shared object file: No such file or directory" \
    "NVTX_INJECTION64_PATH=$tmp/none.so"
none 'no tool' "no NVTX tool: $tmp/cuda/libcuda.so.1: undefined symbol: InitializeInjectionNvtx2" \
    "NVTX_INJECTION64_PATH=$tmp/cuda/libcuda.so.1"
none 'a tool that refuses' "the NVTX tool $tool has refused" "NVTX_INJECTION64_PATH=$tool" NVTX_TOOL=refuse
none 'a tool that takes no domains' 'the NVTX tool takes no ranges of domains' \
    "NVTX_INJECTION64_PATH=$tool" NVTX_TOOL=poor
nothing_left 'nothing is left behind'
done_testing
