#!/bin/sh
# The main job: `mpirun gpubind program`, on one node.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -n "$MPIRUN" ] || skip_all 'no mpirun'

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml

for machine in "$machines"/*.xml "$top_srcdir"/../shared/topologies/*.xml; do
    [ -e "$machine" ] || continue
    name=$(basename "$machine" .xml)
    run mpi 4 gpubind --quiet --topology "$machine" sh -c 'echo "$GPUBIND_PLAN $GPUBIND_LOCAL_RANK"'
    plan=$(bounded gpubind --quiet --plan --json --topology "$machine" --ranks 4 |
        sed 's/.*"plan":"\([^"]*\)".*/\1/')
    is "$name: all ranks act on the plan that --plan shows" "$(sort "$tmp/out")" \
        "$(for rank in 0 1 2 3; do echo "$plan $rank"; done)"
    is "$name: nothing is said" "$status$(cat "$tmp/err")" 0
done

# The report: what --plan prints, but for the neighbours, which only --plan knows.
without_neighbours() { sed 's/  north  south$//; s/ \{1,\}[0-9-]* \{1,\}[0-9-]*$//' | sed '/^node/!s/ *$//'; }
for options in '' '--master 0' '--overflow idle --ranks-per-gpu 1' '--gpus-per-rank 2'; do
    # shellcheck disable=SC2086 # words
    run mpi 4 gpubind --quiet --topology "$demo" --report $options true
    # shellcheck disable=SC2086
    is "--report $options is one table, in one piece" "$(sed '/^node/!s/ *$//' "$tmp/err")" \
        "$(bounded gpubind --quiet --plan --nodes "$(hostname)" --topology "$demo" --ranks 4 $options |
            awk '/^node/ { print; next } { print }' | without_neighbours)"
done
run mpi 6 gpubind --topology "$demo" --overflow idle --report -v true
is 'with -v there is one table, too' "$(grep -c '^node' "$tmp/err") $(grep -c '^  *rank' "$tmp/err")" '1 1'
is 'and all else is said by gpubind' "$(sed '/^node/,/^     5/d; /^gpubind: /d' "$tmp/err")" ''
run mpi 4 sh -c '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 3 ] && export GPUBIND_REPORT=1; exec gpubind --topology "$0" true' "$demo"
is 'a report that one rank asks for' "$(grep -c '^node' "$tmp/err")" 1
run mpi 4 sh -c 'exec gpubind --report --topology "$0" true <&- 2>&-' "$demo"
is 'closed stdin and stderr' "$status" 0
run mpi 4 sh -c 'exec gpubind --report --topology "$0" true <&- >&- 2>&-' "$demo"
is 'all closed' "$status" 0

# The check, as the program, on this machine.
cpus=$(sed -n 's/^Cpus_allowed_list:[^0-9]*//p' /proc/self/status)
first=${cpus%%[,-]*}
for options in '' '--master 0' '--bind core' '--bind none' '--membind none' '--visible first' \
    '--visible all' '--bind numa --smt 1' '--omp none'; do
    # shellcheck disable=SC2086 # words
    run mpi 2 gpubind --quiet $options gpubind --check
    is "--check passes: ${options:-no options}" "$status $(grep -c ': ok: ' "$tmp/out")" '0 2'
done
run mpi 6 gpubind --quiet --topology "$demo" --master 1 --overflow idle gpubind --check
is '--check: idle and master ranks pass' \
    "$status $(grep -c 'ok: gpu' "$tmp/out") $(grep -c 'ok: idle' "$tmp/out") $(grep -c 'ok: master' "$tmp/out")" \
    '0 4 1 1'
# caught DESCRIPTION PATTERN COMMAND...: what stands between is found out.
caught() {
    what=$1 pattern=$2
    shift 2
    run mpi 1 gpubind --quiet "$@" gpubind --check
    check "$what" grep -q "$pattern" "$tmp/out"
    check '... and the status says so' test "$status" = 1
}
caught 'another CUDA_VISIBLE_DEVICES' "WRONG" env CUDA_VISIBLE_DEVICES=7
caught 'no CUDA_VISIBLE_DEVICES' 'WRONG' --topology "$demo" env -u CUDA_VISIBLE_DEVICES
caught 'an empty CUDA_VISIBLE_DEVICES' 'WRONG' --topology "$demo" env CUDA_VISIBLE_DEVICES=
caught 'a master that was given a GPU' 'WRONG' --topology "$demo" --master 0 env CUDA_VISIBLE_DEVICES=0
caught 'a role that is not' 'WRONG' env GPUBIND_ROLE=queen
if [ "$cpus" != "$first" ]; then
    caught 'fewer CPUs than planned' 'WRONG' --bind package taskset -c "$first"
else
    skip 'fewer CPUs than planned' 'one CPU only'
fi

# Several commands: what a container's or a profiler's program starts is waited for, and so is a script.
if ! "$MPIRUN" --version 2>&1 | grep -q 'Open MPI\|OpenRTE'; then
    skip 'below containers' 'this mpirun does not tell that a job has several commands'
elif ! mpi 1 true : -np 1 true >/dev/null 2>&1; then
    skip 'below containers' 'this mpirun dies of two commands'
else
    for name in apptainer starter-suid podman enroot; do
        printf '#!/bin/sh\nsleep 3\n"$@"\n' >"$tmp/$name"
        chmod +x "$tmp/$name"
    done
    # shellcheck disable=SC2016 # the program expands it
    say='echo $GPUBIND_ROLE $GPUBIND_GPU_PCI'
    set -- -np 1 gpubind --topology "$demo" --overflow idle sh -c "$say"
    printf '#!/bin/sh\nsleep 6\nexec "$@"\n' >"$tmp/late"
    chmod +x "$tmp/late"
    for name in apptainer starter-suid podman enroot late; do
        set -- "$@" : -np 1 "$tmp/$name" gpubind --topology "$demo" --overflow idle sh -c "$say"
    done
    run bounded "$MPIRUN" --oversubscribe "$@"
    is 'below containers: four GPUs and two idle ranks' \
        "$status $(sort -u "$tmp/out" | grep -c gpu) $(grep -c idle "$tmp/out")" '0 4 2'
    is '... none was missed' "$(grep -c 'came here' "$tmp/err")" 0
fi
nothing_left 'nothing is left behind'
done_testing
