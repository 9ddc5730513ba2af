#!/bin/sh
# Halo exchanges: ghost cells as a serial program has them, late ranks, what is refused.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

everywhere 2 halo 1
on simulated 1 halo 2
on 'network path' 1 halo 3
on simulated 3 halo 4
on 'slow copies' 5 halo 5
on simulated 6 halo 6
on 'three devices' 7 halo 7
on 'network path' 6 halo 8
on 'network threads' 4 halo 11
on 'slow network threads' 3 halo 12
on 'no GPU' 2 halo
on GPU 2 halo 9

# Buffers come and go at the same addresses, and each can be mapped.
for setting in kernels GPU; do
    on "$setting" 2 halo 13
    is_wanted "$setting" || continue
    is "$setting: memory at addresses that were others' before is mapped" \
        "$(grep -c 'cannot be mapped' "$tmp/err")" 0
done

# Ranks with a GPU among others: g has one, i is idle, m the master.
on_roles() {
    setting=$1 roles=$2
    start "$setting" "${#roles}" sh -c 'rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        case $(printf %s "$0" | cut -c "$((rank + 1))") in
        i) export GPUBIND_ROLE=idle ;;
        m) export GPUBIND_ROLE=master ;;
        esac
        exec "$@"' "$roles" "$program" halo 10
    setting="$setting, $roles"
    relay 'halo 10'
}
on_roles simulated mgigg
on_roles 'network path' igg
on_roles simulated ii

for setting in simulated 'slow copies' 'slower copies' kernels 'no peers' 'shared path' \
    'network path' 'slow network threads' GPU 'GPU shared' 'GPU network threads'; do
    on "$setting" 2 halo_races
done
on simulated 1 halo_races
on 'slow copies' 3 halo_races

on simulated 2 halo_errors
on 'network path' 3 halo_errors
on GPU 2 halo_errors

quick_ends_here

on simulated 2 halo_long 10000
on simulated 2 halo_long 10000 turn
on 'network path' 2 halo_long 1000
on 'network threads' 2 halo_long 2000
on 'shared path' 2 halo_long 2000 turn
on GPU 2 halo_long 10000
on GPU 2 halo_long 10000 turn
nothing_left 'nothing is left behind'
done_testing
