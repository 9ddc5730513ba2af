#!/bin/sh
# gpu_aware of the plugin: programs for a CUDA-aware MPI run under a plain mpirun, on the simulated driver.
# shellcheck disable=SC2016 # the ranks expand it
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/plugin.sh"
case $("${MPIRUN:-false}" --version 2>&1) in *'(Open MPI) '[45]*) ;; *) skip_all 'mpirun is not of Open MPI 4 or 5' ;; esac
[ -z "$SANITIZED" ] || skip_all 'daemons without the sanitizers cannot load a plugin with them'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so.0
[ -e "$aware" ] || skip_all 'no shared library was built'

# The library is found from where the plugin's file lies, which is behind a link.
ln -sf "$(realpath "$plugin_file")" "$plugin_dir/"
machine=$machines/demo-2p4g.xml
sites=
# job N [MPIRUN-OPTION...] COMMAND...: N ranks; parameters of the site's in $sites.
# shellcheck disable=SC2086 # words
job() { n=$1; shift; run plugged $sites "$MPIRUN" --oversubscribe --bind-to none -np "$n" "$@"; }
# site VALUE: it has set gpu_aware to that.
site() { sites=PMIX_MCA_pmdl_gpubind_gpu_aware=$1; }

# What the ranks have, each once: "ROLE MODE NAME-OF-THE-LIBRARY[:OTHERS]".
has='echo "${GPUBIND_ROLE-left} ${GPUBIND_GPU_AWARE-unset} $LD_PRELOAD"'
had() { sed 's| [^ ]*/| |' "$tmp/out" | sort | uniq -c | sed 's/^ *//'; }
so=libgpubind-aware.so.0
gets() { is "$1" "$status $(had) $(cat "$tmp/err")" "0 $2 "; }

job 2 sh -c "$has"
gets 'nobody asks' '2 gpu unset '
for value in auto on; do
    job 2 -x GPUBIND_GPU_AWARE=$value sh -c "$has"
    gets "the job asks: $value" "2 gpu $value $so"
    site $value
    job 2 sh -c "$has"
    gets "the site asks: $value" "2 gpu $value $so"
    job 2 -x GPUBIND_GPU_AWARE=off sh -c "$has"
    gets "the site asks, the job does not want it: $value" '2 gpu off '
    sites=
done
site off
job 2 sh -c "$has"
gets 'off at the site' '2 gpu unset '
job 2 -x GPUBIND_GPU_AWARE=auto sh -c "$has"
gets '... and the job asks' "2 gpu auto $so"
site auto
job 2 -x GPUBIND_GPU_AWARE=on sh -c "$has"
gets 'both ask: the job wins' "2 gpu on $so"
job 2 -x LD_PRELOAD=libdl.so.2 sh -c "$has"
gets 'before what the user has there' "2 gpu auto $so:libdl.so.2"
job 2 sh -c 'echo "$LD_PRELOAD"'
path=$(sort -u "$tmp/out")
is 'the library is that of the plugin' "$(realpath "$path")" "$(realpath "$aware")"
job 2 -x "LD_PRELOAD=libdl.so.2:$path" sh -c 'echo "$LD_PRELOAD"'
is 'not twice' "$(sort -u "$tmp/out")" "libdl.so.2:$path"
job 2 -x GPUBIND=off sh -c "$has"
gets 'GPUBIND=off' '2 left unset '

job 3 -x GPUBIND_MASTER=0 sh -c "$has"
gets 'auto: ranks with a GPU' "2 gpu auto $so
1 master unset "
site on
job 3 -x GPUBIND_MASTER=0 sh -c "$has"
gets 'on: all ranks' "2 gpu on $so
1 master on $so"
machine=$machines/nogpu-2p8c.xml
for value in auto on; do
    site $value
    job 2 sh -c "$has"
    gets "$value: a node without GPUs" '2 idle unset '
done
machine=$machines/demo-2p4g.xml

site auto
job 3 -x GPUBIND_REPORT=1 true
is '--report says so, once' "$status $(grep -c "^gpubind: GPU-aware: .*/$so is preloaded\$" "$tmp/err")" '0 1'

# ---- what cannot be

for value in maybe 1 ON; do
    sites=
    job 2 -x GPUBIND_GPU_AWARE=$value echo ran
    is "a bad value of the job's: $value" \
        "$([ "$status" = 0 ] || echo failed) $(grep -cx ran "$tmp/out") $(grep '^gpubind: ' "$tmp/err")" \
        "failed 0 gpubind: GPUBIND_GPU_AWARE: '$value' is none of off|auto|on"
    site $value
    job 2 sh -c "$has"
    is "a bad value of the site's: $value" "$status $(had) $(cat "$tmp/err")" \
        "0 2 gpu unset  gpubind: pmdl_gpubind_gpu_aware: '$value' is none of off|auto|on; passed over"
done

# A plugin that was installed alone: nothing lies where its file is.
cp --remove-destination "$plugin_file" "$plugin_dir"
installed=$(strings -n 8 "$plugin_file" 2>/dev/null | grep "^/.*/$so\$")
if [ -n "$installed" ] && [ ! -e "$installed" ]; then
    none="there is no $installed, which is built where there is an MPI"
    sites=
    job 2 -x GPUBIND_GPU_AWARE=on echo ran
    is 'no library, and the job wants it' \
        "$([ "$status" = 0 ] || echo failed) $(grep -cx ran "$tmp/out") $(grep '^gpubind: ' "$tmp/err")" "failed 0 gpubind: $none"
    job 2 -x GPUBIND_GPU_AWARE=auto sh -c "$has"
    gets 'no library, and the job would like it' '2 gpu auto '
    job 2 -x GPUBIND_GPU_AWARE=auto -x GPUBIND_REPORT=1 true
    is '... --report says so' "$status $(grep '^gpubind: ' "$tmp/err")" "0 gpubind: GPU-aware steps aside: $none"
    site on
    job 2 sh -c "$has"
    is 'no library, and the site wants it' "$status $(had) $(cat "$tmp/err")" \
        "0 2 gpu unset  gpubind: $none; passed over: pmdl_gpubind_gpu_aware"
    job 2 -x GPUBIND_QUIET=1 sh -c "$has"
    gets '... and the job wants no notices' '2 gpu unset '
else
    skip 'no library' 'it is installed where this one would be, or there is no strings'
fi
# Beside a library that was moved with it.
mkdir -p "$tmp/prefix/lib/gpubind"
mv "$plugin_dir" "$tmp/prefix/lib/gpubind/pmix"
plugin_dir=$tmp/prefix/lib/gpubind/pmix
cp -P "$top_builddir"/src/aware/.libs/libgpubind-aware.so* "$tmp/prefix/lib"
site auto
job 1 sh -c 'echo "$LD_PRELOAD"'
if [ -n "$installed" ] && [ ! -e "$installed" ]; then
    is 'in a prefix that was moved' "$(realpath "$(cat "$tmp/out")")" "$(realpath "$tmp/prefix/lib/$so")"
else
    skip 'in a prefix that was moved' 'the library is installed, or there is no strings'
fi
ln -sf "$(realpath "$plugin_file")" "$plugin_dir/"

# ---- programs

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
on_gpus="env LD_LIBRARY_PATH=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} GPUBIND_SIM_JOB=${tmp##*.}"
if "$MPICC" -o "$tmp/app" "$top_srcdir/examples/gpu_aware.c" -ldl 2>"$tmp/err"; then
    right='2 ranks: 0 results are wrong'
    visible='-x GPUBIND_VISIBLE=all'
    # shellcheck disable=SC2086 # words
    {
        job 2 $visible $on_gpus "$tmp/app"
        is 'a program for a CUDA-aware MPI' "$status $(cat "$tmp/out")" "0 $right"
        job 2 $visible $on_gpus sh -c "exec '$tmp/app'"
        is '... in a script' "$status $(cat "$tmp/out")" "0 $right"
        job 2 $visible $on_gpus gpubind --visible all "$tmp/app"
        is '... with gpubind before it' "$status $(cat "$tmp/out")" "0 $right"
        job 2 $visible $on_gpus gpubind --visible all --gpu-aware=off "$tmp/app"
        check '... whose --gpu-aware=off wins' test "$status" != 0
        job 2 $visible -x GPUBIND_GPU_AWARE=off $on_gpus "$tmp/app"
        check 'a job that does not want it is on its own' test "$status" != 0
    }
else
    not_ok 'the example compiles without gpubind'
fi

# Spawned ranks are a job of their own, for which the site has said the same.
cat >"$tmp/spawn.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    const char *list = getenv("LD_PRELOAD");
    MPI_Comm parent, child;

    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    printf("%s %s\n", parent == MPI_COMM_NULL ? "parent" : "child",
           list && strstr(list, "/libgpubind-aware.so.0") ? "preloaded" : "alone");
    fflush(stdout);
    child = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
    MPI_Barrier(child);
    MPI_Comm_disconnect(&child);
    return MPI_Finalize();
}
C
if "$MPICC" -o "$tmp/spawn" "$tmp/spawn.c" 2>"$tmp/err"; then
    sites="$sites OMPI_MCA_btl_tcp_if_include=lo" # a container's other interfaces may lead nowhere
    spawns job 1 "$tmp/spawn"
    is 'spawned ranks, the site asks' "$status $(sort "$tmp/out" | uniq -c | xargs)" '0 2 child preloaded 1 parent preloaded'
else
    not_ok 'the spawning program compiles'
fi
nothing_left 'nothing is left behind'
done_testing
