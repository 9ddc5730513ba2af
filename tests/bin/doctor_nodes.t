#!/bin/sh
# --doctor over the nodes of a job: they meet by PMIx, and one rank reports for all; whoever does
# not come, nothing hangs. Under Open MPI and Slurm, on pretended nodes.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/nodes.sh"
. "$launch_dir/multinode.sh"
. "$top_srcdir/tests/slurm.sh"
trap 'slurm_stop; rm -rf "$tmp"' EXIT

# small NODE COMMAND...: on that node with a /dev/shm of 64 MiB.
cat >"$tmp/small" <<'END'
#!/bin/sh
node=$1
shift
[ "$(hostname)" = "$node" ] || exec "$@"
exec unshare --mount sh -c 'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec "$@"' - "$@"
END
# other RANK COMMAND...: in that rank another command, which ends; "-" COMMAND: it is killed.
cat >"$tmp/other" <<'END'
#!/bin/sh
case "${OMPI_COMM_WORLD_RANK-$SLURM_PROCID} $1" in
"1 1") exec sleep 4 ;;
"1 -") kill -9 $$ ;;
"0 -") echo $$ >"$0_rank0" ;;
esac
shift
exec "$@"
END
chmod +x "$tmp/small" "$tmp/other"

heads() { sed -n 's/^\(nodes\{0,1\} [^:]*\): .*/\1/p' "$tmp/out"; }
# Which nodes a line of JSON is about, and what it finds of /dev/shm.
cat >"$tmp/groups.py" <<'END'
import json, sys
for line in open(sys.argv[1]):
    group = json.loads(line)
    assert group["node"] in group["nodes"]
    print(*group["nodes"], [c["result"] for c in group["checks"] if c["check"] == "shm"][0])
END
groups() { python3 "$tmp/groups.py" "$tmp/out"; }
# As documented, by what the report says; this machine may have its own faults.
status_fits() { is "$1: the exit status" "$status" "$(grep -qE '^(breaks|slows): ' "$tmp/out" && echo 1 || echo 0)"; }
why='the nodes of this job do not report together'

together() {
    is "$1: one report for all" "$(heads)" "$2"
    is "$1: nothing on stderr" "$(grep '^gpubind: ' "$tmp/err")" ''
}

# ---- Open MPI

if multinode_usable; then
    run multinode 3 2 -np 6 "$gpubind" --doctor
    together 'Open MPI' 'nodes n0-n2 (3)'
    status_fits 'Open MPI'
    run multinode 2 1 -np 2 timeout $((50 * TEST_PATIENCE)) "$gpubind" --doctor --verbose
    together 'below timeout' 'nodes n0,n1 (2)'
    run multinode 3 2 -np 6 "$tmp/small" n1 "$gpubind" --doctor
    together 'one differs' 'nodes n0,n2 (2)
node n1 differs'
    check 'and in what' grep -q '^breaks: shm: /dev/shm holds 64 MiB' "$tmp/out"
    is 'the worst of all is the exit status' "$status" 1
    run multinode 3 1 -np 3 "$tmp/small" n0 "$gpubind" --doctor --json
    is 'JSON: a line for each group' "$(groups)" "n1 n2 $(groups | sed -n '1s/.* //p')
n0 breaks"
    run multinode 3 1 -np 3 env -u PMIX_NAMESPACE "$gpubind" --doctor
    is 'without PMIx each speaks for itself' "$(heads | sort)" 'node n0
node n1
node n2'
    # shellcheck disable=SC2016 # for the ranks' shell
    run multinode 2 1 -np 2 sh -c '"$1" --doctor; true' - "$gpubind"
    is 'and where more may follow' "$(heads | sort)" 'node n0
node n1'
    if [ "$(multinode_version)" = 4 ]; then
        run multinode 2 1 -np 1 "$gpubind" --doctor : -np 1 sleep 0
        is 'and beside another command' "$(heads)" 'node n0'
    else
        skip 'and beside another command' 'PRRTE 3.0 loses a daemon in such jobs, whatever they run'
    fi
    run multinode 2 1 -np 2 "$tmp/other" 1 "$gpubind" --doctor --timeout 2
    is 'one never comes: the other goes on' "$(heads)" 'node n0'
    is 'and says so' "$(grep -c "^gpubind: $why: not all came within 2 seconds" "$tmp/err")" 1
    # In 5 of 40 times the mpirun of Open MPI 5 did not end although all its ranks had, with sleep in place of
    # gpubind, too. So there the question is whether gpubind ends, long before mpirun is killed.
    LAUNCH_TIMEOUT=20 multinode 2 1 -np 2 "$tmp/other" - "$gpubind" --doctor --timeout 2 >"$tmp/out" 2>"$tmp/err" &
    job=$! looks=0 stays=
    while kill -0 "$job" 2>/dev/null && [ "$looks" -lt $((150 * ${TEST_PATIENCE:-1})) ]; do
        sleep 0.1
        looks=$((looks + 1))
    done
    if kill -0 "$job" 2>/dev/null && [ "$(multinode_version)" = 5 ]; then
        kill -0 "$(cat "$tmp/other_rank0")" 2>/dev/null && stays=yes
        is 'one is killed: the other ends' "$stays" ''
        wait "$job"
    else
        wait "$job"
        status=$?
        check 'one is killed: the job ends' test "$status" != 0 -a "$status" != 124
    fi
    nothing_left 'nothing is left behind'
else
    skip 'Open MPI' "$launch_why"
fi

# ---- Slurm

if slurm_start nodes=2 cpus=4 && slurm_has_pmix; then
    run slurm_run --mpi=pmix -N 2 -n 4 "$gpubind" --doctor
    together 'Slurm' 'nodes n0,n1 (2)'
    status_fits 'Slurm'
    run slurm_run --mpi=pmix -N 2 -n 2 "$tmp/small" n1 "$gpubind" --doctor
    together 'Slurm, one differs' 'node n0
node n1 differs'
    is 'Slurm: the worst of all' "$status" 1
    run slurm_run --mpi=none -N 2 -n 2 "$gpubind" --doctor
    is 'Slurm without PMIx: each speaks for itself' "$(heads | sort)" 'node n0
node n1'
    slurm_wait 2
    began=$(date +%s)
    run launch_bounded srun --mpi=pmix -N 2 -n 2 --kill-on-bad-exit=0 "$tmp/other" - "$gpubind" --doctor --timeout 2
    check 'Slurm: one is killed, and the other does not hang' test "$status" != 0 -a $(($(date +%s) - began)) -lt $((40 * TEST_PATIENCE))
    slurm_tried
else
    skip 'Slurm' "$launch_why"
fi
done_testing
