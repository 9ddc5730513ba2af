#!/bin/sh
# GPUBIND_TRACE: what is recorded of messages, collectives and one-sided calls, and what gpubind-plot makes of it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

program=$top_builddir/tests/aware/traced
[ -x "$program" ] || skip_all 'configured without MPI'
command -v python3 >/dev/null || skip_all 'no python3'

# traced SETTING DIRECT: all calls, with DIRECT of traced.py.
traced() {
    is_wanted "$1" || return 0
    start "$1" 3 env "GPUBIND_TRACE=$tmp/trace" "$program"
    is "$1: the program comes to its end" "$status" 0
    for rank in 0 1 2; do
        check "$1: the part of rank $rank is JSON" python3 -m json.tool "$tmp/trace.$rank"
    done
    is "$1: and has each call, with its peer, bytes and path" \
        "$(python3 "$top_srcdir/tests/aware/traced.py" "$tmp/trace" "$2" 2>&1)" ''
}
traced simulated direct
traced 'host path' host
traced threads direct
traced GPU direct

# of NAME: a number of rank 0's part.
of() { sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" "$tmp/trace.0" | head -n 1; }
start simulated 1 env "GPUBIND_TRACE=$tmp/trace" "$program" many
is 'more than there is room for: so many, dropped so many' "$(of events) $(of dropped)" '80000 14464'
is 'and the others are there' "$(grep -c '"ph": "X"' "$tmp/trace.0")" 65536
is 'but all are in the sums' "$(grep -c '"calls": 40000,' "$tmp/trace.0")" 2

# A direct message that cannot be mapped.
start 'no IPC' 3 env "GPUBIND_TRACE=$tmp/trace" "$program"
check 'no IPC: what goes by the host after all is told' \
    grep -q '"kind": "receive", "peer": 0, "path": "buffered"' "$tmp/trace.1"

# ---- files

start simulated 3 env "GPUBIND_TRACE=$tmp/nowhere/x" "$program" messages
is 'a file that cannot be written: the program goes on' "$status" 0
is '... and each rank says so once' \
    "$(grep -c '^gpubind: GPUBIND_TRACE: .*/nowhere/x\.[0-2] cannot be written: No such file' "$tmp/err") $(wc -l <"$tmp/err")" \
    '3 3'
start simulated 1 env "GPUBIND_TRACE=$tmp/short" "$program" full
is 'no space: the program goes on' "$status" 0
is '... and says so' "$(cat "$tmp/err")" "gpubind: GPUBIND_TRACE: $tmp/short.0 cannot be written: File too large"
is '... and leaves an empty part, no half one' "$(find "$tmp" -name 'short*' -size 0)" "$tmp/short.0"
if [ -w /dev/full ]; then
    ln -s /dev/full "$tmp/full.0"
    start simulated 1 env "GPUBIND_TRACE=$tmp/full" "$program" many
    is 'a device that is full: the program goes on' "$status" 0
    is '... and says so' "$(sed 's/written: .*/written/' "$tmp/err")" \
        "gpubind: GPUBIND_TRACE: $tmp/full.0 cannot be written"
fi
start simulated 1 env "GPUBIND_TRACE=$tmp/two" "$program" other
is 'two runs with one FILE: the program comes to its end' "$status" 0
check '... the part is JSON, of one of them' python3 -m json.tool "$tmp/two.0"
is '... and no other file is left' "$(find "$tmp" -name 'two*')" "$tmp/two.0"
start simulated 3 env GPUBIND_TRACE= "$program" messages
is 'no name is none' "$status $(cat "$tmp/err")" '0 '

# ---- MPICH

aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
launcher=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -n "$SANITIZED$quick" ] || [ ! -e "$aware" ] || [ -z "$launcher" ] || ! command -v mpicc.mpich >"$tmp/out"; then
    skip 'MPICH' 'not here, or not wanted'
else
    run mpicc.mpich -pthread "-I$top_srcdir" -o "$tmp/traced" "$top_srcdir/tests/aware/traced.c" -ldl
    is 'MPICH: the program compiles' "$status" 0
    printf '#!/bin/sh\nLD_PRELOAD=%s exec %s "$@"\n' "$aware" "$tmp/traced" >"$tmp/aware_traced"
    chmod +x "$tmp/aware_traced"
    export MPIRUN="$launcher"
    program=$tmp/aware_traced
    traced simulated direct
    traced 'host path' host
fi
nothing_left 'nothing is left behind'
done_testing
