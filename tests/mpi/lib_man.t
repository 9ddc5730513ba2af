#!/bin/sh
# The library's manual: every public function has a page that shows its prototype, and
# an example uses it; gpubind(7) has all variables with their defaults, the limits, and
# the messages as they lie on the wire.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

header=$top_srcdir/src/mpi/gpubind.h

# Fonts and escapes away: what a reader sees of a source line.
plain() { sed -E 's/\\f[BIR]//g; s/\\-/-/g; s/\\[(]dq/"/g'; }

# On one line, with single spaces.
flat() { tr '\n' ' ' | tr -s ' '; }

# prototypes HEADER: one a line, without GPUBIND_PUBLIC.
prototypes() {
    awk '/^GPUBIND_PUBLIC/ { on = 1 } on { printf "%s ", $0 } on && /;/ { on = 0; print "" }' "$1" |
        tr -s ' ' | sed 's/^GPUBIND_PUBLIC //; s/ $//'
}

functions() { prototypes "$1" | sed -E 's/^[^(]*[ *]([A-Za-z_]+)\(.*/\1/'; }

# page_of DIRECTORY FUNCTION: the page that man shows, behind a line ".so man3/PAGE.3".
page_of() {
    page=$1/$2.3
    other=$(sed -n 's|^\.so man3/||p' "$page" 2>/dev/null)
    echo "${other:+$1/}${other:-$page}"
}

# section PAGE TITLE
section() { awk -v title="$2" '/^\.SH / { gsub(/^\.SH |"/, ""); on = $0 == title; next } on' "$1"; }

# faults HEADER DIRECTORY: what the pages lack.
faults() {
    functions "$1" | while read -r name; do
        page=$(page_of "$2" "$name")
        [ -r "$page" ] || { echo "no page: $name"; continue; }
        grep -q '^\.so' "$page" && echo "a link to a link: $name"
        section "$page" NAME | plain | flat | sed 's/ - .*//; s/,//g' | tr ' ' '\n' |
            grep -qx "$name" || echo "not in NAME: $name"
        for title in DESCRIPTION ERRORS 'THREADS AND PROGRESS' EXAMPLES 'SEE ALSO'; do
            [ -n "$(section "$page" "$title")" ] || echo "no section $title: $name"
        done
    done
    prototypes "$1" | while read -r prototype; do
        name=$(printf '%s\n' "$prototype" | sed -E 's/^[^(]*[ *]([A-Za-z_]+)\(.*/\1/')
        page=$(page_of "$2" "$name")
        [ ! -r "$page" ] || section "$page" SYNOPSIS | plain | flat | grep -qF "$prototype" ||
            echo "another prototype: $name"
    done
}

check "public functions were found" test "$(functions "$header" | wc -l)" -ge 30
is "every public function has its page" "$(faults "$header" "$top_srcdir/man")" ""
is "every page of section 3 is of a public function" \
    "$(for page in "$top_srcdir"/man/*.3; do
           functions "$header" | grep -qx "$(basename "$page" .3)" || echo "$page"
       done)" ""
is "every page of section 3 is installed" \
    "$(for page in "$top_srcdir"/man/*.3; do
           grep -qE "man/$(basename "$page")( |$)" "$top_srcdir/man/local.mk" || echo "$page"
       done)" ""
is "every public function is used in an example" \
    "$(functions "$header" | while read -r name; do
           grep -qE "\\b$name\(" "$top_srcdir"/examples/*.c || echo "$name"
       done)" ""

# planted DESCRIPTION FILE SED-SCRIPT: the change to gpubind.h or a page is noticed.
planted() {
    rm -rf "$tmp/man"
    cp -R "$top_srcdir/man" "$tmp/man"
    chmod -R u+w "$tmp/man"
    cp "$header" "$tmp/man/gpubind.h"
    chmod u+w "$tmp/man/gpubind.h"
    sed -E "$3" "$tmp/man/$2" >"$tmp/changed"
    if cmp -s "$tmp/changed" "$tmp/man/$2"; then
        not_ok "notices $1"; diag "nothing was changed"
    else
        cp "$tmp/changed" "$tmp/man/$2"
        check "notices $1" test -n "$(faults "$tmp/man/gpubind.h" "$tmp/man")"
    fi
}
planted "a function without a page" gpubind.h 's/^(GPUBIND_PUBLIC int gpubind_)wait/\1wade/'
planted "another argument" gpubind_alloc.3 's/size_t/int/'
planted "a name that NAME lacks" MPI_GPUSend.3 's/^MPI_GPUSend, MPI_GPURecv/MPI_GPUSend/'
planted "a link to the wrong page" gpubind_free.3 's/alloc/init/'
planted "a missing section" gpubind_wait.3 's/^(\.SH )ERRORS/\1MISTAKES/'

# ---- gpubind(7)

page7=$top_srcdir/man/gpubind.7
section "$page7" 'THE LIBRARY' | plain >"$tmp/library"

# "NAME DEFAULT" as settings.c and as the page have them.
source_defaults() {
    sed -nE 's/^ +\{"(GPUBIND_[A-Z_]+)", offsetof[^)]*\), ([0-9]+),.*/\1 \2/p' \
        "$top_srcdir/src/mpi/base/config.c"
    grep -ohE 'getenv\("GPUBIND_[A-Z_]+"' "$top_srcdir"/src/mpi/base/config.c |
        sed -E 's/.*"(.*)"/\1 any/'
}

man_defaults() {
    awk '/^GPUBIND_/ { name = $1 } /^Default: / { sub(/\.$/, ""); print name, $2 }' "$tmp/library"
}

check "variables were found" test "$(source_defaults | wc -l)" -ge 7
is "gpubind(7) has the variables of the library and their defaults" \
    "$(man_defaults | sort)" "$(source_defaults | sort)"
is "the table of variables has those of the library" \
    "$(source_defaults | while read -r name _; do
           grep -q "\"${name#GPUBIND_}\"" "$top_srcdir/src/core/base/variables.c" || echo "$name"
       done)" ""
is "gpubind(7) has all values of GPUBIND_PATH" \
    "$(sed -nE '/^} paths\[\] = /,/^};/s/^    \{"([a-z]+)",.*/\1/p' "$top_srcdir/src/mpi/base/config.c" |
       while read -r name; do grep -qE "^\.BR? $name( |$)" "$tmp/library" || echo "$name"; done)" ""

# define FILE NAME
define() { sed -nE "s/^#define $2 \(?([0-9.]+).*/\1/p" "$top_srcdir/src/mpi/$1"; }

# says WHAT NUMBER TEXT
says() { check "gpubind(7): $1" sh -c "[ -n '$2' ] && tr '\n' ' ' <'$tmp/library' | grep -q '$3'"; }
eager=$(define shm/segment.h EAGER_BYTES)
bounce=$(define shm/segment.h BOUNCE_BYTES)
private=$(define transport/bounce_pool.h PRIVATE_BOUNCE_BYTES)
neager=$(sed -nE 's/.*neager = segment->n <= 8 \? ([0-9]+) : ([0-9]+);/\1, or \2/p' \
            "$top_srcdir/src/mpi/shm/segment.c")
most=$(sed -nE 's/.*ndescriptors = segment->n <= 8 \? ([0-9]+) : ([0-9]+);/\1, or \2/p' \
           "$top_srcdir/src/mpi/shm/segment.c")
says "the largest small message" "$eager" "memory of at most $eager bytes always"
says "the bounce buffers of the shared path" "$bounce" "two bounce buffers of $bounce MiB"
says "the bounce buffers of the network path" "$private" "two of $private MiB"
says "the eager buffers" "$neager" "eager buffer of its sender, of which there are $neager where"
says "the descriptors" "$most" "descriptor, of which there are $most where"

# Notices: the longest part of each without what varies is in the sources.
cat "$top_srcdir"/src/mpi/*/*.c "$top_srcdir/src/core/base/variables.c" | tr '\n' ' ' | sed -E 's/" +"//g' >"$tmp/strings"
awk '/^\.S/ { on = $2 == "Notices" } on && sub(/^\.I /, "")' "$tmp/library" >"$tmp/notices"
check "notices were found" test "$(wc -l <"$tmp/notices")" -ge 4
while read -r notice; do
    phrase=$(printf '%s\n' "$notice" | sed -E 's/\bN\b|10|[.]{3}/\n/g' |
        awk 'length > length(best) { best = $0 } END { print best }')
    check "there is a notice '$notice'" grep -qF "$phrase" "$tmp/strings"
done <"$tmp/notices"

# "TYPE NAME", a field of the structures in msg_header.h a line.
source_fields() {
    awk '/^struct msg_/ { on = 1; next } /^};/ { on = 0 } on' "$top_srcdir/src/core/msg/msg_header.h" |
        sed -E 's|/\*.*||; s/_t / /; s/;.*//' | grep -E '^ +[a-z]+[0-9]*' |
        awk '{ type = $1 == "char" ? "byte" : $1
               for (i = 2; i <= NF; i++) {
                   name = $i; sub(/,$/, "", name); size = ""
                   if (match(name, /\[.*/)) {
                       size = substr(name, RSTART)
                       name = substr(name, 1, RSTART - 1)
                   }
                   print type size, name
               } }'
}

man_fields() { awk '$1 ~ /^[0-9]+$/ && $2 ~ /^(u?int|byte)/ { print $2, $3 }' "$tmp/library"; }

check "fields were found" test "$(source_fields | wc -l)" -ge 20
is "gpubind(7) has the fields of messages in their order" "$(man_fields)" "$(source_fields)"

# ---- as they are shown

version=$(gpubind --version)
for file in "$top_srcdir"/man/*.3; do
    grep -q '^\.so' "$file" && continue
    name=$(basename "$file")
    check "$name is of this version" grep -q "^\.TH .* 3 .* \"$version\" " "$file"
    linted "$file" "$name"
done
done_testing
