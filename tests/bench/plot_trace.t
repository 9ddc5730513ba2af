#!/bin/sh
# gpubind-plot trace: parts of traces put together, drawn, and what is said of those that do not fit.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

program=$top_builddir/bench/plot/gpubind-plot
command -v python3 >/dev/null || skip_all 'no python3'
# The one that Debian's packages are for, where another comes first.
for python in python3 /usr/bin/python3; do
    "$python" -c 'import matplotlib' 2>/dev/null && break
done
[ -z "${XDG_CACHE_HOME-}${HOME-}" ] && export HOME="$tmp"
plot() { run bounded "$python" "$program" "$@"; }
trace=$tmp/trace

# part RANK RANKS JOB STARTED PAIRS [DROPPED]: a part; it has one event, from the 2nd to the 5th us.
part() {
    cat >"$trace.$1" <<PART
{"displayTimeUnit": "ns", "gpubind": {"trace": 1, "version": "0.1", "job": "$3", "host": "node$1", "rank": $1,
 "ranks": $2, "started_unix_ns": $4, "events": 9, "dropped": ${6:-0}, "pairs": [$5], "collectives": [
 {"name": "MPI_Bcast", "path": "nccl", "calls": 2, "bytes": 2048, "us": 10.5}]},
 "traceEvents": [{"name": "process_name", "ph": "M", "pid": $1, "tid": 0, "args": {"name": "rank $1"}},
 {"name": "send, direct", "cat": "send", "ph": "X", "pid": $1, "tid": 100, "ts": 2.000, "dur": 3.000, "args": {}}]}
PART
}
# pair KIND PEER PATH BYTES: of a call.
pair() { echo "{\"kind\": \"$1\", \"peer\": $2, \"path\": \"$3\", \"calls\": 1, \"bytes\": $4, \"us\": 1.5}"; }

# Rank 2 has none, and is told of by rank 1; rank 1 stages what rank 0 has passed in host memory.
now=1770000000000000000
part 0 4 latest $now "$(pair send 1 direct 3000000), $(pair get 3 packed 2000000), $(pair send 1 plain 5000)"
part 1 4 latest 1770000000000001000 "$(pair receive 0 direct 3000000), $(pair receive 2 buffered 1000000),
 $(pair receive 0 staged 5000), $(pair send null plain 7)" 5
part 3 4 latest $now "$(pair put 0 staged 4000000)"
part 7 8 before 1760000000000000000 "$(pair send 0 staged 9)"

# ---- the time line

plot trace "$trace" -o "$tmp/all.json"
is 'the parts become one document' "$status $(cat "$tmp/out" "$tmp/err")" '0 '
is '... of the latest job' "$("$python" -c "
import json, sys
all = json.load(open(sys.argv[1]))
print([(part['rank'], part['started_unix_ns'] % 10000) for part in all['gpubind']['parts']])
print([(event['pid'], event['ts']) for event in all['traceEvents'] if event['ph'] == 'X'])" "$tmp/all.json")" \
    "[(0, 0), (1, 0), (3, 0)]
[(0, 2.0), (1, 3.0), (3, 2.0)]"
plot trace "$tmp/all.json" -o "$tmp/again.json"
check '... which is taken, too' cmp "$tmp/all.json" "$tmp/again.json"
plot trace "$trace" --list
is '--list' "$status $(sed 's/ .*//' "$tmp/out" | xargs)" \
    "0 $(for p in direct packed buffered staged plain received; do echo trace/sent-$p; done | xargs) trace/totals trace/time trace/collectives"

# A launcher that names no job: the latest one has a part of rank 0 alone, and that of rank 1 was written so many ms
# before it, on a node whose clock may be another.
# unnamed NODE MS RANKS
unnamed() {
    sed "s/\"job\": \"latest\"/\"job\": null, \"entered_unix_ns\": $((now - 50000000))/" "$trace.0" >"$tmp/unnamed.0"
    sed "s/\"job\": \"latest\", \"host\": \"[^\"]*/\"job\": null, \"host\": \"$1/
        s/\"started_unix_ns\": [0-9]*/\"started_unix_ns\": $((now - 60000000000)), \"ended_unix_ns\": $((now - $2 * 1000000))/" \
        "$trace.1" >"$tmp/unnamed.1"
    plot trace "$tmp/unnamed" -o "$tmp/unnamed.json"
    is "a job without a name: a part of $1, $2 ms" "$status $("$python" -c "
import json, sys
print([part['rank'] for part in json.load(open(sys.argv[1]))['gpubind']['parts']])" "$tmp/unnamed.json")" "0 $3"
}
unnamed node0 51 '[0]'
unnamed node0 49 '[0, 1]'
unnamed node1 1500 '[0]'
unnamed node1 500 '[0, 1]'
unnamed node0 -1 '[0, 1]'

# ---- parts of libgpubind, alone and beside those of libgpubind-aware

# also RANK: beside its part one of libgpubind, whose event begins 5 us later; and there alone, too.
also() {
    sed -e 's/"trace": 1,/& "library": "libgpubind",/' -e 's/"tid": 0/"tid": 1000/' \
        -e 's/"tid": 100, "ts": 2.000/"tid": 1100, "ts": 7.000/' \
        -e "s/\"pairs\": \[.*/\"pairs\": [$(pair send 1 direct 70000)], \"collectives\": []},/" \
        -e '/^ {"name": "MPI_Bcast"/d' "$trace.$1" >"$trace.libgpubind.$1"
    cp "$trace.libgpubind.$1" "$tmp/alone.libgpubind.$1"
}
trace=$tmp/both
part 0 2 both $now "$(pair send 1 direct 3000)" && also 0
part 1 2 both $now "$(pair receive 0 direct 3000)" && also 1
trace=$tmp/trace
# told DOCUMENT: the events' rows and times by rank, and what rank 0 has sent.
told() {
    "$python" -c "
import json, sys
all = json.load(open(sys.argv[1]))
print([(event['pid'], event['tid'], event['ts']) for event in all['traceEvents'] if event['ph'] == 'X'])
print([(part['rank'], pair['bytes']) for part in all['gpubind']['parts'] for pair in part['pairs']])" "$1"
}
plot trace "$tmp/both" -o "$tmp/both.json"
is 'both libraries of a process' "$status $(cat "$tmp/out" "$tmp/err") $(told "$tmp/both.json")" \
    "0  [(0, 1100, 7.0), (0, 100, 2.0), (1, 1100, 7.0), (1, 100, 2.0)]
[(0, 70000), (0, 3000), (1, 70000), (1, 3000)]"
plot trace "$tmp/both.json" -o "$tmp/again.json"
check '... which is taken, too' cmp "$tmp/both.json" "$tmp/again.json"
plot trace "$tmp/alone" -o "$tmp/alone.json"
is 'libgpubind alone' "$status $(told "$tmp/alone.json")" \
    "0 [(0, 1100, 7.0), (1, 1100, 7.0)]
[(0, 70000), (1, 70000)]"

# A rank without the MPI functions' part is told of by the others.
trace=$tmp/mixed
part 0 2 both $now "$(pair receive 1 plain 6000)"
cp "$tmp/both.libgpubind.1" "$trace.libgpubind.1"
trace=$tmp/trace
plot trace "$tmp/mixed" --list
is 'a rank with libgpubind alone' "$(grep -c '^trace/sent-plain ' "$tmp/out")" 1

# What a receiver has staged is there in full, beside other bytes that its sender has staged and it has not.
trace=$tmp/staged
part 0 2 latest $now "$(pair send 1 plain 5000000), $(pair send 1 staged 3000000)"
part 1 2 latest $now "$(pair receive 0 staged 5000000), $(pair receive 0 plain 3000000)"
trace=$tmp/same
part 0 2 latest $now "$(pair send 1 staged 3000000)"
part 1 2 latest $now "$(pair receive 0 staged 3000000)"
trace=$tmp/trace
plot trace "$tmp/same" --list
is 'what both sides have staged is in one panel' "$(grep -c sent- "$tmp/out") $(grep -c '^trace/sent-staged ' "$tmp/out")" '1 1'

# ---- refused: one sentence, status 1, no file

# refuses DESCRIPTION PATTERN WORD...
refuses() {
    what=$1 pattern=$2
    shift 2
    plot "$@" -o "$tmp/x.svg"
    check "$what" test "$status $(sed "s|^gpubind-plot: $pattern.*|said|" "$tmp/err")" = '1 said'
}
refuses 'no trace is named' 'no file is given' trace
refuses 'none is there' "there is no $tmp/none.0 or other part of a trace" trace "$tmp/none"
echo '{"results": []}' >"$tmp/other.0"
refuses 'JSON of another program' "$tmp/other.0 was not written by a run with GPUBIND_TRACE" trace "$tmp/other"
: >"$tmp/empty.0" && : >"$tmp/empty.1"
refuses 'no rank has ended' "the parts of $tmp/empty are empty: no rank has come to MPI_Finalize" trace "$tmp/empty"
head -c 300 "$trace.0" >"$tmp/half.0"
refuses 'half a part' "$tmp/half.0 is no JSON" trace "$tmp/half"
sed 's/"path": "nccl", //' "$trace.0" >"$tmp/less.0"
refuses 'a part without a path' "$tmp/less: the trace is not as GPUBIND_TRACE makes it (KeyError" trace "$tmp/less"
refuses 'two traces' "'b' is one word too many" trace a b
plot "$tmp/other.0" -o "$tmp/x.json"
check 'measurements as JSON' grep -q '^gpubind-plot: --output: .* in none of .svg, .png, .pdf and .html$' "$tmp/err"
is 'no file is left of all these' "$(find "$tmp" -name 'x.*')" ''
# A part that was cut, and another program's file, beside good ones.
cut=$tmp/cut
for rank in 0 1; do cp "$trace.$rank" "$cut.$rank"; done
cp "$tmp/half.0" "$cut.2" && cp "$tmp/other.0" "$cut.3"
plot trace "$cut" -o "$tmp/cut.json"
is 'parts that cannot be read are left out' "$status $(cat "$tmp/err") $("$python" -c "
import json, sys
print([part['rank'] for part in json.load(open(sys.argv[1]))['gpubind']['parts']])" "$tmp/cut.json")" '0  [0, 1]'
if ! "$python" -c 'import matplotlib' 2>/dev/null; then
    skip 'pictures' 'no python3-matplotlib'
    done_testing
    exit
fi

# ---- pictures

plot trace "$trace" -o "$tmp/all.html"
is 'drawn, as HTML' "$status $(cat "$tmp/out" "$tmp/err")" '0 '
check '... with the words, and the numbers in MB' "$python" -c "
import html, re, sys
page = open(sys.argv[1], encoding='utf-8').read()
words = [html.unescape(word) for word in re.findall('<text[^>]*>([^<]*)</text>', page)]
for word in ('what ranks sent to each other: trace', '4 ranks, 6e-06 s until the last event, gpubind 0.1', 'from GPU to GPU, MB', 'packed in GPU memory, MB',
             'staged through host memory, MB', 'send, direct: 1 call', 'put, staged',
             'MPI_Bcast, nccl: 6 calls, 1K each', 'staged by the receiver, whatever memory', 'the sender passed, MB',
             'parts of other runs, left out: 1',
             'calls with a peer of another MPI_COMM_WORLD, which are in no matrix: 1',
             'rank 1: the last 5 of 9 events are in the sums alone, not in the timeline'):
    assert word in words, (word, words)
assert any(word.startswith('there is no part of rank 2: it used neither libgpubind nor ') for word in words)
for number in ('3.00', '2.00', '1.00', '4.00'):
    assert number in words, (number, words)" "$tmp/all.html"
plot trace "$trace.3" --only totals -o "$tmp/part.svg"
check 'one part, one panel' sh -c '[ "$(grep -c "from rank" "$0")" = 0 ] && grep -q "put, staged: 1 call" "$0"' "$tmp/part.svg"
plot trace "$cut" -o "$tmp/cut.svg"
check 'a note tells of parts that cannot be read' grep -q 'left out: .*/cut.2 is no JSON: .*; and 1 more that cannot be read' "$tmp/cut.svg"
plot trace "$tmp/mixed" -o "$tmp/mixed.svg"
check 'a note tells of a library without a part' grep -q '>there is no part of libgpubind-aware of rank 1<' "$tmp/mixed.svg"
plot trace "$tmp/staged" --only sent-received -o "$tmp/staged.svg"
is 'what receivers have staged is there in full' "$(grep -c '>5\.00<' "$tmp/staged.svg") $(grep -c '>2\.00<' "$tmp/staged.svg")" '1 0'
# More ranks than rows.
for rank in 0 1 98 99; do
    part $rank 100 latest $now "$(pair send $((99 - rank)) staged 1000)" 2
done
rm -f "$trace".[37]
plot trace "$trace" --list
check 'many ranks stand in groups' grep -q 'staged through host memory (of each 4 ranks from the one named), kB' "$tmp/out"
plot trace "$trace" -o "$tmp/many.svg"
check '... and are in one note' grep -q '>rank 0-1, 98-99: the last 8 of 36 events are in the sums alone' "$tmp/many.svg"
trace=$tmp/apart
part 0 2 latest $now "$(pair send 1 staged 3000000000), $(pair send 0 staged 5000)"
plot trace "$trace" -o "$tmp/apart.svg"
is 'few bytes beside many have their own unit' "$(grep -o '>\(3\.00\|5 kB\|0\.000\)<' "$tmp/apart.svg" | sort -u | xargs)" '>3.00< >5 kB<'
nothing_left 'nothing is left'
done_testing
