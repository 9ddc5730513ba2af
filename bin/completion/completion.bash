# shellcheck shell=bash
# ---- what is the same for every table

# _gpubind_takes OPTION: sets REPLY to what its row says it takes. An unambiguous
# beginning of a name will do, as for getopt_long.
_gpubind_takes()
{
    local name takes found=0

    while read -r name takes; do
        [[ $name != "$1" ]] || { REPLY=$takes; return 0; }
        [[ $1 != --?* || $name != "$1"* ]] || { REPLY=$takes; ((++found)); }
    done <<<"$rows"
    ((found == 1))
}

# Sets words to those before the cursor as the shell will see them, places to where each
# begins in COMP_WORDS, starts to where in COMP_LINE: bash has broken them at = : and @, too.
_gpubind_join()
{
    local rest=${COMP_LINE:0:COMP_POINT} piece blanks i

    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        blanks=${rest%%[![:blank:]]*}
        rest=${rest#"$blanks"}
        ((i < COMP_CWORD)) || piece=$rest
        if ((i == 0)) || [[ $blanks ]]; then
            words+=("$piece") places+=("$i") starts+=($((COMP_POINT - ${#rest})))
        else
            words[-1]+=$piece
        fi
        rest=${rest#"$piece"}
    done
}

# _gpubind_offer PREFIX WORD...: those that begin with what is typed, less what readline
# leaves standing.
_gpubind_offer()
{
    local prefix=$1 each word

    shift
    for each; do
        word=$prefix$each
        [[ ! $each || $word != "$cur"* ]] || COMPREPLY+=("${word:stays}")
    done
}

# _gpubind_offer_files PREFIX BEGINNING: files, behind something that is none.
_gpubind_offer_files()
{
    local name word

    while read -r name; do
        printf -v word '%s%q' "$1" "$name"
        [[ ! -d $name ]] || { word+=/; compopt -o nospace 2>/dev/null; }
        COMPREPLY+=("${word:stays}")
    done < <(compgen -f -- "$2")
}

# _gpubind_offer_value PREFIX TAKES: of an option. PREFIX is what stands before the value
# in the same word.
_gpubind_offer_value()
{
    local value=${cur:${#1}} list words

    IFS='|' read -ra words <<<"${2#* }"
    case $2 in
    words* | optional*) _gpubind_offer "$1" "${words[@]}" ;;
    list*)
        list=${value%"${value##*,}"}
        _gpubind_offer "$1$list" "${words[@]}" ;;
    FILE)   compopt -o default 2>/dev/null ;;
    *[@=]FILE*)
        if [[ $value == @* && $2 == *@FILE* ]]; then
            _gpubind_offer_files "$1@" "${value#@}"
        elif [[ $2 == *=FILE* ]]; then
            list=${value%"${value##*[,=]}"}
            _gpubind_offer_files "$1$list" "${value#"$list"}"
        fi ;;
    esac
}

# _gpubind_as_shell N WORD: what bash itself does for the arguments of the command that
# begins at the Nth of words.
_gpubind_as_shell()
{
    local first=${places[$1]} command=${words[$1]} spec option

    spec=$(complete -p "$command" 2>/dev/null || complete -p "${command##*/}" 2>/dev/null) ||
        spec='complete -o bashdefault -o default x'
    spec=${spec#complete } spec=${spec% *}
    for option in bashdefault default dirnames filenames noquote nosort nospace plusdirs; do
        [[ " $spec " != *" -o $option "* ]] || compopt -o "$option" 2>/dev/null
    done
    if [[ " $spec" == *' -F '* ]]; then
        COMP_LINE=${COMP_LINE:starts[$1]} COMP_WORDS=("${COMP_WORDS[@]:first}")
        ((COMP_POINT -= starts[$1], COMP_CWORD -= first))
        spec=${spec##*-F }
        "${spec%% *}" "$command" "$2" "${COMP_WORDS[COMP_CWORD - 1]}"
    else
        mapfile -t COMPREPLY < <(eval "compgen $spec -- \"\$2\"")
    fi
}

# _gpubind_command N WORD: completes the command line that begins at the Nth of words.
_gpubind_command()
{
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "${places[$1]}"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "${places[$1]}"
    elif (($1 < n)); then
        _gpubind_as_shell "$1" "$2"
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -- "$2" | sort -u)
    fi
}

# _gpubind_skip: sets last to the first of words that belongs to no option before it, and
# value to what the option before the cursor takes; alone, ended: an action, or the word
# -- came before.
_gpubind_skip()
{
    for (( ; last < n; last++)); do
        case ${words[last]} in
        --) ended=1; ((++last)); return ;;
        --*=*) ;;
        -?*)
            _gpubind_takes "${words[last]}" || continue
            case $REPLY in
            '' | optional*) ;;
            alone) alone=1 ;;
            *) ((++last < n)) || { value=$REPLY; return; } ;;
            esac ;;
        *) return ;;
        esac
    done
}

# _gpubind_complete ROWS FIRST WHAT WORD: the options begin at the word FIRST; a command
# follows them where WHAT is COMMAND, a file where it is FILE. WORD is what readline will
# replace.
_gpubind_complete()
{
    local rows=$1 last=$2 what=$3 words=() places=() starts=() names cur n stays
    local value='' alone='' ended='' REPLY

    COMPREPLY=()
    _gpubind_join
    n=$((${#words[@]} - 1)) cur=${words[-1]//[\"\'\\]/}
    stays=${cur%"$4"} stays=${#stays}
    [[ $cur == *"$4" ]] || stays=0
    _gpubind_skip
    mapfile -t names < <(while read -r REPLY _; do echo "$REPLY"; done <<<"$rows")
    if [[ $value ]]; then
        _gpubind_offer_value '' "$value"
    elif ((last == n)) && [[ ! $ended && $cur == --*=* ]]; then
        _gpubind_takes "${cur%%=*}" && _gpubind_offer_value "${cur%%=*}=" "$REPLY"
    elif ((last == n)) && [[ ! $ended && $cur == -* ]]; then
        _gpubind_offer '' "${names[@]}"
    elif [[ $what == COMMAND ]]; then
        [[ $alone ]] || _gpubind_command "$last" "$4"
    elif [[ $what == FILE ]]; then
        compopt -o default 2>/dev/null
    elif ((last == n)); then
        # Subcommands stand among the options.
        _gpubind_offer '' "${names[@]/#-*}"
    fi
}
