#!/bin/sh
# gpubind-bench: what --help and the manual page say, and pt2pt: what it refuses and what
# it prints, on the simulated driver and on host memory. No time is looked at.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
[ -z "$SANITIZED" ] || export ASAN_OPTIONS=detect_leaks=0 # those of MPI

[ -n "$MPIRUN" ] || skip_all 'no MPI'
gpubind-bench --help >"$tmp/help" 2>/dev/null || skip_all 'no gpubind-bench: not built here'

# ---- gpubind-bench(1) says what each subcommand's --help says

page=$top_srcdir/man/gpubind-bench.1
subcommands=$(awk '/^[^ ]/ { on = /^Subcommands:/ } on && /^  [a-z]/ { print $1 }' "$tmp/help")

# Both as lines "SUBCOMMAND GROUP: [-L ]--NAME[ ARGUMENT]" and, for defaults of one word,
# "SUBCOMMAND --NAME: DEFAULT".
help_options() {
    for word in $subcommands; do
        gpubind-bench "$word" --help | awk -v word="$word" '
            /^[^ ]/ { flush(); group = $0; sub(/:$/, "", group) }
            /^  (   |-[a-zA-Z],?) *--/ {
                flush()
                sub(/^ +/, ""); sub(/^-[a-zA-Z], /, substr($0, 1, 2) " ")
                print word " " group ": " $0
                sub(/.*--/, "--"); name = $1; text = ""
                next
            }
            { text = text $0 }
            function flush() {
                if (name && match(text, /\([a-z0-9]+\) *$/))
                    print word " " name ": " substr(text, RSTART + 1, RLENGTH - 2)
                name = ""
            }'
    done | sort
}
plain() { sed -E 's/\\f[BIR]//g; s/\\-/-/g'; }
man_options() {
    plain <"$1" | awk -v all="$(echo "$subcommands" | xargs)" '
        /^\.S[HS] / { flush() }
        /^\.SH / { on = $2 == "OPTIONS" }
        /^\.SS / { group = substr($0, 5) }
        on && tag && /^-/ {
            flush()
            sub(/^-[a-zA-Z], /, substr($0, 1, 2) " ")
            entry = $0; words = all; preset = ""
        }
        { tag = /^\.TP/ }
        /^For: .*\.$/ { words = substr($0, 6); gsub(/[,.]/, "", words) }
        /^Default: [a-z0-9]+\.$/ { preset = $2; sub(/\.$/, "", preset) }
        function flush(    n, i, word, name) {
            n = entry ? split(words, word, " ") : 0
            name = entry; sub(/^-. /, "", name); sub(/ .*/, "", name)
            for (i = 1; i <= n; i++) {
                print word[i] " " group ": " entry
                if (preset)
                    print word[i] " " name ": " preset
            }
            entry = ""
        }' | sort
}
check 'options were found' test "$(help_options | grep -c ': .*--')" -ge 15
check 'defaults were found' test "$(help_options | grep -c ' --[a-z]*: [a-z0-9]*$')" -ge 5
is 'help and page have the same options and defaults' "$(man_options "$page")" "$(help_options)"
for change in '/^.fB.-.-json/d' 's/^(Default: .fB)dd/\1hh/' 's/^(For: .fB)pt2pt/\1pt3pt/'; do
    sed -E "$change" "$page" >"$tmp/changed"
    check "'$change' would be noticed" test "$(help_options)" != "$(man_options "$tmp/changed")"
done
for word in $subcommands; do
    check "the page describes $word" grep -qx "\.SS $word" "$page"
done
check 'the page is of this version' \
    grep -q "^\.TH .* \"gpubind $(gpubind-bench --version | sed 's/.* //')\" " "$page"
linted "$page" 'the page'

# ---- refused: one sentence, nothing on stdout, status 125

# rejects N PATTERN [OPTION...]
rejects() {
    ranks=$1 pattern=$2
    shift 2
    run mpi "$ranks" gpubind-bench pt2pt "$@"
    if [ "$status" = 125 ] && [ ! -s "$tmp/out" ] &&
        [ "$(grep -c '^gpubind-bench: ' "$tmp/err")" = 1 ] &&
        grep '^gpubind-bench: ' "$tmp/err" | grep -qe "$pattern"; then
        ok "refused with $ranks ranks: $*"
    else
        not_ok "refused with $ranks ranks: $*"
        diag "status $status, not 125, or not one sentence with '$pattern':
$(cat "$tmp/err")"
    fi
}
hosts='--buffers hh --api mpi'

run gpubind-bench
is 'no subcommand' "$status $(cat "$tmp/err")" \
    '125 gpubind-bench: no subcommand is given (gpubind-bench --help lists them)'
run gpubind-bench pt3pt
is 'an unknown subcommand' "$status $(cat "$tmp/err")" \
    "125 gpubind-bench: 'pt3pt' is no subcommand (gpubind-bench --help lists them)"
rejects 2 "unknown option '--speed'" --speed 8
rejects 2 "unknown option '-x'" -x
rejects 2 "'word' is one word too many" word
rejects 2 "option '--sizes' needs a value" --sizes
rejects 2 '--svg: gpubind-plot draws the pictures' --svg x.svg
rejects 2 "option '--csv' takes no value" --csv=1
rejects 2 "^gpubind-bench: --sizes: '8X' is no size" --sizes 8,8X
rejects 2 "--sizes: '' is no size" --sizes 8,
rejects 2 "--sizes: '0' is no size" --sizes 0
rejects 2 "--sizes: '1M-8' goes down" --sizes 1M-8
rejects 2 '2147483648 bytes are more than 1G' --sizes 2G
rejects 2 "--sizes: '99999999999999999999' is no size" --sizes 99999999999999999999
rejects 2 "--buffers: 'xx' is none of dd|dh|hd|hh" --buffers xx
rejects 2 "--measure: 'late' is none of first" --measure latency,late
rejects 2 "--path: 'nvlink' is none of ipc|" --path nvlink
rejects 2 "--window: '0' is not a number from 1 to 1024" --window 0
rejects 2 "--memory: 'much' is no size" --memory much
rejects 2 '--csv and --json exclude each other' --csv --json
rejects 2 '--path goes with the calls of gpubind.h' --path ipc --api mpi
rejects 2 '--ceiling peer goes with --buffers dd' --ceiling peer --buffers dh
# shellcheck disable=SC2086 # words
{
    rejects 1 'an even number of ranks, 2 at least; it has 1' $hosts
    rejects 3 'an even number of ranks, 2 at least; it has 3' $hosts
    rejects 2 '--memory: messages of 1048576 bytes do not fit' $hosts --sizes 1M --memory 1M
}
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES
rejects 2 'rank 0: \(no GPU is visible\|there is no CUDA driver\)' --api mpi --force
unset CUDA_VISIBLE_DEVICES

# ---- what it prints

columns='measure,method,buffers,pairs,bytes,window,iterations,us,us_min,us_p99'
columns=$columns,GB_per_s,messages_per_s,x_copy,x_mpi,data
quick='--time 1 --warmup 1'

# rows [PATTERN]: of $tmp/out, without the lines of their names.
rows() { grep -v '^#' "$tmp/out" | sed 1d | grep -e "${1-.}"; }
# cells N...: of all rows, each tuple once.
cells() { rows | cut -d, -f"$1" | sort -u; }
# What is wrong with the numbers: times in order, none missing where it must be there.
odd_rows() {
    rows | awk -F, '
        NF != 15 { print NF " columns: " $0; next }
        !($9 > 0 && $9 <= $8 && $8 <= $10) { print "times: " $0 }
        !($11 > 0 && $12 > 0 && $7 > 0) { print "numbers: " $0 }
        $15 != (/^[a-z-]*,(copy|staged),/ ? "unchecked" : "right") { print "data: " $0 }'
}

# measures N DESCRIPTION [OPTION...]: N ranks succeed, with good rows.
measures() {
    ranks=$1 what=$2
    shift 2
    # shellcheck disable=SC2086 # words
    run mpi "$ranks" gpubind-bench pt2pt --csv $quick "$@"
    is "$what: succeeds" "$status" 0
    [ "$status" = 0 ] || diag "$(cat "$tmp/err")"
    is "$what: names of columns" "$(grep -v '^#' "$tmp/out" | sed -n 1p)" "$columns"
    is "$what: numbers" "$(odd_rows)" ''
}

# shellcheck disable=SC2086 # words
{
    measures 2 'plain MPI' $hosts --sizes 8,64K
    is 'plain MPI: all measures' "$(cells 1,2,3,5,6)" "$(sort <<END
first,mpi,hh,8,1
first-new,mpi,hh,8,1
latency,mpi,hh,8,1
latency,mpi,hh,65536,1
bandwidth,mpi,hh,8,64
bandwidth,mpi,hh,65536,64
bidirectional,mpi,hh,8,64
bidirectional,mpi,hh,65536,64
rate,mpi,hh,8,64
END
)"
    measures 2 'exact numbers' $hosts --sizes 3,128K --measure bandwidth --window 5 --iterations 6
    is 'exact numbers: as asked for' "$(cells 5,6,7 | sort)" "$(printf '131072,5,6\n3,5,6')"
    measures 2 'a small memory' $hosts --sizes 1M --measure bandwidth --memory 10M
    is 'a small memory: the window shrinks' "$(cells 6)" 5
    measures 4 'four ranks' $hosts --sizes 8 --measure latency
    is 'four ranks: one pair' "$(cells 4)" 1
    measures 4 'pairs' $hosts --sizes 8 --measure latency,bandwidth --pairs
    is 'pairs: two' "$(cells 4)" 2

    run mpi 2 gpubind-bench pt2pt $hosts $quick --sizes 8-64K --json --progress
    is 'JSON: succeeds' "$status" 0
    if command -v python3 >/dev/null; then
        check 'JSON: all sizes' python3 -c '
import json, sys
report = json.load(open(sys.argv[1]))
rows = report["results"]
assert report["subcommand"] == "pt2pt" and report["ranks"] == 2 and report["buffers"] == "hh" and len(report["machine"]) > 3
assert [row["bytes"] for row in rows if row["measure"] == "latency"] == [8 << i for i in range(14)]
assert all(row["data"] == "right" and row["x_copy"] is None for row in rows)' "$tmp/out"
    else
        skip 'JSON: all sizes' 'no python3'
    fi
    is 'progress: a line for each size' "$(grep -c '^gpubind-bench: [a-z]* [0-9]' "$tmp/err")" 43
    run mpi 2 gpubind-bench pt2pt $hosts $quick --sizes 64K --measure latency
    check 'the table has its row' grep -qE '^  mpi +64K +1( +[0-9.]+){4} +- +1.000  right$' "$tmp/out"
}

# ---- rows are printed as they are measured, so a job that is killed has printed some

# killed PATTERN [OPTION...]: of a job whose second size takes very long, and whose ranks are killed
# once a line of its output fits.
killed() {
    pattern=$1
    shift
    rm -f "$tmp/stop"
    # shellcheck disable=SC2016,SC2086 # for that shell; words
    mpi 2 sh -c 'stop=$0; "$@" & while [ ! -e "$stop" ]; do sleep 0.1; done; kill -KILL $!' \
        "$tmp/stop" gpubind-bench pt2pt $hosts --warmup 1 --measure first,latency \
        --sizes 8,64M --iterations 1000 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    for _ in $(seq 1 $((200 * TEST_PATIENCE))); do
        ! grep -qE "$pattern" "$tmp/out" || break
        sleep 0.1
    done
    : >"$tmp/stop"
    wait $!
    check "a killed job has printed its first rows: $pattern" grep -qE "$pattern" "$tmp/out"
}
killed '^latency,mpi,hh,1,8,1,1000,' --csv
killed '^  mpi +8 +1 +1000( +[0-9.]+){3} +- +1.000  right$'
is 'in the order of the measurements' "$(grep '^[fl]' "$tmp/out" | sed 's/[,:].*//')" \
    "$(printf '%s\n' 'first message' 'first messages from new allocations' latency)"

# ---- the library, on host memory

measures 2 'both' --compare --buffers hh --sizes 8,64K
is 'both: each has a row' "$(rows ^latency | cut -d, -f2,5)" \
    "$(printf '%s\n' gpubind,8 mpi,8 gpubind,65536 mpi,65536)"
is 'both: compared with plain MPI' "$(rows | awk -F, '$14 !~ /^[0-9.]+$/ || $13 != ""')" ''

# ---- on the simulated driver

sim=$top_builddir/tests/sim/.libs/libcudasim.so
if [ ! -r "$sim" ]; then
    skip 'GPU memory' 'no simulated driver: not built here'
    done_testing
    exit
fi
mkdir "$tmp/driver"
ln -s "$sim" "$tmp/driver/libcuda.so.1"
LD_LIBRARY_PATH=$tmp/driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

measures 2 'between GPUs' --sizes 8,1000,64K
is 'between GPUs: measures and sizes' "$(rows ,gpubind, | cut -d, -f1,5 | sort)" "$(sort <<END
first,8
first-new,8
latency,8
latency,1000
latency,65536
bandwidth,8
bandwidth,1000
bandwidth,65536
bidirectional,8
bidirectional,1000
bidirectional,65536
rate,8
END
)"
is 'between GPUs: the bare copy to the peer beside them' "$(rows '^[a-z]*,copy,' | wc -l)" \
    "$(rows '^[a-z]*,gpubind,' | grep -vc ^first)"
is 'between GPUs: compared with it' \
    "$(rows | awk -F, '/^first/ ? $13 != "" : !($13 > 0)')" ''
check 'between GPUs: they are named' \
    grep -qE '^# rank 1: .*[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.0' "$tmp/out"
for buffers in dh hd; do
    measures 2 "$buffers" --sizes 8,64K --buffers $buffers
    is "$buffers: beside a staged copy" "$(cells 2)" "$(printf 'gpubind\nstaged')"
done
measures 2 'staging' --sizes 8,64K --path shared --measure latency,bandwidth
is 'staging: beside a staged copy' "$(cells 2)" "$(printf 'gpubind\nstaged')"
GPUBIND_SIM_IPC=refuse
export GPUBIND_SIM_IPC
measures 2 'without IPC' --sizes 8,64K --measure latency
is 'without IPC: beside a staged copy' "$(cells 2)" "$(printf 'gpubind\nstaged')"
unset GPUBIND_SIM_IPC
measures 2 'no ceiling' --sizes 8 --ceiling none --measure latency
is 'no ceiling: no copy' "$(cells 2)" gpubind
measures 4 'pairs of GPUs' --sizes 8,64K --pairs --measure first,latency,bandwidth
is 'pairs of GPUs: two' "$(cells 4)" 2

run mpi 2 gpubind-bench pt2pt --api mpi --sizes 8 --measure latency
if [ "$status" = 0 ]; then
    skip 'an MPI without CUDA is not given GPU memory' 'this one is CUDA-aware'
else
    rejects 2 'does not say that it is CUDA-aware' --api mpi
fi
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
if [ -z "$SANITIZED" ]; then
    run mpi 2 env "LD_PRELOAD=$aware" gpubind-bench pt2pt --compare --sizes 8,64K \
        --measure latency --ceiling none --csv
    is 'MPI beside the library, under --gpu-aware' "$status $(cells 2)" "0 $(printf 'gpubind\nmpi')"
else
    skip 'MPI beside the library, under --gpu-aware' 'a program with sanitizers'
fi
nothing_left 'nothing is left'
done_testing
