# For tests of gpubind-bench's subcommands, behind lib.sh: the simulated driver instead of
# the machine's, and what all of them look for. Skips the whole file where there is none.
# shellcheck shell=sh disable=SC2154

[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI
[ -n "$MPIRUN" ] || skip_all 'no MPI'
gpubind-bench --help >/dev/null 2>&1 || skip_all 'no gpubind-bench: not built here'
sim=$top_builddir/tests/sim/.libs/libcudasim.so
[ -r "$sim" ] || skip_all 'no simulated driver: not built here'
mkdir "$tmp/driver"
ln -s "$sim" "$tmp/driver/libcuda.so.1"
LD_LIBRARY_PATH=$tmp/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# bench OPTION...: one process, without mpirun where this MPI can be started so.
if bounded gpubind-bench p2p --no-such-option 2>&1 | grep -q "^gpubind-bench: unknown option"; then
    bench() { run bounded gpubind-bench "$@"; }
else
    bench() { run mpi 1 gpubind-bench "$@"; }
fi

# said DESCRIPTION STATUS PATTERN: what was run last ended so, with one sentence that fits
# PATTERN, and printed nothing.
said() {
    if [ "$status" = "$2" ] && [ ! -s "$tmp/out" ] &&
        [ "$(grep -c '^gpubind-bench: ' "$tmp/err")" = 1 ] &&
        grep '^gpubind-bench: ' "$tmp/err" | grep -qe "$3"; then
        ok "$1"
    else
        not_ok "$1"
        diag "status $status, not $2, or not one sentence with '$3'"
    fi
}

# holds DESCRIPTION PYTHON: what was printed is JSON, of which as "report" with "rows" the
# assertions are true.
holds() {
    if command -v python3 >/dev/null; then
        check "$1" python3 -c "
import json, sys
report = json.load(open(sys.argv[1]))
rows = report['results']
def of(**wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]
$2" "$tmp/out"
    else
        skip "$1" 'no python3'
    fi
}
