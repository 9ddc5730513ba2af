# Sourced by the scripts beside it. Each builds a program that was written for a CUDA-aware MPI, unchanged, runs it
# under --gpu-aware, and with its own staging where it has any, and says how long each run took:
#
#     tests/apps/NAME.sh SOURCE [RANKS...]
#
# SOURCE is the folder that docs/applications.md names; RANKS are 1 and 2 unless named. Results lie in
# build-apps/NAME of the current folder. GPUBIND and MPIRUN are commands, APPS_SECONDS is a run's limit. Ends with
# status 1 where a build or a run has failed, or is wrong by the program's own check.
# shellcheck shell=sh disable=SC2034 # the scripts read ranks and failed
set -u

app=${0##*/} app=${app%.sh}
if [ $# -eq 0 ] || [ ! -d "$1" ]; then
    echo "usage: $0 SOURCE [RANKS...]${1:+: there is no folder $1}" >&2
    exit 2
fi
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d .)
[ -n "$arch" ] || { echo "$app: there is no GPU here" >&2; exit 1; }
out=$PWD/build-apps/$app
rm -rf "$out" && mkdir -p "$out" && cp -r "$1" "$out/source" || exit 1
shift
[ $# -gt 0 ] || set -- 1 2
ranks=$*
cuda=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
jobs=$(nproc)
failed=0

# compile COMMAND...: in the source's folder.
compile() {
    (cd "$out/source" && "$@") >>"$out/build.log" 2>&1 && return
    echo "$app: $1 has failed:" >&2
    tail -n 10 "$out/build.log" >&2
    exit 1
}

# timed RANKS WAY TIME COMMAND...: WAY is aware or staged; TIME is a sed command that prints the time that the
# program tells.
timed() {
    n=$1 way=$2 time=$3 log=$out/$app.$2.$1.log
    shift 3
    [ "$way" = staged ] || set -- --gpu-aware "$@"
    if (cd "$out/source" && timeout -k 10 "${APPS_SECONDS:-300}" "${MPIRUN:-mpirun}" --oversubscribe \
        -np "$n" "${GPUBIND:-gpubind}" "$@") >"$log" 2>&1 && is_right "$log"; then
        echo "$app, ranks: $n, $way: $(sed -n "$time" "$log" | tail -n 1)"
    else
        echo "$app, ranks: $n, $way: has failed:"
        tail -n 20 "$log"
        failed=1
    fi
}

# LOG: what the program says of itself, beyond its status.
is_right() {
    true
}
