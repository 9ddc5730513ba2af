#!/bin/sh
# A misspelt variable is named once, whoever reads the environment.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

demo=$top_srcdir/tests/machines/demo-2p4g.xml
idle='gpubind: GPUBIND_OVERFLO is no variable of gpubind; the nearest one is GPUBIND_OVERFLOW'

# said: what gpubind said of variables.
said() { grep 'is no variable of gpubind' "$tmp/err"; }

run mpi 4 env GPUBIND_OVERFLO=idle gpubind --topology "$demo" echo ran
is 'four ranks: one sentence, and they run' "$status $(grep -c ran "$tmp/out") $(said)" "0 4 $idle"
run mpi 1 env GPUBIND_OVERFLO=idle gpubind --topology "$demo" true
is 'one rank' "$(said)" "$idle"
run bounded env GPUBIND_OVERFLO=idle gpubind --topology "$demo" --launcher none true
is 'no launcher' "$(said)" "$idle"
run mpi 2 env GPUBIND_OVERFLO=idle gpubind --quiet --topology "$demo" true
is '--quiet' "$(cat "$tmp/err")" ''
run mpi 2 env GPUBIND_OVERFLO=idle gpubind --topology "$demo" gpubind --bind none true
is 'a gpubind below another has nothing to add' "$(said)" "$idle"
run mpi 2 sh -c '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 1 ] && export GPUBIND_RAKNS=1
    export GPUBIND_OVERFLO=idle; exec gpubind --topology "$0" true' "$demo"
is 'what any of the ranks has' "$(said | sort)" \
    "$idle
gpubind: GPUBIND_RAKNS is no variable of gpubind; the nearest one is GPUBIND_RANKS"
many=$(for i in $(seq 1000 1099); do echo "GPUBIND_STRANGE_NAME_$i=1"; done)
# shellcheck disable=SC2086 # words
run mpi 2 env $many gpubind --topology "$demo" echo ran
check 'a hundred of them: some are named, in whole lines' \
    test "$(said | wc -l)" -ge 5 -a "$(grep -vc 'like it$' "$tmp/err")" = 0

for action in --plan --list --doctor; do
    run bounded env GPUBIND_TOPOLGY=x gpubind $action
    is "$action" "$(said)" \
        'gpubind: GPUBIND_TOPOLGY is no variable of gpubind; the nearest one is GPUBIND_TOPOLOGY'
    run bounded env GPUBIND_QUIET=1 GPUBIND_TOPOLGY=x gpubind $action
    [ $action = --doctor ] || is "$action, quietly" "$(said)" ''
done
run bounded env GPUBIND_OVERFLOW=idle GPUBIND_EAGER=0 GPUBIND_SIM_DEVICES=1 GPUBIND_ROLE=gpu \
    GPUBIND_EMPTY= GPUBIND=on GPUBINDING=1 gpubind --topology "$demo" --launcher none true
is 'what is known, empty, or of somebody else' "$(cat "$tmp/err")" ''
nothing_left 'nothing is left behind'
done_testing
