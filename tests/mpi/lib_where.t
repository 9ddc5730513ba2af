#!/bin/sh
# Who is where: peers, neighbours, ranks with GPUs among ranks without.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/mpi/ranks.sh"

# placed SETTING ROLES [MATRIX]: one rank for each letter: g has a GPU (the devices in
# turn), i is idle, m is the master.
placed() {
    setting=$1 roles=$2
    shift 2
    start "$setting" "${#roles}" sh -c 'roles=$0
        rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
        before=$(printf %s "$roles" | cut -c "1-$((rank + 1))" | tr -cd g)
        case $(printf %s "$roles" | cut -c "$((rank + 1))") in
        g) export GPUBIND_ROLE=gpu TEST_DEVICE=$((${#before} - 1)) ;;
        i) export GPUBIND_ROLE=idle ;;
        m) export GPUBIND_ROLE=master ;;
        esac
        exec "$@"' "$roles" "$program" where "$@"
    setting="$setting, $roles"
    relay "where $*"
}
placed simulated gg
placed simulated gggg
placed simulated gigmg
placed simulated mggi
placed simulated migi
placed simulated ii
placed 'three devices' ggg
placed 'one device' ggg
placed 'no driver' ii
placed 'no GPU' ii
[ -z "$real_gpu" ] || placed GPU gig

placed 'no peers' gg 10/01
is 'no peers: the pair is named once' "$(grep -c '^gpubind: ' "$tmp/err")" 1
diag "$(said)"
GPUBIND_SIM_PEERS=010/100/001 placed 'three devices' gigg 010/100/001
is 'some peers: the others are named' "$(grep -c '^gpubind: ' "$tmp/err")" 1
diag "$(said)"
placed simulated gg
is 'all peers: nothing is said' "$(said)" ''
done_testing
