#!/bin/sh
# --gpu-aware: a program for a CUDA-aware MPI that knows nothing of gpubind passes GPU memory to
# plain MPI functions, on the simulated driver.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] && [ -n "$MPICC" ] || skip_all 'no MPI'
[ -z "$SANITIZED" ] || skip_all 'the program is built without the sanitizers'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so.0
[ -e "$aware" ] || skip_all 'no shared library was built'

"$MPICC" -o "$tmp/app" "$top_srcdir/examples/gpu_aware.c" -ldl 2>"$tmp/err" ||
    { not_ok 'the example compiles without gpubind'; diag "$(cat "$tmp/err")"; done_testing; exit; }
mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
libraries=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# The GPUs are the simulator's, and those of the machine are not looked at.
on_gpus="--topology $top_srcdir/tests/machines/demo-2p4g.xml --visible all"
# gpu_aware OPTIONS COMMAND...: on 2 ranks
gpu_aware() {
    options=$1
    shift
    # shellcheck disable=SC2086 # words
    run mpi 2 env "LD_LIBRARY_PATH=$libraries" "GPUBIND_SIM_JOB=${tmp##*.}" gpubind $on_gpus $options "$@"
}
right='2 ranks: 0 results are wrong'

for option in --gpu-aware --gpu-aware=auto --gpu-aware=on; do
    gpu_aware $option "$tmp/app"
    is "$option" "$status $(cat "$tmp/out") $(cat "$tmp/err")" "0 $right "
done
export GPUBIND_GPU_AWARE=auto
gpu_aware '' "$tmp/app"
is 'GPUBIND_GPU_AWARE=auto' "$status $(cat "$tmp/out")" "0 $right"
gpu_aware --gpu-aware=off "$tmp/app"
check '--gpu-aware=off wins, and the program is on its own' test "$status" != 0
unset GPUBIND_GPU_AWARE
gpu_aware '' "$tmp/app"
check 'without the option, likewise' test "$status" != 0
gpu_aware '--gpu-aware --verbose' "$tmp/app"
is '--verbose: each rank tells how its messages went' "$status $(grep -c 'messages from GPU memory' "$tmp/err")" '0 2'
gpu_aware --gpu-aware sh -c "exec '$tmp/app'"
is 'a script' "$status $(cat "$tmp/out")" "0 $right"
# Some ranks without it, which pass host memory alone.
cat >"$tmp/plain.c" <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
C
"$MPICC" -o "$tmp/plain" "$tmp/plain.c"
gpu_aware '' sh -c 'case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) exec gpubind --gpu-aware "$0" ;; esac
    exec "$0"' "$tmp/plain"
is 'not all ranks have it' "$status" 0
gpu_aware '--gpu-aware --report' true
is '--report says so, once' "$(grep -c '^gpubind: GPU-aware: .*/libgpubind-aware.so.0 is preloaded$' "$tmp/err")" 1

gpu_aware '--gpu-aware --report --master 0,1' sh -c 'echo "<$LD_PRELOAD>"'
is 'ranks without a GPU: nothing is preloaded' "$(sort -u "$tmp/out")" '<>'
is '... and --report says so' "$(grep aware "$tmp/err")" \
    'gpubind: GPU-aware: no rank of this node has a GPU, and nothing is preloaded'
gpu_aware '--gpu-aware --report --master 0' true
is '... where the first has none, the next one speaks' "$(grep aware "$tmp/err" | sed 's|: /.*/|: |')" \
    'gpubind: GPU-aware: libgpubind-aware.so.0 is preloaded'
gpu_aware '--gpu-aware --verbose --master 0' true
is '... and each, where it is asked why' "$(grep 'GPU-aware: ' "$tmp/err" | sed 's|: /.*/|: |' | sort)" \
    'gpubind: GPU-aware: libgpubind-aware.so.0 is preloaded
gpubind: GPU-aware: this rank has no GPU, and nothing is preloaded'

# What the program gets.
# shellcheck disable=SC2086 # words
environment() { bounded gpubind --quiet --launcher none $on_gpus "$@" sh -c 'echo "$GPUBIND_GPU_AWARE $LD_PRELOAD"'; }
preloaded=$(environment --gpu-aware)
is 'the library' "$(echo "${preloaded#* }" | sed 's|.*/||')" libgpubind-aware.so.0
is 'before others' "$(LD_PRELOAD=libdl.so.2 environment --gpu-aware)" "$preloaded:libdl.so.2"
is 'not twice' "$(environment --gpu-aware gpubind --quiet --launcher none $on_gpus --gpu-aware)" "$preloaded"
is 'on' "$(environment --gpu-aware=on | sed 's/ .*//')" on
# A prefix that was moved, as a wheel's is: the parts beside the program.
lib=$(sed -n 's/^libdir_name = //p' "$top_builddir/Makefile")
mkdir -p "$tmp/moved/bin" "$tmp/moved/$lib/gpubind"
cp "$top_builddir/bin/gpubind" "$tmp/moved/bin"
cp "$top_builddir/src/host/.libs/discover.so" "$tmp/moved/$lib/gpubind"
cp "$aware" "$tmp/moved/$lib"
is 'a gpubind that was moved' "$(PATH=$tmp/moved/bin:$PATH environment --gpu-aware=on)" \
    "on $tmp/moved/$lib/libgpubind-aware.so.0"
is 'off' "$(environment --gpu-aware=off)" 'off '
is 'not asked for' "$(environment)" ' '

# Bad values, and programs that cannot be helped.
for value in maybe '' ON 1; do
    run bounded gpubind --launcher none "--gpu-aware=$value" true
    is "--gpu-aware=$value" "$status $(cat "$tmp/err")" \
        "125 gpubind: --gpu-aware: '$value' is none of off|auto|on"
done
# aside NAME REASON COMMAND...: a notice and the program runs; with =on an error.
aside() {
    name=$1 reason=$2
    shift 2
    run bounded "$@" gpubind --launcher none $on_gpus --gpu-aware "$program"
    is "$name: a notice, and it runs" "$status $(grep -i aware "$tmp/err")" \
        "0 gpubind: GPU-aware steps aside: $reason"
    run bounded "$@" gpubind --launcher none $on_gpus --gpu-aware=on "$program"
    is "$name: an error" "$status $(grep -i aware "$tmp/err")" "125 gpubind: $reason"
}
echo 'int main(void) { return 0; }' >"$tmp/other.c"
for kind in -static -static-pie; do
    program=$tmp/static$kind
    if ${CC:-cc} "$kind" -o "$program" "$tmp/other.c" 2>/dev/null; then
        aside "$kind" "$program loads no shared objects; link it with -lgpubind-aware" env
    else
        skip "$kind" 'the compiler cannot'
    fi
done
if [ -x "$tmp/static-static" ]; then
    # shellcheck disable=SC2086 # words
    run mpi 2 gpubind $on_gpus --gpu-aware=on "$tmp/static-static"
    is 'two ranks: one sentence' "$status $(grep -c 'loads no shared objects' "$tmp/err")" '125 1'
    # shellcheck disable=SC2086
    run mpi 2 gpubind $on_gpus --gpu-aware "$tmp/static-static"
    is '... and one notice' "$status $(grep -c 'GPU-aware steps aside' "$tmp/err")" '0 1'
fi
mine=$(objdump -p "$aware" 2>/dev/null | sed -n 's/^ *NEEDED *\(libmpi[a-z]*\.so\.[0-9]*\)$/\1/p')
if [ -n "$mine" ]; then
    echo 'int MPI_Init;' >"$tmp/mpi.c"
    ${CC:-cc} -shared -fPIC -Wl,-soname,libmpi.so.99 -o "$tmp/libmpi.so.99" "$tmp/mpi.c"
    program=$tmp/other_mpi
    ${CC:-cc} -o "$program" "$tmp/other.c" -Wl,--no-as-needed,-rpath,"$tmp" "$tmp/libmpi.so.99"
    aside 'another MPI' "libgpubind-aware is built for $mine, and $program needs libmpi.so.99" env
else
    skip 'another MPI' 'no objdump'
fi

# A program of another family of MPIs than the launcher's, with and without the option.
echo 'int MPI_Init;' >"$tmp/mpi.c"
open_mpi='OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1'
hydra_rank='PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1'
# needing NAME FAMILY OTHER: a program that needs it under the launchers of both.
needing() {
    ${CC:-cc} -shared -fPIC "-Wl,-soname,$1" -o "$tmp/$1" "$tmp/mpi.c"
    ${CC:-cc} -o "$tmp/of_family" "$tmp/other.c" -Wl,--no-as-needed,-rpath,"$tmp" "$tmp/$1"
    case $2 in Open*) own=$open_mpi other=$hydra_rank ;; *) own=$hydra_rank other=$open_mpi ;; esac
    # shellcheck disable=SC2086 # words
    run bounded env $other gpubind $on_gpus "$tmp/of_family"
    is "$1 under a launcher of $3" "$status $(cat "$tmp/err")" "0 gpubind: $tmp/of_family needs $1 of $2, and a launcher of \
$3 starts it: each rank may be a job of its own; use the mpiexec of its own MPI"
    # shellcheck disable=SC2086
    run bounded env $own gpubind $on_gpus "$tmp/of_family"
    is "$1 under its own" "$status $(cat "$tmp/err")" '0 '
}
needing libmpi.so.40 'Open MPI' "MPICH's family"
needing libmpi.so.12 "MPICH's family" 'Open MPI'
needing libmpich.so.12 "MPICH's family" 'Open MPI'
for words in --quiet '--launcher none'; do
    # shellcheck disable=SC2086
    run bounded env $open_mpi gpubind $words $on_gpus "$tmp/of_family"
    is "... with $words nothing is said" "$status $(cat "$tmp/err")" '0 '
done
run bounded env SLURM_JOB_ID=1 SLURM_STEP_ID=0 SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0 \
    SLURM_STEP_TASKS_PER_NODE=1 SLURM_NODEID=0 gpubind $on_gpus "$tmp/of_family"
is '... nor under a launcher of any MPI' "$status $(cat "$tmp/err")" '0 '
# shellcheck disable=SC2086
run mpi 2 gpubind $on_gpus "$tmp/of_family"
is '... and of two ranks, one says it' "$(grep -c 'may be a job of its own' "$tmp/err")" \
    "$("$MPIRUN" --version 2>&1 | grep -c 'Open MPI\|OpenRTE' | sed 's/^[1-9].*/1/')"

# A library for each MPI that configure found; what the program needs says which, else the launcher.
mpich=$top_builddir/src/aware/.libs/libgpubind-aware-mpich.so.0
case $mine in libmpi.so.40) ;; *) mpich= ;; esac
if [ -e "$mpich" ]; then
    for name in libmpich.so.12 libmpi.so.12; do
        ${CC:-cc} -shared -fPIC "-Wl,-soname,$name" -o "$tmp/$name" "$tmp/mpi.c"
        ${CC:-cc} -o "$tmp/of_mpich" "$tmp/other.c" -Wl,--no-as-needed,-rpath,"$tmp" "$tmp/$name"
        for variable in NOTHING OMPI_COMM_WORLD_RANK; do
            run bounded env "$variable=0" gpubind --launcher none $on_gpus --gpu-aware --report "$tmp/of_mpich"
            is "a program that needs $name, $variable" "$(sed -n 's|.*GPU-aware: .*/||p' "$tmp/err")" \
                'libgpubind-aware-mpich.so.0 is preloaded'
        done
    done
    # The MPI standard's ABI is neither's.
    abi=$top_builddir/src/aware/.libs/libgpubind-aware-mpi-abi.so.0
    ${CC:-cc} -shared -fPIC -Wl,-soname,libmpi_abi.so.1 -o "$tmp/libmpi_abi.so.1" "$tmp/mpi.c"
    program=$tmp/of_abi
    ${CC:-cc} -o "$program" "$tmp/other.c" -Wl,--no-as-needed,-rpath,"$tmp" "$tmp/libmpi_abi.so.1"
    if [ -e "$abi" ]; then
        run bounded gpubind --launcher none $on_gpus --gpu-aware --report "$program"
        is "a program of the MPI standard's ABI" "$(sed -n 's|.*GPU-aware: .*/||p' "$tmp/err")" \
            'libgpubind-aware-mpi-abi.so.0 is preloaded'
    else
        run bounded gpubind --launcher none $on_gpus --gpu-aware=on "$program"
        is "a program of the MPI standard's ABI" "$status $(sed 's|/[^ ]*/||g' "$tmp/err")" \
            "125 gpubind: libgpubind-aware is built for $mine, and of_abi needs libmpi_abi.so.1: there is no libgpubind-aware-mpi-abi.so.0"
    fi
    for row in NOTHING= OMPI_COMM_WORLD_RANK= PMI_RANK= MPI_LOCALRANKID=-mpich MV2_COMM_WORLD_RANK=-mpich; do
        run bounded env "${row%%=*}=0" gpubind --launcher none $on_gpus --gpu-aware --report true
        is "a program of no MPI, ${row%%=*}" "$(sed -n 's|.*GPU-aware: .*/||p' "$tmp/err")" \
            "libgpubind-aware${row#*=}.so.0 is preloaded"
    done
    check 'it needs no MPI by name' sh -c '! objdump -p "$0" | grep "NEEDED.*libmpi"' "$mpich"
else
    skip 'a program of another MPI' 'libgpubind-aware-mpich was not built, or MPICC is of MPICH'
fi
hydra=$(command -v mpiexec.hydra)
if [ -e "$mpich" ] && [ -n "$hydra" ] && command -v mpicc.mpich >/dev/null &&
    mpicc.mpich -o "$tmp/app" "$top_srcdir/examples/gpu_aware.c" -ldl 2>/dev/null; then
    MPIRUN=$hydra
    gpu_aware --gpu-aware=on "$tmp/app"
    is 'a program of MPICH' "$status $(cat "$tmp/out")" "0 $right"
    gpu_aware --gpu-aware=on sh -c "exec '$tmp/app'"
    is 'a script under Hydra' "$status $(cat "$tmp/out")" "0 $right"
    # As Python does: MPI is loaded for a plugin alone.
    echo '#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*start)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "start") : 0;

    return start ? start(argc, argv) : 99;
}' >"$tmp/host.c"
    ${CC:-cc} -o "$tmp/host" "$tmp/host.c" -ldl
    mpicc.mpich -Dmain=start -shared -fPIC -o "$tmp/plugin.so" "$top_srcdir/examples/gpu_aware.c" -ldl 2>/dev/null
    gpu_aware --gpu-aware=on "$tmp/host" "$tmp/plugin.so"
    is 'a plugin that needs MPICH' "$status $(cat "$tmp/out")" "0 $right"
else
    skip 'programs of MPICH' 'no libgpubind-aware-mpich, mpicc.mpich or mpiexec.hydra'
fi
nothing_left 'nothing is left behind'
done_testing
