#!/bin/sh
# gpubind-plugin(7) says what the sources say: settings that the plugin takes and those
# that it does not, variables, words, files, options of configure and of gpubind.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

page=$top_srcdir/man/gpubind-plugin.7
rows=$top_srcdir/src/host/launch/option_table.c
sh "$top_srcdir/configure" --help >"$tmp/configure" || { not_ok 'configure --help works'; done_testing; exit; }
gpubind --help >"$tmp/help" || { not_ok 'gpubind --help works'; done_testing; exit; }

# Fonts and escapes away: what a reader sees of a source line.
plain() { sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/\\[(]dq/"/g'; }

# section PAGE TITLE [SUBTITLE]: the lines of it.
section() {
    awk -v title="$2" -v sub_title="${3-}" '
        /^\.SH / { gsub(/^\.SH |"/, ""); on = $0 == title; here = ""; next }
        /^\.SS / { gsub(/^\.SS |"/, ""); here = $0 }
        on && (sub_title == "" || here == sub_title)' "$1" | plain
}

# flat FILE: the page as words, one space between two.
flat() { plain <"$1" | sed -E 's/^\.[A-Z]+ ?//; s/"//g' | tr '\n' ' ' | tr -s ' '; }

# ---- settings

# Rows of the groups that are settings, in their order, of which some are for the plugin.
settings() { sed -nE 's/^ +\{[A-Z |]+, (PLACEMENT|PROGRAM|RUNNING), [A-Z_]+, [^ ]+, "([a-z-]+)", .*/\2/p' "$rows"; }

not_taken() {
    grep -v '{[A-Z |]*PLUGIN,' "$rows" |
        sed -nE 's/^ +\{[A-Z |]+, (PLACEMENT|PROGRAM|RUNNING), [A-Z_]+, [^ ]+, "([a-z-]+)", .*/\2/p' | sort
}

# "--NAME VARIABLE PARAMETER", as the page has them.
source_taken() {
    not_taken >"$tmp/not_taken"
    settings | grep -vxFf "$tmp/not_taken" |
        awk '{ lower = $1; gsub(/-/, "_", lower)
               print "--" $1, "GPUBIND_" toupper(lower), "pmdl_gpubind_" lower }'
}

# "NAME DEFAULT" of what is a parameter only.
source_site() {
    sed -n '/^struct site_setting site_settings/,/^};/p' "$top_srcdir/plugin/settings.c" | tr '\n' ' ' |
        grep -oE '\{"[a-z_]+",[^}]*\([^()]*\)"' | sed -E 's/^.."*([a-z_]+)".*\((.*)\)"$/pmdl_gpubind_\1 \2/; s/^"//'
}

man_site() {
    section "$1" SETTINGS 'A setting of the site alone' |
        awk '/^\.TP/ { tag = 1; next } tag { name = $2; tag = 0 } /^Default:/ { on = 1; next }
             on { sub(/\.$/, "", $2); print name, $2; on = 0 }'
}

man_taken() {
    section "$1" SETTINGS 'Settings that the plugin takes' | awk '/^ +--/ { print $1, $2, $3 }'
}

man_not_taken() {
    section "$1" SETTINGS 'Settings that it does not take' | awk '/^ +--/ { print $1 }' |
        sed 's/^--//' | sort
}

# ---- variables

source_variables() {
    { grep -ohE '"GPUBIND_[A-Z_]+"' "$top_srcdir/plugin/job_plan.c"
      grep -ohE '"GPUBIND_OUTER_[A-Z_]+"' "$top_srcdir/src/core/env/render_env.c"; } | tr -d '"' | sort -u
}

man_variables() {
    section "$1" ENVIRONMENT | awk 'tag { print } { tag = /^\.TP/ }' | tr -d ',' | tr ' ' '\n' | sort
}

# Every name of ours on the page is one that the sources know.
unknown_names() {
    find "$top_srcdir/plugin" "$top_srcdir/src/core" -name '*.c' -exec cat {} + >"$tmp/sources"
    { source_taken | cut -d' ' -f2; not_taken | tr 'a-z-' 'A-Z_' | sed 's/^/GPUBIND_/'
      grep -oE 'GPUBIND_[A-Z_]+' "$tmp/sources"; } | sort -u >"$tmp/names"
    flat "$1" | grep -oE 'GPUBIND_[A-Z_]+' | sort -u | comm -23 - "$tmp/names"
    { source_taken | cut -d' ' -f3; source_site | cut -d' ' -f1; } | sort >"$tmp/names"
    flat "$1" | grep -oE 'pmdl_gpubind_[a-z_]+' | sort -u | comm -23 - "$tmp/names"
}

# ---- words, files, options

source_off() {
    sed -n '/off_words\[\] = /p' "$top_srcdir/src/host/launch/options.c" | grep -oE '"[a-z0-9]+"' | tr -d '"' | sort
}

man_off() {
    section "$1" 'SWITCHING IT OFF' | sed -n '/GPUBIND=off/,$p' |
        awk '/^\.BR? / { sub(/,$/, "", $2); if ($3 == "," || $3 == "" || $2 ~ /,$/) print $2 }' |
        tr -d ',' | grep -vE '^(GPUBIND|mpirun)' | sort
}

unknown_options() {
    flat "$1" | grep -oE -- '--with(out)?-pmix[a-z-]*' | sort -u | while read -r option; do
        # autoconf lists --with-X=DIR for --without-X, too.
        grep -qE -- "^  $(echo "$option" | sed 's/^--without/--with/')[ =]" "$tmp/configure" ||
            echo "configure has no $option"
    done
    # Also as "--overflow error": "mpirun --map-by" and the like are others'.
    { flat "$1" | grep -oE '(^| )gpubind --[a-z-]+'; source_taken; not_taken | sed 's/^/--/'
      section "$1" ERRORS; section "$1" 'SPAWNED RANKS'
    } | grep -oE -- '--[a-z][a-z-]+' | sort -u | while read -r option; do
        grep -qE -- " $option( |\[|$)" "$tmp/help" || echo "gpubind has no $option"
    done
}

# What is built is called as the page calls it, and is installed where the page says.
unknown_files() {
    flat "$1" | grep -oE '[a-z_]+\.so\b' | sort -u | while read -r file; do
        cat "$top_srcdir"/*/*.mk | grep -qF "/${file%.so}.la" || echo "nothing builds $file"
    done
    flat "$1" | grep -oE 'examples/[a-z_]+' | sort -u | while read -r file; do
        [ -e "$top_srcdir/$file.c" ] || echo "no $file"
    done
    flat "$1" | grep -oE 'PREFIX/lib/[a-z]+/pmix\b' | sort -u | while read -r folder; do
        grep -qF "($folder)" "$tmp/configure" || echo "$folder is not configure's default"
    done
}

oldest_pmix() { grep -oE 'PMIx [0-9.]+ or newer' "$1" | sort -u; }

patience() { sed -nE 's/^#define PATIENCE_S ([0-9]+).*/more than \1 seconds/p' "$top_srcdir/plugin/cpu_exchange.c"; }

# faults PAGE: what does not fit, nothing when all does.
faults() {
    source_taken >"$tmp/a"; man_taken "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    source_site >"$tmp/a"; man_site "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    not_taken >"$tmp/a"; man_not_taken "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    source_variables >"$tmp/a"; man_variables "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    source_off >"$tmp/a"; man_off "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    oldest_pmix "$top_srcdir/m4/gpubind_pmix.m4" >"$tmp/a"
    oldest_pmix "$1" >"$tmp/b"; diff "$tmp/a" "$tmp/b"
    flat "$1" | grep -qF "$(patience)" || echo "not: $(patience)"
    unknown_names "$1"
    unknown_options "$1"
    unknown_files "$1"
}

faults "$page" >"$tmp/faults"
is 'gpubind-plugin(7) and the sources agree' "$(cat "$tmp/faults")" ''

# None of the lists may be empty, or all would agree.
for list in 'source_taken 10' 'source_site 1' 'not_taken 5' 'source_variables 4' 'source_off 3' 'patience 1' \
            "oldest_pmix 1 $top_srcdir/m4/gpubind_pmix.m4"; do
    # shellcheck disable=SC2086 # words
    set -- $list
    # shellcheck disable=SC2086 # perhaps none
    lines=$($1 ${3-} | wc -l)
    check "$1 finds $lines" test "$lines" -ge "$2"
done

# planted DESCRIPTION SED-SCRIPT: the change is noticed.
planted() {
    sed -E "$2" "$page" >"$tmp/changed"
    faults "$tmp/changed" >"$tmp/more"
    if cmp -s "$page" "$tmp/changed"; then
        not_ok "notices $1"; diag "nothing was changed"
    else
        check "notices $1" test "$(wc -l <"$tmp/more")" -gt "$(wc -l <"$tmp/faults")"
    fi
}
planted 'a setting that is missing' '/GPUBIND_NIC  /d'
planted "a setting that the plugin does not take" 's/^    (.-.-omp) .*/    \1            GPUBIND_OMP            pmdl_gpubind_omp/'
planted 'another variable' 's/GPUBIND_MAP  /GPUBIND_MAPS /'
planted 'another parameter of the site' 's/^(\.B pmdl_gpubind_)exclusive$/\1apart/'
planted 'another default of it' '/^Default:$/,/^\.BR/s/\.BR 0/.BR 1/'
planted 'another parameter' 's/(pmdl_gpubind_)map$/\1maps/'
planted 'a setting not taken that is missing' '/^    .-.-timeout/d'
planted 'a variable that is missing' '/^.fBGPUBIND_MADE_FOR/d'
planted 'a variable that there is not' 's/GPUBIND_REPORT=1/GPUBIND_REPORTS=1/'
planted 'a parameter that there is not, in an example' 's/^(    pmdl_gpubind_)nic/\1nics/'
planted 'another word for off' 's/^\.BR 0 ,/.BR 1 ,/'
planted 'another PMIx' 's/PMIx 4.2 or newer/PMIx 4.1 or newer/'
planted 'an option that configure has not' 's/.-pmix.-plugindir/\\-pmix\\-directory/'
planted 'an option that gpubind has not' 's/gpubind .-.-check/gpubind \\-\\-verify/'
planted 'an option that gpubind has not, alone' 's/^\.BR .-.-require.-gpu /.BR \\-\\-need\\-gpu /'
planted 'another file' 's/pmix_mca_pmdl_gpubind\.so/pmix_pmdl_gpubind.so/'
planted 'another folder' 's|PREFIX/lib/gpubind/pmix|PREFIX/lib/gpu/pmix|'
planted 'an example that there is not' 's|examples/hello_gpu|examples/hello|'
planted 'another time' 's/more than 3 seconds/more than 4 seconds/'

# ---- as it is shown

check 'the page is installed' grep -qE '^	man/gpubind-plugin\.7 ' "$top_srcdir/man/local.mk"
check 'it is of this version' grep -q "^\.TH .* 7 .* \"$(gpubind --version)\" " "$page"
linted "$page" 'it'
done_testing
