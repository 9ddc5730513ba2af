#!/bin/sh
# Windows with GPU memory of ranks that are out of each other's reach: MPI has a mirror of the memory, or, in
# dynamic ones, of each piece.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/nodes.sh"

built=$top_builddir/tests/aware
[ -x "$built/mirror" ] || skip_all 'configured without MPI'
for setting in 'host path' 'GPU host path'; do
    for program in "$built/mirror" "$built/attached"; do
        for n in 1 2 3; do
            on "$setting" $n "${program##*/}"
        done
    done
    program=$built/mirror
    on "$setting" 2 threads
done
GPUBIND_PINNED_MEMORY=0 on 'host path' 2 mirror

# Ranks that pass host memory alone may go without the library, and would not answer it.
# shellcheck disable=SC2086 # words
without() {
    setting=$1
    vars="LD_LIBRARY_PATH=$tmp/cuda GPUBIND_SIM_JOB=${tmp##*.} GPUBIND_PATH=host"
    run mpi 1 env $vars "$program" host : -np 1 env $vars GPUBIND_GPU_AWARE=off "$program" host
    relay host
}
program=$built/attached
without 'a rank without it'

# over LAUNCHER VERSION PROGRAM: two and three ranks on two pretended nodes.
over() {
    launcher=$1 version=$2 program=$3
    simulated="LD_LIBRARY_PATH=$tmp/cuda GPUBIND_SIM_JOB=${tmp##*.} ${SANITIZED:+ASAN_OPTIONS=detect_leaks=0}"
    case $version in
    4) options='--bind-to none --mca osc pt2pt' ;; # the others make no window without a network
    5) options='--bind-to none' ;;
    *) options= ;;
    esac
    for n in 2 3; do
        setting="$launcher, $n ranks on two nodes"
        # shellcheck disable=SC2086 # words
        set -- "$launcher" 2 $((n - 1)) -np $n $options env $simulated "$program"
        run "$@"
        # Open MPI 5's mpirun has been seen not to end after all its ranks had.
        if [ "$status" = 124 ] && [ "$version" = 5 ]; then run "$@"; fi
        relay "${program##*/}"
    done
}

if [ "$real_gpu" = only ]; then
    skip 'several nodes' 'with the simulated driver alone'
elif ! "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
    skip 'several nodes' 'the MPI that was configured is not Open MPI'
elif . "$launch_dir/multinode.sh" && multinode_usable; then
    over multinode "$(multinode_version)" "$built/mirror"
    over multinode "$(multinode_version)" "$built/attached"
else
    skip 'several nodes' "$launch_why"
fi

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    mkdir "$tmp/over_mpich"
    for name in mirror attached; do
        run mpicc.mpich -D_GNU_SOURCE -pthread "-I$top_srcdir" -o "$tmp/$name" "$top_srcdir/tests/aware/$name.c" -ldl
        is "$name compiles with mpicc.mpich" "$status" 0
        # shellcheck disable=SC2016 # for the ranks
        printf '#!/bin/sh\nGPUBIND_WIN_DYNAMIC=cuda LD_PRELOAD=%s exec "${0%%/*}/../%s" "$@"\n' "$aware" $name >"$tmp/over_mpich/$name"
        chmod +x "$tmp/over_mpich/$name"
        program=$tmp/over_mpich/$name
        for n in 1 2 3; do
            MPIRUN=$hydra on 'host path' $n "over MPICH, $name"
        done
    done
    program=$tmp/over_mpich/mirror
    MPIRUN=$hydra on 'host path' 2 threads
    if [ "$real_gpu" != only ] && . "$launch_dir/hydra.sh" && hydra_usable; then
        over hydra '' "$tmp/over_mpich/mirror"
        over hydra '' "$tmp/over_mpich/attached"
    else
        skip 'several nodes, MPICH' "${launch_why:-with the simulated driver alone}"
    fi
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
