# For shell tests: `. "${top_srcdir:-...}/tests/lib.sh"` as their first line, done_testing
# as their last. TAP on stdout; a test that dies before done_testing has no plan
# and so fails. By hand, from the build folder: sh ../tests/FOLDER/NAME.t
#
# Sets top_srcdir, top_builddir, and tmp: a folder of the test's own.

top_builddir=${top_builddir:-$PWD}
case $0 in
*tests/*/*) up=../.. ;;
*) up=.. ;;
esac
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/$up" && pwd)}
PATH=$top_builddir/bin:$PATH
tests_run=0
# No dash: PRRTE 3.0 takes one in a rankfile's path for an option.
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gpubind_test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# How many times as long everything may take, for a machine that does much else. Under this name it reaches ranks
# on other nodes and nothing of gpubind's, which looks at all that begins with GPUBIND_.
export TEST_PATIENCE="${GPUBIND_TEST_PATIENCE:-1}"

# What the person at the keyboard has set, or the job that the tests run in.
for name in $(env | sed -nE 's/^((GPUBIND|PMIX?|SLURM|FLUX|PALS|JSM|MV2|OMPI_COMM|PRTE|OMP)_[A-Za-z0-9_]*)=.*/\1/p') \
            CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES \
            GPU_DEVICE_ORDINAL ZE_AFFINITY_MASK ZE_FLAT_DEVICE_HIERARCHY \
            ZE_ENABLE_PCI_ID_DEVICE_ORDER HWLOC_XMLFILE; do
    unset "$name"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# While a rank of Open MPI waits, tests beside it have its CPU; MPICH's ranks yield anyway.
export OMPI_MCA_mpi_yield_when_idle=1

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() { tests_run=$((tests_run + 1)); echo "ok $tests_run - $1"; }

# With what the command that was run last wrote to stderr.
not_ok() {
    tests_run=$((tests_run + 1))
    echo "not ok $tests_run - $1"
    [ ! -s "$tmp/err" ] || diag "status ${status-}, and on stderr:
$(tail -n 20 "$tmp/err")"
}

# skip DESCRIPTION REASON
skip() { tests_run=$((tests_run + 1)); echo "ok $tests_run - $1 # SKIP $2"; }

# The whole file; only before the first result.
skip_all() { echo "1..0 # SKIP $1"; exit 0; }

# check DESCRIPTION COMMAND [ARG...]: COMMAND succeeds; what it said is shown if not.
check() {
    what=$1; shift
    if said=$("$@" 2>&1); then ok "$what"; else not_ok "$what"; diag "$* said: $said"; fi
}

# is DESCRIPTION GOT WANTED
is() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1"
        diag "got:
$2"
        diag "wanted:
$3"
    fi
}

# bounded COMMAND [ARG...]: for $limit seconds (60) at most, times the patience; status 124 tells that it hung.
bounded() { timeout -k 5 "$((${limit:-60} * TEST_PATIENCE))" "$@"; }

# run COMMAND [ARG...]: sets status; what it said lies in $tmp/out and $tmp/err.
run() { status=0; "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || status=$?; }

# spawns COMMAND [ARG...]: what sets status is tried three times while it hangs: MPI_Comm_spawn of
# Open MPI 4.1.4 itself does not come back at times on a loaded machine, without gpubind, too.
spawns() {
    for _ in 1 2 3; do
        limit=20 "$@"
        [ "$status" = 124 ] || return 0
    done
}

# mpi N COMMAND [ARG...]: N ranks under the MPI that configure found, also where
# there are fewer cores.
mpi() {
    ranks=$1; shift
    if "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
        bounded "$MPIRUN" --oversubscribe -np "$ranks" "$@"
    else
        bounded "$MPIRUN" -np "$ranks" "$@"
    fi
}

# refused DESCRIPTION PATTERN [STATUS]: what was run last failed with STATUS (125),
# printed nothing, and gpubind said one sentence, over all ranks, that fits PATTERN.
# What mpirun itself says, in lines between dashes, does not count.
refused() {
    sentences=$(grep '^gpubind: ' "$tmp/err")
    if [ "$status" = "${3:-125}" ] && [ ! -s "$tmp/out" ] &&
        [ "$(grep -c '^gpubind: ' "$tmp/err")" = 1 ] &&
        printf '%s\n' "$sentences" | grep -qe "$2"; then
        ok "$1"
    else
        not_ok "$1"
        diag "not status ${3:-125}, or not one sentence with '$2', or a word on stdout:
$(head -c 1000 "$tmp/out")"
    fi
}

# nothing_left DESCRIPTION: no process that this test started still runs, and no file
# of gpubind lies where temporary files go. (Sockets without a name in the file
# system end with their processes.)
export TEST_MARK="$tmp"
nothing_left() {
    for _ in $(seq $((10 * TEST_PATIENCE))); do # files may be another test's, which removes them soon
        left=$(env -u TEST_MARK grep -lsF "TEST_MARK=$tmp" /proc/[0-9]*/environ)
        files=$(find /dev/shm /tmp "${TMPDIR:-/tmp}" -maxdepth 1 -user "$(id -u)" \
            -name 'gpubind*' ! -name 'gpubind[-_]test*' -newer "$tmp" 2>/dev/null)
        [ -n "$left$files" ] || break
        sleep 1
    done
    [ -z "$left" ] || diag "$(for file in $left; do tr '\0' ' ' <"${file%environ}cmdline"; echo; done)"
    is "$1" "$left$files" ''
}

# linted FILE NAME: mandoc and groff have nothing against the manual page.
linted() {
    if command -v mandoc >/dev/null; then
        is "mandoc has nothing against $2" "$(mandoc -Tlint -Wwarning "$1" 2>&1)" ''
    else
        skip "mandoc has nothing against $2" 'no mandoc'
    fi
    if groff --version >/dev/null 2>&1 && echo .TH X 1 | groff -man -z >/dev/null 2>&1; then
        is "groff has nothing against $2" "$(groff -man -ww -Tutf8 -z "$1" 2>&1)" ''
    else
        skip "groff has nothing against $2" 'no groff with man macros'
    fi
}

done_testing() { echo "1..$tests_run"; }
