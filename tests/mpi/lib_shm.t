#!/bin/sh
# Shared memory of a node: what it lies in, and what happens where there is little of it.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

unshare --mount true 2>/dev/null || skip_all 'no right to mount'
export OMPI_MCA_btl_vader_backing_directory="$tmp" # Open MPI's own, which may lie in /dev/shm
refused=$top_builddir/tests/mpi/.libs/librefuse_memfd.so
[ -z "$SANITIZED" ] || ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0

# with SIZE WHAT SETTING N [COMMAND...]: `ranks room` on N ranks, in a mount namespace of the
# job's own with that much /dev/shm.
mpirun=$MPIRUN
with() {
    size=$1 what=$2 setting=$3 n=$4
    shift 4
    cat >"$tmp/mpirun" <<MPIRUN
#!/bin/sh
[ "\$1" = --version ] && exec $mpirun --version
exec unshare --mount sh -c 'mount -t tmpfs -o size=$size tmpfs /dev/shm && exec "\$@"' sh \
    $mpirun "\$@"
MPIRUN
    chmod +x "$tmp/mpirun"
    MPIRUN=$tmp/mpirun
    start "$setting" "$n" "$@"
    MPIRUN=$mpirun
    setting="$what, $setting"
    relay room
}
# Without those that a loaded machine makes ranks wait for 10 s.
notices() { grep '^gpubind: ' "$tmp/err" | sed '/ waits since /d; s/rank [0-9]*: //' | sort -u; }

for setting in simulated 'shared path' 'no driver'; do
    with 4m 'a /dev/shm of 4 MiB' "$setting" 8 "$program" room
    is "$setting: nothing is said" "$(notices)" ''
done
with 1g 'no memfd_create' 'shared path' 4 env LD_PRELOAD="$refused" "$program" room
is 'memory with a name: said' "$(notices)" \
    'gpubind: memfd_create: Operation not permitted; shared memory is a file in /dev/shm'
with 150m 'no memfd_create, and a full /dev/shm' simulated 4 env LD_PRELOAD="$refused" \
    "$program" room /dev/shm/filler
with 4m 'no memfd_create, and 4 MiB' simulated 4 env LD_PRELOAD="$refused" "$program" room
is 'no memory: said, with both reasons' "$(notices | sed 's/come to take [0-9]* MiB/come to take N MiB/')" \
    'gpubind: memfd_create: Operation not permitted; /dev/shm has 4 MiB left, and shared memory may come to take N MiB; the ranks of this node talk through MPI'
nothing_left 'nothing is left behind'
done_testing
