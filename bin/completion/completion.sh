#!/bin/sh
# Writes what bash needs to complete a program's command line:
#
#     completion.sh ENGINE PROGRAM [NAME=VALUE]
#
# The tables are made of what PROGRAM --help prints, and so of the program's own table of
# options. A program that cannot be run where it was built (another machine's, a library
# that is not found) is left without completion.
set -u
engine=$1 program=$2
name=$(basename "$program")
function=_$(echo "$name" | tr - _)

# table HELP: "OPTION WHAT-IT-TAKES" of each row. Takes nothing, "alone" (an action),
# "value", "words A|B", "list A|B" (with commas between), "optional A|B" (behind = alone), or
# files as the help writes it.
table() {
    awk '
    function words(text,    n, i, part, all) {
        n = split(text, part, "|")
        for (i = 1; i <= n; i++)
            if (part[i] ~ /^[a-z0-9]+$/)
                all = all (all ? "|" : "") part[i]
        return all
    }
    function takes() {
        if (optional)
            return " optional " optional
        if (!argument)
            return alone ? " alone" : ""
        if (words(argument))
            return " words " words(argument)
        if (argument ~ /FILE/)
            return " " argument
        # NAME: the names are in the text, as "a|b|c, d or e".
        if (argument ~ /^NAME/ && match(help, /([a-z0-9_]+\|)+[a-z0-9_]+(, [a-z]+ or [a-z]+)?/)) {
            help = substr(help, RSTART, RLENGTH)
            gsub(/, | or /, "|", help)
            return (argument ~ /,/ ? " list " : " words ") help
        }
        return " value"
    }
    function flush() {
        if (option)
            print option takes()
        if (letter)
            print letter takes()
        option = letter = argument = optional = help = ""
    }
    /^[^ ]/ { flush(); alone = /^Instead of/ }
    /^  (   |-[a-zA-Z],?) +--/ {
        flush()
        letter = $1 ~ /^--/ ? "" : substr($1, 1, 2)
        sub(/^ *(-[a-zA-Z],? )?/, "")
        option = $1; argument = $2
        if (split(option, part, /\[=|\]/) > 1) {
            option = part[1]
            optional = part[2]
        }
        next
    }
    /^  [a-z]/ { flush(); print $1 }
    /^          / { sub(/^ +/, " "); help = help $0 }
    END { flush() }' "$1"
}

# rows VARIABLE HELP
rows() { printf "%s='%s'\n" "$1" "$(table "$2")"; }

help=$(mktemp) || exit 1
trap 'rm -f "$help"' EXIT
"$program" --help >"$help" 2>/dev/null || {
    echo "$name cannot be run here: its command line is not completed" >&2
    echo "# $name could not be run where it was built."
    exit 0
}
echo "# Completion of $name in bash, with or without the package bash-completion."
rows "${function}_rows" "$help"
subcommands=$(awk '/^[^ ]/ { on = /^Subcommands:/ } on && /^  [a-z]/ { print $1 }' "$help")
for word in $subcommands; do
    "$program" "$word" --help >"$help" && rows "${function}_$(echo "$word" | tr - _)_rows" "$help"
done
echo
cat "$engine"
echo
# What stands in $... is bash's to expand.
if [ -z "$subcommands" ]; then
    follows=COMMAND
    ! sed -n 1p "$help" | grep -q ' FILE$' || follows=FILE
    cat <<END
$function() { _gpubind_complete "\$${function}_rows" 1 $follows "\$2"; }
END
else
    cat <<END
$function()
{
    case \$COMP_CWORD:\${COMP_WORDS[1]} in
    1:*) _gpubind_complete "\$${function}_rows" 1 - "\$2" ;;
$(for word in $subcommands; do
        echo "    *:$word) _gpubind_complete \"\$${function}_$(echo "$word" | tr - _)_rows\" 2 - \"\$2\" ;;"
    done)
    esac
}
END
fi
echo "complete -F $function $name"
