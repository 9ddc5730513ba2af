#!/bin/sh
# bash completes the command lines of gpubind and gpubind-bench: typed into a real one,
# with and without the package bash-completion.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

command -v bash >/dev/null || skip_all 'no bash'
command -v python3 >/dev/null || skip_all 'no python3'
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip_all 'no pseudo terminal can be had'
machines=$top_srcdir/tests/machines
package=/usr/share/bash-completion/bash_completion
script=$top_builddir/bin/completions/gpubind
mkdir "$tmp/d" "$tmp/d/e"
cp "$machines/demo-2p4g.xml" "$tmp/d/node.xml"
: >"$tmp/d/e/with blank"
printf '#!/bin/sh\n' >"$tmp/d/gpuprogram" && chmod +x "$tmp/d/gpuprogram"

# completed FILE... <LINES: what becomes of each line, a line each, the words sorted.
completed() {
    (cd "$tmp/d" && PATH=$tmp/d:$PATH bounded python3 "$top_srcdir/tests/completion.py" "$@") |
        awk -v RS= '{ $1 = $1; print }'
}
sorted() { tr ' ' '\n' | sort | xargs; }

# source_rows FILE [SUBCOMMAND]: "KIND LETTER NAME ARGUMENT" of a table of options in C;
# of gpubind-bench's, the rows that are for the subcommand.
source_rows() {
    only='[A-Z]+'
    [ $# = 1 ] || only=$(echo "$2" | tr '[:lower:]-' '[:upper:]_')
    sed -nE "s/^( *\{)([A-Z0-9_]+ \| )*(ALL|$only)( \| [A-Z0-9_]+)*, /\1/p" "$1" |
        sed -nE 's/^ *\{[A-Z_]+, (OPTION_[A-Z]+), ('"'(.)'"'|0), "([a-z-]+)", ("([^"]*)"|NULL),.*/\1 -\3 \4 \6/p'
}
# words_of SUBCOMMAND: what its --measure or --operations takes.
words_of() {
    case $1 in
    pt2pt) sed -n 's/^#define MEASURE_WORDS "\(.*\)"/\1/p' "$top_srcdir/bench/lib/options.h" ;;
    stream) sed -n 's/^#define STREAM_WORDS "\(.*\)"/\1/p' "$top_srcdir/bench/lib/options.h" ;;
    coll) sed -n '/^#define OPERATION_WORDS/,/[^\\]$/s/^ *"\([^"]*\)".*/\1/p' "$top_srcdir/bench/lib/options.h" | tr -d '\n' ;;
    host) sed -n 's/^#define HOST_WORDS "\(.*\)"/\1/p' "$top_srcdir/bench/lib/options.h" ;;
    esac
}

launchers() { sed -nE 's/^ *\{\.name = "([a-z]+)".*/\1/p' "$top_srcdir/src/host/launch/launcher.c" | sort -u; }

# wanted_names ROWS: all that may begin with a dash.
wanted_names() { awk '{ print "--" $3 } $2 != "-" { print $2 }' "$1" | LC_ALL=C sort | xargs; }

# wanted_values ROWS: "NAME VALUE...", as the option is to be completed.
wanted_values() {
    while read -r kind _ name argument; do
        case $kind.$name in
        *_FLAG.* | *_ACTION.*) continue ;;
        *.master)   words=none ;;
        *.report)   words=$(echo "$argument" | tr '|' ' ') ;;
        *.launcher) words="auto none $(launchers)" ;;
        *.measure | *.operations) words=$(echo "$measures" | tr '|' ' ') ;;
        *_WORD.* | *_SWITCH.* | *_NAME.*) words=$(echo "$argument" | tr '|' ' ') ;;
        *_TEXT.*) case $argument in
            FILE | *=FILE*) words='e gpuprogram node.xml' ;;
            *) words= ;;
            esac ;;
        *) words= ;;
        esac
        echo "$name $(echo "$words" | sorted)"
    done <"$1" | sed 's/ *$//'
}

# values PREFIX ROWS FILE...: the same, as bash completes it, behind a blank and behind =.
values() {
    prefix=$1 rows=$2
    shift 2
    for between in ' ' =; do
        awk -v prefix="$prefix" -v between="$between" \
            '$1 !~ /_(FLAG|ACTION)$/ && (between == "=" || $3 !~ /^(gpu-aware|report)$/) { print prefix " --" $3 between "<*>" }' "$rows" |
            completed "$@" | while read -r line; do
            line=${line#"$prefix --"}
            case $between in =) line="${line%%=*} ${line#*=}" ;; esac
            echo "${line%% *} $(echo "${line#"${line%% *}"}" | sorted)"
        done | sed 's/ *$//; s/ e\/ / e /'
    done
}
names() {
    prefix=$1
    shift
    echo "$prefix -<*>" | completed "$@" | tr ' ' '\n' | grep '^-' | LC_ALL=C sort | xargs
}

source_rows "$top_srcdir/src/host/launch/option_table.c" >"$tmp/rows"
lines=$(wc -l <"$tmp/rows")
check "gpubind: $lines options found, as many as the table has" \
    test "$lines" -gt 15 -a "$lines" = "$(grep -cE '^ +\{[A-Z |]+, [A-Z]+, OPTION_' "$top_srcdir/src/host/launch/option_table.c")"

# whole DESCRIPTION PREFIX ROWS FILE...
whole() {
    what=$1 prefix=$2 rows=$3
    shift 3
    is "$what: all options" "$(names "$prefix" "$@")" "$(wanted_names "$rows")"
    wanted_values "$rows" >"$tmp/wanted"
    # A value that may be left out stands behind = alone.
    is "$what: the value of each" "$(values "$prefix" "$rows" "$@")" \
        "$(grep -vE '^(gpu-aware|report) ' "$tmp/wanted"; cat "$tmp/wanted")"
    case $prefix in gpubind)
        is "$what: no value behind a blank" \
            "$(echo 'gpubind --gpu-aware --bi<*>' | completed "$@" | xargs)" 'gpubind --gpu-aware --bind' ;;
    esac
}
whole 'plain bash' gpubind "$tmp/rows" "$script"

# Notices a row that is missing, and one that lost its words.
sed '/^--smt /d; s/^--bind .*/--bind value/' "$script" >"$tmp/less"
check 'a table without --smt is noticed' \
    test "$(names gpubind "$tmp/less")" != "$(wanted_names "$tmp/rows")"
check '... and one without the words of --bind' \
    test "$(values gpubind "$tmp/rows" "$tmp/less" | grep -c '^bind$')" = 2

# line TYPED BECOMES: in a list of what is typed.
line() { printf '%s\n' "$1" >>"$tmp/typed"; printf '%s\n' "$2" >>"$tmp/becomes"; }
# Options and their values.
line 'gpubind --overf<TAB>X' 'gpubind --overflow X'
line 'gpubind --overflow=i<TAB>X' 'gpubind --overflow=idle X'
line 'gpubind --over i<TAB>X' 'gpubind --over idle X'
line 'gpubind --r i<TAB>X' 'gpubind --r iX'
line 'gpubind --bind "co<TAB>X' 'gpubind --bind core X'
line 'gpubind --bind="co<TAB>X' 'gpubind --bind=core X'
line 'gpubind -v --bind core --quie<TAB>X' 'gpubind -v --bind core --quiet X'
line 'gpubind --bind -- --quie<TAB>X' 'gpubind --bind -- --quiet X'
line 'gpubind --topology no<TAB>X' 'gpubind --topology node.xml X'
line 'gpubind --topology e/wi<TAB>X' 'gpubind --topology e/with blank X'
line 'gpubind --topology=./no<TAB>X' 'gpubind --topology=./node.xml X'
line 'gpubind --map @no<TAB>X' 'gpubind --map @node.xml X'
line 'gpubind --map=@no<TAB>X' 'gpubind --map=@node.xml X'
line 'gpubind --map @e/wi<TAB>X' 'gpubind --map @e/with blank X'
line 'gpubind --map no<TAB>X' 'gpubind --map noX'
line 'gpubind --nodes no<TAB>X' 'gpubind --nodes node.xml X'
line 'gpubind --nodes a:4=no<TAB>X' 'gpubind --nodes a:4=node.xml X'
line 'gpubind --nodes a=x.xml,b:2=no<TAB>X' 'gpubind --nodes a=x.xml,b:2=node.xml X'
line 'gpubind --nodes=a=no<TAB>X' 'gpubind --nodes=a=node.xml X'
line 'gpubind --nodes a=e<TAB>X' 'gpubind --nodes a=e/X'
line 'gpubind --nodes @no<TAB>X' 'gpubind --nodes @node.xml X'
# An action is followed by no command.
line 'gpubind --plan gpupro<TAB>X' 'gpubind --plan gpuproX'
line 'gpubind --plan --js<TAB>X' 'gpubind --plan --json X'
# The command, and its arguments.
line 'gpubind gpupro<TAB>X' 'gpubind gpuprogram X'
line 'gpubind ./gpupro<TAB>X' 'gpubind ./gpuprogram X'
line 'gpubind --report --bind core gpupro<TAB>X' 'gpubind --report --bind core gpuprogram X'
line 'gpubind --overflow=idle -- gpupro<TAB>X' 'gpubind --overflow=idle -- gpuprogram X'
line 'gpubind -- --quie<TAB>X' 'gpubind -- --quieX'
line 'gpubind gpuprogram --quie<TAB>X' 'gpubind gpuprogram --quieX'
line 'gpubind gpuprogram no<TAB>X' 'gpubind gpuprogram node.xml X'
line 'gpubind -v gpuprogram e/wi<TAB>X' 'gpubind -v gpuprogram e/with blank X'
line 'gpubind env A=1 cat no<TAB>X' 'gpubind env A=1 cat node.xml X'
line 'A=1 gpubind --bind=core by_words al<TAB>X' 'A=1 gpubind --bind=core by_words alpha X'
line 'gpubind --bind=core -- by_function a:b=c x<TAB>X' 'gpubind --bind=core -- by_function a:b=c 6:by_function a:b=c x:x X'
line 'gpubind --report gpubind --overflow=i<TAB>X' 'gpubind --report gpubind --overflow=idle X'
cat >"$tmp/others" <<'END'
complete -W 'alpha beta' by_words
by_function_complete() { COMPREPLY=("$COMP_CWORD:${COMP_LINE# }:$2"); }
complete -F by_function_complete by_function
END
is 'lines, in plain bash' "$(completed "$script" "$tmp/others" <"$tmp/typed")" "$(cat "$tmp/becomes")"

if [ -r "$package" ]; then
    whole 'with bash-completion' gpubind "$tmp/rows" "$package" "$script"
    line 'gpubind -v tar --owner-m<TAB>X' 'gpubind -v tar --owner-map=X'
    line 'sudo gpubind --overflow=i<TAB>X' 'sudo gpubind --overflow=idle X'
    is 'lines, with bash-completion' \
        "$(completed "$package" "$script" "$tmp/others" <"$tmp/typed")" "$(cat "$tmp/becomes")"
    mkdir -p "$tmp/user/completions" && cp "$script" "$tmp/user/completions"
    is 'found by bash-completion when it is needed' \
        "$(echo 'gpubind --overf<TAB>i<TAB>X' | BASH_COMPLETION_USER_DIR=$tmp/user completed "$package")" \
        'gpubind --overflow idle X'
else
    skip 'with bash-completion' 'bash-completion is not installed'
fi

# ---- gpubind-bench

script=$top_builddir/bin/completions/gpubind-bench
if [ -r "$script" ]; then
    subcommands=$(gpubind-bench --help | awk '/^[^ ]/ { on = /^Subcommands:/ } on && /^  [a-z]/ { print $1 }')
    for word in $subcommands; do
        source_rows "$top_srcdir/bench/lib/options.c" "$word" >"$tmp/$word"
        measures=$(words_of "$word")
        lines=$(wc -l <"$tmp/$word")
        check "$word: $lines options found, as many as its --help has" \
            test "$lines" -gt 4 -a "$lines" = "$(gpubind-bench "$word" --help | grep -cE '^  (   |-[a-zA-Z],) --')"
        whole "gpubind-bench $word" "gpubind-bench $word" "$tmp/$word" "$script"
    done
    rm "$tmp/typed" "$tmp/becomes"
    line 'gpubind-bench pt2p<TAB>X' 'gpubind-bench pt2pt X'
    line 'gpubind-bench --vers<TAB>X' 'gpubind-bench --version X'
    line 'gpubind-bench pt2pt --measure first,la<TAB>X' 'gpubind-bench pt2pt --measure first,latency X'
    line 'gpubind-bench pt2pt --measure=first,la<TAB>X' 'gpubind-bench pt2pt --measure=first,latency X'
    line 'gpubind-bench pt2pt gpupro<TAB>X' 'gpubind-bench pt2pt gpuproX'
    line 'gpubind-bench nonsense --vers<TAB>X' 'gpubind-bench nonsense --versX'
    is 'gpubind-bench: lines' "$(completed "$script" <"$tmp/typed")" "$(cat "$tmp/becomes")"
else
    skip 'gpubind-bench' 'configured without MPI'
fi

# ---- gpubind-plot

script=$top_builddir/bin/completions/gpubind-plot
if grep -q '^_gpubind_plot_rows' "$script"; then
    rm -f "$tmp/typed" "$tmp/becomes"
    line 'gpubind-plot --out<TAB>X' 'gpubind-plot --output X'
    line 'gpubind-plot node.x<TAB>X' 'gpubind-plot node.xml X'
    line 'gpubind-plot --list -o no<TAB>X' 'gpubind-plot --list -o node.xml X'
    is 'gpubind-plot: lines' "$(completed "$script" <"$tmp/typed")" "$(cat "$tmp/becomes")"
else
    skip 'gpubind-plot' 'it could not be run here'
fi

# ---- the files

for file in "$top_builddir"/bin/completions/*; do
    check "$(basename "$file") is a script" bash -n "$file"
    # shellcheck disable=SC2016 # bash expands it
    is '... that says nothing and leaves options and other variables alone' \
        "$(bash -c 'set >"$0.a"; shopt >>"$0.a"; . "$1"; set >"$0.b"; shopt >>"$0.b"
            diff "$0.a" "$0.b" | grep "^[<>] [a-zA-Z_]*=" | grep -vE "^. (_gpubind_|_=|BASH_|PIPESTATUS|FUNCNAME)"' \
            "$tmp/set" "$file")" ''
done
printf '#!/bin/sh\nexit 1\n' >"$tmp/broken" && chmod +x "$tmp/broken"
run sh "$top_srcdir/bin/completion/completion.sh" "$top_srcdir/bin/completion/completion.bash" "$tmp/broken"
is 'a program that cannot be run here is left without' \
    "$status $(grep -vc '^#' "$tmp/out") $(grep -c 'broken' "$tmp/err")" '0 0 1'
done_testing
