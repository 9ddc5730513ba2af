# For shell tests: `. "${top_srcdir:-.}/tests/lib.sh"` as their first line, done_testing
# as their last. TAP on stdout; a test that dies before done_testing has no plan
# and so fails. By hand, from the build folder: sh ../tests/NAME.t
#
# Sets top_srcdir, top_builddir, and tmp: a folder of the test's own.

top_builddir=${top_builddir:-$PWD}
top_srcdir=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
PATH=$top_builddir/bin:$PATH
tests_run=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/gpubind-test.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# What the person at the keyboard has set, or the job that the tests run in.
for name in $(env | sed -nE 's/^((GPUBIND|PMIX?|SLURM|FLUX|PALS|JSM|MV2|OMPI_COMM|PRTE|OMP)_[A-Za-z0-9_]*)=.*/\1/p') \
            CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER HWLOC_XMLFILE; do
    unset "$name"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

ok() { tests_run=$((tests_run + 1)); echo "ok $tests_run - $1"; }

not_ok() { tests_run=$((tests_run + 1)); echo "not ok $tests_run - $1"; }

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

# mpi N COMMAND [ARG...]: N ranks under the MPI that configure found, also where
# there are fewer cores.
mpi() {
    ranks=$1; shift
    if "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
        "$MPIRUN" --oversubscribe -np "$ranks" "$@"
    else
        "$MPIRUN" -np "$ranks" "$@"
    fi
}

done_testing() { echo "1..$tests_run"; }
