#!/bin/sh
# The memory of windows: shown by file descriptors where that is possible, else by IPC
# handles; whatever of it fails.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

# under WHAT N WAY [VARIABLE=VALUE...]: `ranks windows_memory WAY` on the simulated driver.
under() {
    what=$1 ranks=$2 way=$3
    shift 3
    # shellcheck disable=SC2086 # WAY may be two words
    start simulated "$ranks" env "$@" "$program" windows_memory $way
    setting=$what
    relay "windows_memory $way"
}

for setting in simulated 'slow copies' 'one device' GPU; do
    for ranks in 2 4 5; do
        on "$setting" "$ranks" windows_memory cumem
    done
done
on simulated 1 windows_memory ipc # nobody is there to show it to
under 'kernels' 3 cumem GPUBIND_SIM_KERNELS=1
under 'IPC handles are refused' 3 'cumem leaks' GPUBIND_SIM_IPC=refuse
under 'several threads' 2 cumem TEST_MULTIPLE=1
under 'asked for' 4 ipc GPUBIND_WINDOWS=ipc
on 'GPU ipc windows' 2 windows_memory ipc
under 'not by the driver' 4 ipc GPUBIND_SIM_CUMEM=no

# One rank alone cannot: all of the node take the other way.
one() {
    start simulated 3 sh -c 'me=${OMPI_COMM_WORLD_LOCAL_RANK:-$MPI_LOCALRANKID}
        [ "$me" != 1 ] || export '"$2"'; exec "$0" windows_memory '"$3" "$program"
    setting="one rank: $1"
    relay "windows_memory $3"
}
one 'not by the driver' GPUBIND_SIM_CUMEM=no ipc
one 'asked for' GPUBIND_WINDOWS=ipc ipc
one 'no GPU' CUDA_VISIBLE_DEVICES=-1 cumem
one 'sees its own device' 'CUDA_VISIBLE_DEVICES=$me' cumem

# Calls of rank 1 that fail: the first of its own memory, the second where it maps another's.
for call in cuMemGetAllocationGranularity:1+ cuMemCreate:1+ cuMemExportToShareableHandle:1+ \
    cuMemAddressReserve:1+ cuMemMap:1+ cuMemSetAccess:1+ cuMemAddressReserve:2 cuMemMap:2 \
    cuMemSetAccess:2 cuMemImportFromShareableHandle:1+ cuMemImportFromShareableHandle:2; do
    under "$call fails" 3 ipc GPUBIND_SIM_FAIL="$call=801" GPUBIND_SIM_RANK=1
done
# What is not given back stays; nothing else is wrong.
for call in cuMemRelease cuMemUnmap cuMemAddressFree; do
    under "$call fails" 3 'cumem leaks' GPUBIND_SIM_FAIL="$call:1+=1" GPUBIND_SIM_RANK=1
done

start simulated 2 env GPUBIND_VERBOSE=1 "$program" windows_memory cumem
check 'GPUBIND_VERBOSE says how windows are shown' \
    grep -q '^gpubind: rank 0: a window of this node is shown by file descriptors$' "$tmp/err"
start simulated 2 env GPUBIND_VERBOSE=1 GPUBIND_SIM_PEERS=none "$program" windows_apart some
check '... and why' grep -q \
    'shown by IPC handles; rank 0: another rank.s exportable GPU memory cannot be mapped: CUDA_ERROR_INV' \
    "$tmp/err"
start simulated 2 env GPUBIND_WINDOWS=vmm "$program" windows_memory cumem
check 'another value of GPUBIND_WINDOWS is refused' \
    grep -q 'GPUBIND_WINDOWS=vmm: there is any and ipc' "$tmp/err"

# Those of before, in the other way.
under_windows() {
    start simulated "$1" env "$2" "$program" windows
    setting=$2
    relay windows
}
under_windows 2 GPUBIND_SIM_CUMEM=no
under_windows 5 GPUBIND_WINDOWS=ipc
for ranks in 2 5; do
    on 'no IPC' $ranks windows # descriptors do not need it
done
nothing_left 'nothing is left behind'
done_testing
