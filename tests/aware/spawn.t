#!/bin/sh
# MPI_Comm_spawn by a program that knows nothing of gpubind: its children take GPU memory, too.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] && [ -n "$MPICC" ] || skip_all 'no MPI'
"$MPIRUN" --version 2>&1 | grep -qE '\((Open MPI|OpenRTE)\) 4[.]' || skip_all 'spawning is tried over Open MPI 4 alone'
[ -z "$SANITIZED" ] || skip_all 'the program is built without the sanitizers'
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so.0
[ -e "$aware" ] || skip_all 'no shared library was built'

mkdir "$tmp/cuda"
ln -s "$top_builddir/tests/sim/.libs/libcudasim.so" "$tmp/cuda/libcuda.so.1"
LD_LIBRARY_PATH=$tmp/cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
GPUBIND_SIM_JOB=${tmp##*.}
export LD_LIBRARY_PATH GPUBIND_SIM_JOB
check 'the program compiles' "$MPICC" "-I$top_srcdir" -o "$tmp/spawn" "$top_srcdir/tests/aware/spawn.c" -ldl

for n in 1 2 3; do
    spawns run mpi $n gpubind --topology "$top_srcdir/tests/machines/demo-2p4g.xml" --visible all \
        --gpu-aware "$tmp/spawn"
    is "$n ranks" "$status $(cat "$tmp/out") $(grep gpubind "$tmp/err")" \
        "0 $n ranks have had children: 0 are wrong "
done
# Names that env(1), the shell or PATH take otherwise.
for name in a=b 'a b' -c './a=b' "$tmp/a=b" '$HOME'; do
    mkdir -p "$tmp/names"
    cp "$tmp/spawn" "$tmp/names/${name##*/}"
    cp "$tmp/spawn" "$tmp/${name##*/}"
    spawns run bounded sh -c 'cd "$1" && shift && exec "$@"' - "$tmp/names" "$MPIRUN" --oversubscribe -np 1 \
        env "LD_PRELOAD=$aware" "$tmp/spawn" -- "$name"
    is "a child called $name" "$status $(cat "$tmp/out")" '0 1 ranks have had children: 0 are wrong'
done
spawns run mpi 1 env "LD_LIBRARY_PATH=$LD_LIBRARY_PATH:${aware%/*}" "LD_PRELOAD=${aware##*/}" "$tmp/spawn"
is 'preloaded by its name' "$status $(cat "$tmp/out")" '0 1 ranks have had children: 0 are wrong'
# mpirun of Open MPI 4.1 ends with the job then, whatever the error handler.
spawns run mpi 1 env "LD_PRELOAD=$aware" "$tmp/spawn" nothing
check 'MPI says of a program that it is not there' grep -q no-such-program "$tmp/err"
nothing_left 'nothing is left behind'
done_testing
