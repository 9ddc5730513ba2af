#!/bin/sh
# gpubind(1) says what --help and the sources say: options, their arguments,
# groups, defaults and variables, and the variables that programs are given.
. "${top_srcdir:-.}/tests/lib.sh"

page=$top_srcdir/man/gpubind.1
gpubind --help >"$tmp/help" || { not_ok "--help works"; done_testing; exit; }

# Fonts and escapes away: what a reader sees of a source line.
plain() { sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/\\[(]dq/"/g'; }

# section PAGE TITLE [SUBTITLE]: the lines of it.
section() {
    awk -v title="$2" -v sub_title="${3-}" '
        /^\.SH / { gsub(/^\.SH |"/, ""); on = $0 == title; here = ""; next }
        /^\.SS / { gsub(/^\.SS |"/, ""); here = $0; }
        on && (sub_title == "" || here == sub_title)' "$1"
}

# What stands behind .TP, one tag a line.
tags() { awk 'tag { print; tag = 0 } /^\.TP/ { tag = 1 }' | plain | sed 's/^\.B //'; }

# ---- both as lines "GROUP: [-L ]--NAME[ ARGUMENT]"

help_options() {
    sed -E -n '
        /^[A-Z].*:$/ { s/( \(.*)?:$//; h; }
        /^  (   |-[a-zA-Z],?) +--/ { s/^ +//; s/^(-.),? +/\1 /; G; s/(.*)\n(.*)/\2: \1/p; }' "$1"
}

man_options() {
    awk '/^\.SH / { on = $2 == "OPTIONS" }
         /^\.SS / { group = substr($0, 5) }
         on && tag { print group ": " $0 }
         { tag = /^\.TP/ }' "$1" | plain | sed -E 's/: (-.), /: \1 /'
}

variables() { sed -E 's/.*--([a-z-]+).*/GPUBIND_\1/' | tr 'a-z-' 'A-Z_'; }

# Every option but the actions has its variable.
help_variables() { help_options "$1" | grep -v '^Instead of' | variables | sort; }

# The section lists "VARIABLE" and under it "--option".
man_variables() { section "$1" ENVIRONMENT Options | tags | sort; }

mismatched_pairs() {
    section "$1" ENVIRONMENT Options | plain | awk '
        /^GPUBIND_/ { variable = $1 }
        /^--/ { name = $1; sub(/^--/, "GPUBIND_", name); gsub(/-/, "_", name)
                if (toupper(name) != variable) print variable, $1 }'
}

# "GPUBIND_NAME" as each option's own text calls it.
text_variables() {
    section "$1" OPTIONS | plain | grep -oE '^Variable: GPUBIND_[A-Z_]+' | sed 's/.* //' | sort
}

# Defaults of one word, which --help puts in parentheses at the end: "NAME DEFAULT".
help_defaults() {
    awk '/^  .*--/ { flush(); sub(/.*--/, ""); name = $1; text = ""; next }
         /^          / { text = text $0; next }
         { flush() }
         function flush() {
             if (name && match(text, /\([a-z0-9]+\) *$/))
                 print name, substr(text, RSTART + 1, RLENGTH - 2)
             name = ""
         }
         END { flush() }' "$1" | sort
}

man_defaults() {
    section "$1" OPTIONS | plain | awk '
        /^(-., )?--/ { name = $0; sub(/^(-., )?--/, "", name); sub(/ .*/, "", name) }
        /^Default: [a-z0-9]+\.$/ { sub(/\.$/, ""); print name, $2 }' | sort
}

# ---- what programs are given

source_exports() {
    {
        grep -ohE '"[A-Z]+(_[A-Z]+)+"' "$top_srcdir/src/core/env/render_env.c" \
            "$top_srcdir/src/core/env/mps_env.c" "$top_srcdir/src/core/env/visible_devices.c"
        grep -ohE '"GPUBIND_[A-Z_]+"' "$top_srcdir/plugin/job_plan.c"
    } | tr -d '"' | grep -vx PCI_BUS_ID | sort -u
}

man_exports() {
    section "$1" ENVIRONMENT 'Set for the program' | tags | sed 's/, */\n/g' | sort -u
}

# differences PAGE HELP: what does not fit, nothing when all does.
differences() {
    help_options "$2" | sort >"$tmp/a"; man_options "$1" | sort >"$tmp/b"
    diff "$tmp/a" "$tmp/b"
    help_variables "$2" >"$tmp/a"; man_variables "$1" >"$tmp/b"
    diff "$tmp/a" "$tmp/b"
    text_variables "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    mismatched_pairs "$1"
    help_defaults "$2" >"$tmp/a"; man_defaults "$1" >"$tmp/b"
    # Flags say theirs in the page only.
    grep -vE ' off$' "$tmp/b" >"$tmp/c"
    comm -23 "$tmp/a" "$tmp/c"
    source_exports >"$tmp/a"; man_exports "$1" >"$tmp/b"
    diff "$tmp/a" "$tmp/b"
}

is "the table of variables has those that programs are given" \
    "$(source_exports | grep '^GPUBIND_' | while read -r name; do
           grep -q "\"${name#GPUBIND_}\"" "$top_srcdir/src/core/base/variables.c" ||
               case $name in GPUBIND_OUTER_*) ;; *) echo "$name" ;; esac
       done)" ""
is "help and gpubind(1) agree" "$(differences "$page" "$tmp/help")" ""

# None of the lists may be empty, or all would agree.
for list in "help_options $tmp/help" "man_options $page" "help_variables $tmp/help" \
            "help_defaults $tmp/help" "man_exports $page"; do
    # shellcheck disable=SC2086 # command and file
    lines=$($list | wc -l)
    check "${list%% *} finds $lines" test "$lines" -ge 10
done

# planted DESCRIPTION SED-SCRIPT [help]: the change is noticed.
planted() {
    from=$page
    [ "${3-}" != help ] || from=$tmp/help
    sed -E "$2" "$from" >"$tmp/changed"
    if cmp -s "$from" "$tmp/changed"; then
        not_ok "notices $1"; diag "nothing was changed"
    elif [ "${3-}" = help ]; then
        check "notices $1" test -n "$(differences "$page" "$tmp/changed")"
    else
        check "notices $1" test -n "$(differences "$tmp/changed" "$tmp/help")"
    fi
}
planted "a missing option" '/^.fB.-.-smt/d'
planted "another argument" '/^.fB.-.-bind.fR /s/package/socket/'
planted "an option in another group" 's/^\.SS Running/.SS Walking/'
planted "a missing letter" 's/^.fB.-q.fR, //'
planted "another default" 's/^(Default: .fB)share/\1idle/'
planted "a missing variable" '/^.fBGPUBIND_TIMEOUT/d'
planted "another variable in the text" 's/^(Variable: .fBGPUBIND_)SMT/\1SMTS/'
planted "a variable with another's option" 's/^.fB.-.-json.fR$/\\fB\\-\\-nodes\\fR/'
planted "an export that is not there" 's/^.fBOMP_PLACES.fR$/\\fBOMP_PLACE\\fR/'
planted "an export of the plugin that is missing" 's/^(.fBGPUBIND_MADE_BY.fR), .fBGPUBIND_MADE_FOR.fR/\1/'
planted "a new option in the help" 's/^( +--)smt /\1new X\n&/' help
planted "a new default in the help" 's/\(10\)/(11)/' help

# ---- notices

# Strings that the compiler would join, a source a line.
find "$top_srcdir/src" "$top_srcdir/bin" -name '*.c' -exec cat {} + |
    tr '\n' ' ' | sed -E 's/" +"//g; s/GPU%s/GPUs/g' >"$tmp/strings"

# phrase TAG: the longest part of it without what varies.
phrase() {
    printf '%s\n' "$1" | sed -E "s/CUDA_VISIBLE_DEVICES=|ZE_AFFINITY_MASK=|NODE|'?[.]{3}'?|\\b[NM]\\b/\n/g" |
        awk 'length > length(best) { best = $0 } END { print best }'
}

section "$page" DIAGNOSTICS | tags | sed 's/^\.I //' >"$tmp/notices"
check "notices were found" test "$(wc -l <"$tmp/notices")" -ge 10
while read -r notice; do
    check "there is a notice '$notice'" grep -qF "$(phrase "$notice")" "$tmp/strings"
done <"$tmp/notices"
check "notices a notice that is not there" \
    sh -c "! grep -qF '$(phrase 'NODE has no usable FPU')' '$tmp/strings'"

# ---- gpubind(7)

launchers() { gpubind --help | grep -oE '([a-z]+\|){3,}[a-z]+,' | tr '|,' '\n' | grep .; }
section "$top_srcdir/man/gpubind.7" LAUNCHERS | plain >"$tmp/launchers"
for name in $(launchers); do
    check "gpubind(7) has the launcher $name" grep -qx "\.B $name" "$tmp/launchers"
done
check "launchers were found" test "$(launchers | wc -l)" -ge 5
missing=$(sed -n '/^} launchers\[\] = {/,/^};/p' "$top_srcdir/src/host/launch/launcher.c" |
    grep -oE '"[A-Z0-9]+(_[A-Z0-9]+)+"' | tr -d '"' | sort -u |
    while read -r name; do grep -qw "$name" "$tmp/launchers" || echo "$name"; done)
is "gpubind(7) has all variables of launchers" "$missing" ""

version=$(gpubind --version)
for file in "$page" "$top_srcdir/man/gpubind.7"; do
    check "$(basename "$file") is of this version" grep -q "^\.TH .* \"$version\" " "$file"
done

# ---- as they are shown

for file in "$page" "$top_srcdir/man/gpubind.7"; do
    name=$(basename "$file")
    linted "$file" "$name"
done

done_testing
