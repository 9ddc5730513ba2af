#!/bin/sh
# MPI_Win_allocate with GPU memory.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"
. "$top_srcdir/tests/nodes.sh"

calls=$top_builddir/tests/aware/allocate kinds=$top_builddir/tests/aware/allocate_kinds
[ -x "$calls" ] || skip_all 'configured without MPI'
host='gpubind: MPI_Win_allocate gives host memory, in spite of GPUBIND_WIN_MEMORY=cuda: '
managed='gpubind: MPI_Win_allocate: the memory of a window may be cuda:device, not cuda:managed'

# said N TEXT: on stderr, N times.
said_times() { is "$setting: $1 times: $2" "$(grep -c "^$2" "$tmp/err")" "$1"; }

# With programs of one MPI, in the settings of all ways.
all() {
    program=$calls
    for setting in simulated 'no IPC' GPU; do
        for n in 1 2 3; do
            on "$setting" $n usual
        done
    done
    # Open MPI 4.1 fails in atomic calls to host memory of MPI_Win_allocate, by osc/rdma.
    OMPI_MCA_osc='^rdma'
    export OMPI_MCA_osc
    for setting in 'host path' 'GPU host path'; do
        for n in 1 2 3; do
            on "$setting" $n usual far
        done
    done
    unset OMPI_MCA_osc
    for setting in simulated GPU; do on "$setting" 3 again; done
    program=$kinds
    for setting in simulated GPU; do
        if is_wanted "$setting"; then
            on "$setting" 2 kinds
            said_times 3 "$managed"
            said_times 3 'gpubind: MPI_Win_allocate: [0-9]* bytes of GPU memory: memory cannot be allocated: CUDA_ERROR'
            on "$setting" 2 without_context
        fi
    done
    on 'host path' 2 kinds far
    on 'host path' 2 without_context
    export GPUBIND_WIN_MEMORY=cuda
    for setting in simulated 'host path' GPU; do on "$setting" 2 environment; done
    if is_wanted 'no GPU'; then
        on 'no GPU' 2 no_gpu_environment
        said_times 2 "$host"
    fi
    export GPUBIND_WIN_MEMORY=device
    if is_wanted 'no GPU'; then
        on 'no GPU' 2 no_gpu_environment
        said_times 2 'gpubind: GPUBIND_WIN_MEMORY is host or cuda, not "device"; taken as host'
    fi
    unset GPUBIND_WIN_MEMORY
    on 'no GPU' 2 no_gpu
    on 'no driver' 2 no_gpu
}

all
OMPI_MCA_osc=sm
export OMPI_MCA_osc # as Open MPI 4.1 on a machine without a network
program=$calls on simulated 2 usual
unset OMPI_MCA_osc

# over LAUNCHER VERSION: three ranks on two pretended nodes.
over() {
    launcher=$1 version=$2
    simulated="LD_LIBRARY_PATH=$tmp/cuda GPUBIND_SIM_JOB=${tmp##*.} ${SANITIZED:+ASAN_OPTIONS=detect_leaks=0}"
    case $version in
    4) options='--bind-to none --mca osc pt2pt' ;; # the others make no window without a network
    5) options='--bind-to none' ;;
    *) options= ;;
    esac
    setting="$launcher, 3 ranks on two nodes"
    # shellcheck disable=SC2086 # words
    set -- "$launcher" 2 2 -np 3 $options env $simulated "$calls" usual far
    run "$@"
    # Open MPI 5's mpirun has been seen not to end after all its ranks had.
    if [ "$status" = 124 ] && [ "$version" = 5 ]; then run "$@"; fi
    relay usual
}

if [ "$real_gpu" = only ]; then
    skip 'several nodes' 'with the simulated driver alone'
elif ! "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
    skip 'several nodes' 'the MPI that was configured is not Open MPI'
elif . "$launch_dir/multinode.sh" && multinode_usable; then
    over multinode "$(multinode_version)"
else
    skip 'several nodes' "$launch_why"
fi

# Over MPICH, beside the MPI that was configured.
aware=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
hydra=$(command -v mpirun.mpich || command -v mpiexec.hydra)
if [ -z "$SANITIZED" ] && [ -n "$hydra" ] && [ -e "$aware" ] && command -v mpicc.mpich >"$tmp/out"; then
    for name in allocate allocate_kinds; do
        run mpicc.mpich -D_GNU_SOURCE "-I$top_srcdir" -o "$tmp/$name" "$top_srcdir/tests/aware/$name.c" -ldl
        is "$name compiles with mpicc.mpich" "$status" 0
        # shellcheck disable=SC2016 # for the ranks
        printf '#!/bin/sh\nLD_PRELOAD=%s exec "${0%%/*}/%s" "$@"\n' "$aware" "$name" >"$tmp/over_$name"
        chmod +x "$tmp/over_$name"
    done
    calls=$tmp/over_allocate kinds=$tmp/over_allocate_kinds
    MPIRUN=$hydra
    all
    if [ "$real_gpu" != only ] && . "$launch_dir/hydra.sh" && hydra_usable; then
        over hydra ''
    else
        skip 'several nodes, MPICH' "${launch_why:-with the simulated driver alone}"
    fi
else
    skip 'over MPICH' 'no mpicc.mpich, no mpirun.mpich, no libgpubind-aware-mpich, or sanitizers'
fi
nothing_left 'nothing is left behind'
done_testing
