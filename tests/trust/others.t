#!/bin/sh
# What another user of the node can do to a job: connect to its sockets, send nonsense, take its
# places, and lay files in its way. The meeting of launcher processes: tests/bin/run_strangers.t.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

[ "$(id -u)" = 0 ] || skip_all 'to be another user takes root'
stranger=$top_builddir/tests/trust/stranger
"$stranger" apart "$stranger" knock 0 >/dev/null 2>&1 ||
    skip_all 'no right to become another user, or to a network of its own'
# Sockets without a path belong to the network: no other test's are knocked at.
if [ -z "${TEST_APART-}" ]; then
    rm -rf "$tmp"
    TEST_APART=1 exec "$stranger" apart sh "$0"
fi
. "$top_srcdir/tests/mpi/ranks.sh"

lib=$top_builddir/tests/mpi/ranks
aware=$top_builddir/tests/aware/soak
refuse=$top_builddir/tests/trust/refuse
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# beside COMMAND...: two ranks, while the stranger knocks.
beside() {
    "$stranger" knock 100 >"$tmp/stranger" &
    knocking=$!
    start simulated 2 "$@"
    kill "$knocking"
    wait "$knocking"
}
ended_well() { echo "$status $(grep -c '^not ok' "$tmp/out") $(grep -c '^ok 1 ' "$tmp/out") $(cat "$tmp/stranger")"; }
said_once() { grep '^gpubind: ' "$tmp/err" | wc -l; }

if [ -x "$aware" ]; then
    beside "$aware" 1 3
    is 'libgpubind-aware: nonsense from a stranger, and its connections kept' \
        "$(ended_well | sed 's/ datagrams [01]//')" \
        '0 0 1 seen 1 connected 1 opened 0'
    is '... nothing is said' "$(said_once)" 0
    start simulated 2 "$stranger" plant env GPUBIND_VERBOSE=1 "$aware" 0.3 3
    is 'a stranger in the places of ranks: the slower way' \
        "$status $(grep -c 'planted 1' "$tmp/err" | tr 2 1) $(grep -c 'from GPU memory: 0 by gpubind' "$tmp/err")" '0 1 2'
fi

# libgpubind's sockets live as long as descriptors are passed, which is whenever a communicator is
# attached or a window made.
beside "$lib" soak 2 3
is 'libgpubind: nonsense from a stranger' "$(ended_well | sed 's/[01] connected [01] datagrams [01]/.../')" \
    '0 0 1 seen ... opened 0'
beside "$refuse" EPERM memfd_create "$lib" soak 2 3
is 'files in /dev/shm: not the stranger'\''s' "$(ended_well | sed 's/seen [01] connected [01] datagrams [01]/.../')" \
    '0 0 1 ... opened 0'
nothing_left 'nothing is left behind'
done_testing
