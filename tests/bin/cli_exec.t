#!/bin/sh
# gpubind becomes the program: nothing else changes, and nothing stays behind.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

topology=$top_srcdir/tests/machines/demo-2p4g.xml
gpubind="gpubind --quiet --topology $topology" # words; the folder has no blanks
case $topology in *[[:space:]]*) skip_all 'the source folder has a blank in its name' ;; esac

# await FILE: until the program has written it, for half a minute at most.
await() {
    waited=0
    until [ -s "$1" ] || [ $((waited += 1)) -gt 300 ]; do sleep 0.1; done
}

# Exit status.
for wanted in 0 1 42 125 126 127 255; do
    run bounded $gpubind sh -c "exit $wanted"
    is "the program's status $wanted" "$status" "$wanted"
done
for name in TERM KILL SEGV; do
    run sh -c "$gpubind sh -c 'kill -$name \$\$'; echo \$? >&3" 3>"$tmp/status"
    is "death by $name is seen" "$(cat "$tmp/status")" "$(sh -c "kill -$name \$\$" 2>/dev/null; echo $?)"
done

# Programs that cannot be run.
mkdir "$tmp/folder"
: > "$tmp/empty"; echo 'echo ran' > "$tmp/no-interpreter"; echo 'echo ran' > "$tmp/not-executable"
printf '#!/no/such/interpreter\n' > "$tmp/bad-interpreter"
chmod +x "$tmp/empty" "$tmp/no-interpreter" "$tmp/bad-interpreter"
cannot() {
    run bounded $gpubind "$2"
    refused "$1" "$2" "$3"
}
cannot 'a missing program' "$tmp/missing" 127
cannot 'a missing program, sought in PATH' no-such-program-anywhere 127
cannot 'an empty word' '' 127
# In this folder, where mpirun would find it.
printf '#!/bin/sh\n' >"$tmp/here"
: >"$tmp/no-program"
chmod +x "$tmp/here"
run bounded sh -c 'cd "$1" && shift && exec "$@"' - "$tmp" $gpubind here
refused 'a program of this folder, not in PATH' \
    'cannot run here: No such file or directory; it is not in PATH: ./here names the file of this folder$' 127
for name in no-program folder; do
    run bounded sh -c 'cd "$1" && shift && exec "$@"' - "$tmp" $gpubind $name
    refused "... $name is no program" "cannot run $name: No such file or directory$" 127
done
for words in '--report json' '--gpu-aware on'; do
    # shellcheck disable=SC2086 # words
    run bounded $gpubind $words true
    refused "$words: the value is no command" "equals sign: ${words% *}=${words#* }" 127
done
run bounded $gpubind --report -- json
is '... and no value behind --' "$status $(grep -c 'equals sign' "$tmp/err")" '127 0'
cannot 'a folder' "$tmp/folder" 126
cannot 'a folder behind a file' "$tmp/empty/program" 127
cannot 'a program that may not be executed' "$tmp/not-executable" 126
cannot 'an interpreter that is missing' "$tmp/bad-interpreter" 127
run bounded $gpubind "$tmp/no-interpreter"
is 'a script without #! runs in the shell, as under execvp' "$status $(cat "$tmp/out")" '0 ran'
run bounded $gpubind "$tmp/empty"
is 'an empty file is an empty script' "$status" 0
cp "$tmp/no-interpreter" "$tmp/sought"; chmod -x "$tmp/sought"
run bounded env PATH="$tmp:$PATH" $gpubind sought
refused 'a program in PATH that may not be executed' sought 126

# Signals: gpubind is gone, its process is the program's.
run bounded sh -c "echo \$\$; exec $gpubind sh -c 'echo \$\$'"
is 'the process stays the same' "$(sed -n 1p "$tmp/out")" "$(sed -n 2p "$tmp/out")"
run bounded sh -c "echo \$\$; $gpubind sh -c 'echo \$PPID'; :"
is 'no parent stays behind' "$(sed -n 2p "$tmp/out")" "$(sed -n 1p "$tmp/out")"
run bounded $gpubind sh -c 'read -r children < /proc/$$/task/$$/children; echo "$children"'
is 'the program inherits no child' "$(cat "$tmp/out" "$tmp/err")" ''
$gpubind sh -c 'trap "exit 7" USR1; echo ready > "$1"; while :; do sleep 0.1; done' - "$tmp/ready" &
await "$tmp/ready"
kill -USR1 $!
wait $!
is 'a signal reaches the program' $? 7
$gpubind sh -c 'echo ready > "$1"; exec sleep 60' - "$tmp/again" &
await "$tmp/again"
kill -TERM $!
wait $!
is 'TERM ends the program' $? 143

# Standard streams, byte for byte.
dd if=/dev/urandom of="$tmp/bytes" bs=65536 count=40 2>/dev/null
bounded $gpubind cat < "$tmp/bytes" > "$tmp/copy"
check 'stdin and stdout pass through' cmp "$tmp/bytes" "$tmp/copy"
{ bounded $gpubind dd bs=1 count=5 2>/dev/null; cat; } < "$tmp/bytes" > "$tmp/copy"
check 'stdin is not read ahead' cmp "$tmp/bytes" "$tmp/copy"
bounded $gpubind sh -c 'cat >&2' < "$tmp/bytes" 2> "$tmp/copy"
check 'stderr passes through' cmp "$tmp/bytes" "$tmp/copy"

# same DESCRIPTION COMMAND...: it says the same under gpubind as without.
same() {
    what=$1
    shift
    is "$what" "$("$@" $gpubind sh -c "$look")" "$("$@" sh -c "$look")"
}
# shellcheck disable=SC2016 # the program expands these
look='ls -l /proc/self/fd | sed "s/.* \([0-9]* -> .*\)/\1/; s/[0-9]*\/fd$/fd/" | grep -v pipe:'
same 'no file descriptor is added' bounded
same 'a file descriptor of the caller stays' bounded sh -c 'exec "$@" 7</dev/null' -
look='ls /proc/self/fd'
same 'closed streams stay closed' bounded sh -c 'exec "$@" <&- 2>&-' -
if [ -n "$MPIRUN" ]; then
    same 'no file descriptor is added under mpirun' mpi 2
else
    skip 'no file descriptor is added under mpirun' 'no mpirun'
fi

# Everything else that exec hands on.
look='grep -E "^(Sig(Ign|Blk)|Umask|Uid|Gid|Groups|NoNewPrivs|Seccomp|CapEff)" /proc/self/status
    pwd; nice; ulimit -a; umask; cat /proc/$$/oom_score_adj'
same 'signals, user, rights, limits, folder, priority' bounded
same 'ignored signals stay ignored' bounded sh -c 'trap "" PIPE INT HUP USR1; "$@"' -
same 'umask and folder' bounded sh -c 'umask 027; cd /usr; "$@"' -
same 'priority' bounded nice -n 5
same 'limits' bounded sh -c 'ulimit -n 100; ulimit -s 4096; "$@"' -
done_testing
