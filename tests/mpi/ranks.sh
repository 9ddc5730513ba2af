# Sourced after lib.sh by tests/lib_*.t: runs the tests of tests/mpi/ranks under mpirun,
# each in several settings: on the simulated driver always, on real GPUs where
# GPUBIND_TEST_GPU=1 says that there are some (only: and nowhere else). By hand, from the build folder:
#   LD_LIBRARY_PATH=FOLDER mpirun -np 2 tests/mpi/ranks pt2pt
# shellcheck shell=sh disable=SC2154

program=$top_builddir/tests/mpi/ranks
[ -n "$MPIRUN" ] || skip_all 'no MPI'
mkdir "$tmp/cuda" "$tmp/none"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
: >"$tmp/cuda/libnccl.so.2" # a machine may have one, which takes no simulated GPU

[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI
# lib.sh unset it; what this shell was started with is still there.
asked() { tr '\0' '\n' <"/proc/$$/environ" | sed -n "s/^$1=//p"; }
real_gpu=$(asked GPUBIND_TEST_GPU)
# A few settings in place of all; 2: four of them, 3: two.
quick=$(asked GPUBIND_TEST_QUICK)

# NAME | what the ranks find in their environment. "GPU" in a name: on real ones.
settings="
simulated     |
slow copies   | GPUBIND_SIM_LATENCY=30
slower copies | GPUBIND_SIM_LATENCY=2000
slowest copies | GPUBIND_SIM_LATENCY=20000
no peers      | GPUBIND_SIM_PEERS=none
no IPC        | GPUBIND_SIM_IPC=refuse
no reads      | TEST_NO_READS=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
no mappings   | GPUBIND_SIM_IPC=refuse GPUBIND_SIM_CUMEM=no
one device    | GPUBIND_SIM_DEVICES=1
one device, kernels | GPUBIND_SIM_DEVICES=1 GPUBIND_SIM_KERNELS=1
three devices | GPUBIND_SIM_DEVICES=3
one way       | GPUBIND_SIM_DEVICES=3 GPUBIND_SIM_PEERS=011/101/110
one way round | GPUBIND_SIM_DEVICES=3 GPUBIND_SIM_PEERS=010/001/100
kernels       | GPUBIND_SIM_KERNELS=1
kernels, locks | GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_LOCKS=1
kernels, channel | GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_CHANNEL=1
kernels, channel, locks | GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_CHANNEL=1 GPUBIND_SIM_LOCKS=1
one device, channel | GPUBIND_SIM_DEVICES=1 GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_CHANNEL=1
MPS           | GPUBIND_SIM_DEVICES=1 GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_MPS=1
MPS, eight channels | GPUBIND_SIM_DEVICES=1 GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_MPS=1 CUDA_DEVICE_MAX_CONNECTIONS=8
two channels  | GPUBIND_SIM_DEVICES=1 GPUBIND_SIM_KERNELS=1 CUDA_DEVICE_MAX_CONNECTIONS=2
kernels, no peers | GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_PEERS=none
shared, locks | GPUBIND_PATH=shared GPUBIND_SIM_KERNELS=1 GPUBIND_SIM_LOCKS=1
shared path   | GPUBIND_PATH=shared
host path     | GPUBIND_PATH=host
network path  | GPUBIND_PATH=network
slow network  | GPUBIND_PATH=network GPUBIND_SIM_LATENCY=30
slow shared   | GPUBIND_PATH=shared GPUBIND_SIM_LATENCY=30
few mappings  | GPUBIND_MAPPINGS=4
small memory  | GPUBIND_SIM_MEMORY=67108864
small memory, no peers | GPUBIND_SIM_MEMORY=67108864 GPUBIND_SIM_PEERS=none
no eager      | GPUBIND_EAGER=0
no eager, no peers | GPUBIND_EAGER=0 GPUBIND_SIM_PEERS=none
nothing kept  | GPUBIND_PACK_MEMORY=0
thread        | GPUBIND_PROGRESS_THREAD=1 TEST_MULTIPLE=1
one thread    | GPUBIND_PROGRESS_THREAD=1
threads       | TEST_MULTIPLE=1
network threads | GPUBIND_PATH=network TEST_MULTIPLE=1
slow network threads | GPUBIND_PATH=network GPUBIND_SIM_LATENCY=30 TEST_MULTIPLE=1
no GPU        | GPUBIND_SIM_DEVICES=0
no driver     | LD_LIBRARY_PATH=$tmp/none
GPU           |
GPU shared    | GPUBIND_PATH=shared
GPU host path | GPUBIND_PATH=host
GPU network   | GPUBIND_PATH=network
GPU ipc windows | GPUBIND_WINDOWS=ipc
GPU no eager  | GPUBIND_EAGER=0
GPU network threads | GPUBIND_PATH=network TEST_MULTIPLE=1
GPU thread    | GPUBIND_PROGRESS_THREAD=1 TEST_MULTIPLE=1
"
variables_of() { printf '%s\n' "$settings" | sed -n "s/^$1 *| *//p"; }

# start SETTING N COMMAND...: N ranks; sets status, and $tmp/out, $tmp/err.
start() {
    setting=$1 size=$2
    shift 2
    case $setting in
    *GPU*) libraries=${LD_LIBRARY_PATH-} ;;
    *) libraries=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ;;
    esac
    case $setting in 'no GPU') libraries=$tmp/cuda ;; esac
    case $setting in
    'no GPU') longer= ;;
    *GPU*) longer=${limit:-240} ;; # processes that share a GPU take turns, a copy a turn
    *) longer= ;;
    esac
    # shellcheck disable=SC2046 # words
    limit=${longer:-${limit-}} run mpi "$size" env ${longer:+"TEST_SECONDS=$longer"} \
        "LD_LIBRARY_PATH=$libraries" "GPUBIND_SIM_JOB=${tmp##*.}" $(variables_of "$setting") "$@"
    # What Open MPI 5 says where the machine has no network, with bytes of 0 in it.
    tr -d '\0' <"$tmp/err" | grep -v 'btl_tcp_proc\|^Unable to find reachable' >"$tmp/err.clean"
    mv "$tmp/err.clean" "$tmp/err"
}

# said: the end of what the ranks said on stderr, without what mpirun says, and Open MPI's frames of a stack.
said() { sed '/^-----/,/^-----/d; /^\[[^]]*\] \[ *[0-9]*\]/d' "$tmp/err" | tail -n 12; }

# ended_well: all ranks have come to their end; a failed test is told of otherwise. The mpirun of Open MPI 4.1 says of
# one program in a thousand or two, of hello world, too, that a process has not called finalize: its issue 7833.
ended_well() {
    case $status in
    0) ;;
    1) grep -q '^not ok' "$tmp/out" || all_finalized ;;
    *) all_finalized ;;
    esac
}
all_finalized() {
    grep -q 'exiting improperly' "$tmp/err" && [ "$(grep -c '^finalized$' "$tmp/out")" = "$size" ]
}

# relay NAME: the results in $tmp/out, with the setting in front, and one on its end.
relay() {
    results=0 plan=
    while IFS= read -r line; do
        text="$setting: ${line#* - }"
        case $line in
        'ok '*' # SKIP '*) skip "${text%% # SKIP *}" "${line##* # SKIP }" ;;
        'ok '*) ok "$text" ;;
        'not ok '*) not_ok "$text" ;;
        '1..'*) plan=${line#1..} ;;
        '#'*) echo "$line" ;;
        esac
        case $line in *'ok '[0-9]*) results=$((results + 1)) ;; esac
    done <"$tmp/out"
    if ended_well && [ "$plan" = "$results" ]; then
        ok "$setting: $1 comes to its end"
    else
        not_ok "$setting: $1 comes to its end"
        diag "status $status, $results of ${plan:-?} results; last said:
$(said)"
    fi
}

is_wanted() {
    case $quick.$1 in
    2.simulated | 2.kernels | 2.network* | 2.GPU*) ;;
    3.simulated | 3.'network path' | 3.GPU) ;;
    [23].*) return 1 ;;
    esac
    case $1 in
    'no GPU') [ "$real_gpu" != only ] ;;
    *GPU*) [ -n "$real_gpu" ] ;;
    *slow*) [ -z "$quick" ] && [ "$real_gpu" != only ] ;; # the same ways again, later
    *) [ "$real_gpu" != only ] ;;
    esac
}

# What follows is not for the tier that a newcomer waits for.
quick_ends_here() {
    [ "$quick" = 2 ] || return 0
    nothing_left 'nothing is left behind'
    done_testing
    exit
}

# on SETTING N NAME [ARGUMENT...]: `ranks NAME ARGUMENT...` on N ranks.
on() {
    is_wanted "$1" || return 0
    setting=$1 size=$2
    shift 2
    start "$setting" "$size" "$program" "$@"
    relay "$*"
}

# everywhere N NAME [ARGUMENT...]: in the settings that move data by different ways.
everywhere() {
    if [ -n "$quick" ]; then
        for setting in simulated 'no peers' kernels 'network path'; do
            on "$setting" "$@"
        done
        return
    fi
    for setting in simulated 'slow copies' 'no peers' 'no IPC' 'one device' kernels \
        'shared path' 'network path' 'no driver' GPU 'GPU shared' 'GPU network'; do
        on "$setting" "$@"
    done
}
