#!/bin/sh
# docs/tutorial.md: each command of its console blocks is run, in order, and prints what is shown
# below it. "..." stands for further lines, or for the rest of a word. GPUs are pretended.
. "${top_srcdir:-$(dirname "$0")/..}/tests/lib.sh"

tutorial=$top_srcdir/docs/tutorial.md
[ -x "$top_builddir/examples/hello_gpu" ] || skip_all 'configured without MPI'
[ -n "$MPIRUN" ] || skip_all 'no mpirun'
# More ranks than cores, in the words of Open MPI 4 and 5.
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# The reader's folder, of sources that were built in build/.
mkdir "$tmp/steps" "$tmp/reader" "$tmp/cuda" "$tmp/bin"
ln -s "$top_srcdir/tests" "$top_srcdir/examples" "$top_builddir" "$tmp/reader/"
[ -e "$tmp/reader/build" ] || ln -s "$top_builddir" "$tmp/reader/build"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
# The MPI that configure found, under the names that readers type.
printf '#!/bin/sh\nexec %s "$@"\n' "$MPIRUN" >"$tmp/bin/mpirun"
printf '#!/bin/sh\nexec %s "$@"\n' "$MPICC" >"$tmp/bin/mpicc"
chmod +x "$tmp/bin/mpirun" "$tmp/bin/mpicc"
PATH=$tmp/bin:$PATH

# A command a file, NN.command, what is shown below it in NN.shown, and in which section.
awk -v folder="$tmp/steps" '
    /^## / { section = substr($0, 4) }
    /^```console$/ { on = 1; next }
    /^```/ { on = 0; next }
    on && /^\$ / { file = sprintf("%s/%02d", folder, ++n); print substr($0, 3) >(file ".command")
                   print section >(file ".section"); printf "" >(file ".shown"); next }
    on { print >(file ".shown") }' "$tutorial"
check 'it has commands' test "$(ls "$tmp/steps" | grep -c command)" -gt 10
is 'what is not run is marked as text' "$(grep '^```.' "$tutorial" | sort -u | xargs)" '```console ```text'

# pattern LINE: a basic regular expression for a line that is shown.
pattern() { printf '%s\n' "$1" | sed 's/[][\.*^$]/\\&/g; s/\\\.\\\.\\\./.*/g'; }

# as_shown SHOWN SAID: in any order, as ranks are.
as_shown() {
    if ! grep -qF ... "$1"; then
        is "... prints what is shown" "$(sort "$2")" "$(sort "$1")"
        return
    fi
    grep -vFx ... "$1" | while IFS= read -r line; do
        [ -z "$line" ] || grep -qx -e "$(pattern "$line")" "$2" || printf 'not printed: %s\n' "$line"
    done >"$tmp/missing"
    is "... prints what is shown" "$(cat "$tmp/missing")" ''
    [ ! -s "$tmp/missing" ] || diag "$(cat "$2")"
    grep -qFx ... "$1" || is '... and no more lines' "$(wc -l <"$2")" "$(wc -l <"$1")"
}

# What the section needs that pretends GPUs: the recorded ones for the launcher, simulated ones for CUDA.
pretend() {
    export LD_LIBRARY_PATH="$tmp/cuda" GPUBIND_SIM_JOB="${tmp##*.}" GPUBIND_VISIBLE=all
    [ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI
}

host=$(uname -n | sed 's/[.].*//')
cd "$tmp/reader" || exit 1
for step in "$tmp"/steps/*.command; do
    step=${step%.command}
    command=$(cat "$step.command")
    case $(cat "$step.section") in
    'A program that passes GPU memory') pretend ;;
    esac
    case $SANITIZED:$command in
    ?*:*--gpu-aware*)
        skip "$command" 'the library cannot be preloaded to a program without sanitizers'
        continue
        ;;
    esac
    eval "$command" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    wanted=0
    [ "$command" != gpubind ] || wanted=125
    is "$command" "$status" "$wanted"
    sed -E "s/^node $host(\.[^:]*)?:/node vm:/; s/ on $host(\.[^:]*)?:/ on vm:/; s/^$host(\.[^ ]*)? local/vm local/" \
        "$tmp/out" "$tmp/err" >"$tmp/said"
    as_shown "$step.shown" "$tmp/said"
done
nothing_left 'nothing is left behind'
done_testing
