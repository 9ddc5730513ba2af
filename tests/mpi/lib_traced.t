#!/bin/sh
# GPUBIND_TRACE: libgpubind's part of each rank. What it says of messages agrees with the other side's, and with
# the path that the job was given; what nothing follows has no duration.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
command -v python3 >/dev/null || skip_all 'no python3'

# traced SETTING PATHS KINDS N TEST...: the test's messages go by these paths.
traced() {
    is_wanted "$1" || return 0
    way=$1 paths=$2 kinds=$3 ranks=$4
    shift 4
    rm -f "$tmp"/trace.*
    export "GPUBIND_TRACE=$tmp/trace"
    on "$way" "$ranks" "$@"
    unset GPUBIND_TRACE
    # shellcheck disable=SC2086 # words
    is "$way: $1: what was sent was received, by $paths" \
        "$(python3 "$top_srcdir/tests/mpi/traced.py" "$tmp/trace" "$ranks" $paths 2>&1)" "$kinds"
}
# What a late receiver is sent is staged or buffered, and what goes between host memory and a GPU's is staged.
any='direct packed buffered staged'
for setting in simulated kernels GPU; do
    for test in pt2pt on_stream_direct persistent_stream; do
        traced "$setting" "$any" 'receive send' 2 $test
    done
    traced "$setting" 'direct packed' 'get put receive send' 2 windows
done
traced 'no peers' 'buffered staged' 'receive send' 2 pt2pt
traced 'no peers' 'buffered staged' 'receive send' 2 on_stream_direct
traced 'network path' staged 'receive send' 2 pt2pt
traced 'network threads' staged 'receive send' 2 on_stream_mixed
traced 'network threads' 'buffered staged' 'get put receive send' 2 windows_apart served
traced simulated 'direct packed buffered' 'receive send' 3 comms
traced simulated 'direct packed buffered' 'receive send' 4 halo

# A start on a channel by a stream is an event without a duration.
if is_wanted simulated; then
    traced simulated "$any" 'receive send' 2 persistent_stream
    check 'starts on streams have no duration' grep -q '"dur": 0.000,.*"path": "direct"' "$tmp/trace.libgpubind.0"
fi

# Beside libgpubind-aware, which has the MPI functions.
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so.0
if [ -z "$SANITIZED" ] && [ -e "$aware" ]; then
    printf '#!/bin/sh\nLD_PRELOAD=%s exec "$@"\n' "$aware" >"$tmp/aware"
    chmod +x "$tmp/aware"
    start simulated 2 env "GPUBIND_TRACE=$tmp/both" "$tmp/aware" "$program" pt2pt
    is 'both libraries: the program comes to its end' "$status" 0
    is '... libgpubind tells of its messages' \
        "$(python3 "$top_srcdir/tests/mpi/traced.py" "$tmp/both" 2 direct packed buffered staged 2>&1)" 'receive send'
    is '... libgpubind-aware of the calls of MPI' "$(grep -c '"library": "libgpubind-aware".*"pairs": \[\]' "$tmp/both.0" "$tmp/both.1" | xargs)" \
        "$tmp/both.0:1 $tmp/both.1:1"
    start 'network path' 2 env "GPUBIND_TRACE=$tmp/net" "$tmp/aware" "$program" pt2pt
    is 'both libraries, by the network: the program comes to its end' "$status" 0
    is '... libgpubind tells of its messages' "$(python3 "$top_srcdir/tests/mpi/traced.py" "$tmp/net" 2 staged 2>&1)" 'receive send'
    is '... and libgpubind-aware does not tell of what they send by MPI' \
        "$(grep -c '"library": "libgpubind-aware".*"pairs": \[\]' "$tmp/net.0" "$tmp/net.1" | xargs)" "$tmp/net.0:1 $tmp/net.1:1"
fi

start simulated 2 env "GPUBIND_TRACE=$tmp/nowhere/x" "$program" alone
is 'a file that cannot be written: the program goes on' "$status" 0
is '... and each rank says so once' \
    "$(grep -c '^gpubind: GPUBIND_TRACE: .*/nowhere/x\.libgpubind\.[01] cannot be written: No such file' "$tmp/err")" 2
nothing_left 'nothing is left behind'
done_testing
