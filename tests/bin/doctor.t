#!/bin/sh
# --doctor on this machine, whatever it is: shape, JSON, exit status, wrong usage; and
# gpubind-doctor(7) has the checks of the code. What the checks find is tested in
# unit_doctor.c, unit_doctor_read.c and unit_doctor_ask.c.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

page=$top_srcdir/man/gpubind-doctor.7
limit=120 # NVML and two MPIs may each use up their time

# Fonts and escapes away: what a reader sees of a source line.
plain() { sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/\\[(]dq/"/g'; }

# ---- the list of checks, once each

table() { sed -nE 's/^ +\{"([a-z0-9-]+)", ".*", doctor_[a-z0-9_]+\},$/\1/p' "$1"; }
manual() {
    awk '/^\.SH / { on = $2 == "CHECKS" } on && tag { print } { tag = /^\.TP/ }' "$1" | plain |
        sed 's/^\.B //; s/, */\n/g'
}
table "$top_srcdir/src/core/doctor/doctor.c" >"$tmp/table"
check 'checks were found in the source' test "$(wc -l <"$tmp/table")" -ge 20
is 'gpubind-doctor(7) has all of them, in their order' "$(manual "$page")" "$(cat "$tmp/table")"
sed '/^\.B uvm$/d' "$page" >"$tmp/page"
check 'a check that the page lacks is noticed' \
    test "$(manual "$tmp/page")" != "$(cat "$tmp/table")"
is 'no check stands twice' "$(sort "$tmp/table" | uniq -d)" ''
check 'the page is installed' grep -qE '^	man/gpubind-doctor\.7 ' "$top_srcdir/man/local.mk"
check 'the page is of this version' grep -q "^\.TH .* \"$(gpubind --version)\" " "$page"
linted "$page" 'the page'

# ---- on this machine

# results: "CHECK RESULT" of the JSON in $tmp/out, after its shape was looked at.
cat >"$tmp/results.py" <<'END'
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, "not one line"
node = json.loads(lines[0])
assert node["nodes"] == [node["node"]], node["nodes"]
assert list(node) == ["node", "nodes", "version", "driver", "launcher", "container", "found", "gpus",
                      "checks"], list(node)
for check in node["checks"]:
    assert list(check) == ["check", "result", "text", "evidence", "set"], check
    assert check["result"] in ("breaks", "slows", "note", "fine", "unknown", "moot"), check
    assert (check["text"] is None) == (check["result"] == "fine"), check
    assert all(isinstance(line, str) for line in check["evidence"] + check["set"]), check
    assert check["evidence"] or check["result"] in ("unknown", "moot"), check
    print(check["check"], check["result"])
faults = [c for c in node["checks"] if c["result"] in ("breaks", "slows")]
assert node["found"] == len(faults), node["found"]
END
results() { python3 "$tmp/results.py" "$tmp/out"; }

# What this machine has may be found; how it is said must fit, and the status too.
run bounded gpubind --doctor --json
is 'nothing on stderr' "$(cat "$tmp/err")" ''
check 'the JSON has the shape of the manual' results
results >"$tmp/results"
is 'all checks, in their order' "$(sed 's/ .*//' "$tmp/results")" "$(cat "$tmp/table")"
is 'the exit status' "$status" "$(grep -qE ' (breaks|slows)$' "$tmp/results" && echo 1 || echo 0)"
cp "$tmp/out" "$tmp/json"
run bounded env GPUBIND_JSON=1 gpubind --doctor
check 'GPUBIND_JSON does the same' results
run bounded env GPUBIND_OVERFLOW=bogus gpubind --doctor --json
check 'settings of runs are none of its own' results

run bounded gpubind --doctor
is 'the first line names the node' "$(sed -n '1s/^\(node [^:]*\): .*/\1/p' "$tmp/out")" \
    "node $(uname -n)"
check 'a finding says what was seen' sh -c "! grep -qE '^(breaks|slows|note): ' '$tmp/out' ||
    grep -q '^    seen  ' '$tmp/out'"
is 'every check is named' "$(while read -r name; do
    grep -qE "(^|[ ,:])$name(,|:|\$)" "$tmp/out" || echo "$name"; done <"$tmp/table")" ''
run bounded gpubind --doctor --verbose
is '--verbose tells each' "$(sed -nE 's/^(breaks|slows|note|fine|unknown|moot): ([a-z0-9-]+): .*/\2/p' \
    "$tmp/out")" "$(cat "$tmp/table")"

# result CHECK: what was run last says of it.
result() { results | sed -n "s/^$1 //p"; }

if unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell expands it
    run bounded unshare --mount sh -c \
        'mount -t tmpfs -o size=64m tmpfs /dev/shm && exec gpubind --doctor --json'
    is 'a small /dev/shm' "$(result shm) $status" 'breaks 1'
    run bounded unshare --mount sh -c \
        'mount -t tmpfs -o size=1g tmpfs /dev/shm && exec gpubind --doctor --json'
    is 'one that is large enough' "$(result shm)" fine
    # shellcheck disable=SC2016
    run bounded unshare --mount sh -c \
        'mount -t tmpfs -o ro tmpfs /dev/shm && exec gpubind --doctor --json'
    is 'one that may not be written to' "$(result shm) $status" 'breaks 1'
else
    skip 'a small /dev/shm' 'no right to mount'
fi
if unshare --pid --fork --mount-proc true 2>/dev/null; then
    run bounded unshare --pid --fork --mount-proc gpubind --doctor --json
    is 'a process namespace of its own' "$(result pid-namespace)" note
else
    skip 'a process namespace of its own' 'no right to make one'
fi
run bounded env OMPI_COMM_WORLD_RANK=0 gpubind --doctor --json
is 'half a launcher in the environment' "$(result launcher) $status" 'breaks 1'

# ---- what does not end

mkdir "$tmp/bin"
printf '#!/bin/sh\nsleep 300\n' >"$tmp/bin/ompi_info"
chmod +x "$tmp/bin/ompi_info"
run bounded env PATH="$tmp/bin:$PATH" gpubind --doctor --json
check 'an ompi_info that hangs is given up' grep -q 'ompi_info: no answer within 10 seconds' "$tmp/out"
check 'and does not spoil the rest' results
nothing_left 'and is not left running'

# ---- in a job

case $("$MPIRUN" --version 2>&1) in
*'(Open MPI) '[45]*)
    run mpi 3 gpubind --doctor --json
    check 'one rank speaks for the node' results
    is 'it knows that it is in a job' "$(sed -n 's/.*"launcher":\("[a-z]*"\).*/\1/p' "$tmp/out")" \
        '"openmpi"' ;;
*) skip 'one rank speaks for the node' 'mpirun is not of Open MPI 4 or 5' ;;
esac

# ---- wrong usage

run bounded gpubind --doctor true
refused 'no command goes with it' "'true'"
run bounded gpubind --doctor --plan
refused 'nor another action' '--plan'
run bounded gpubind --doctor --ranks 2
refused 'nor what belongs to --plan' '--ranks goes with --plan only'
run bounded gpubind --json --check
refused '--json with another action' '--json goes with --plan, --list and --doctor only'
run bounded sh -c 'gpubind --doctor >/dev/full'
refused 'no room for the answer' 'cannot write'

done_testing
