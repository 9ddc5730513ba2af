#!/bin/sh
# The command line, and its twin in the environment.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml
small=$top_srcdir/tests/machines/small-4c2g.xml
nogpu=$top_srcdir/tests/machines/nogpu-2p8c.xml

# both NAME VALUE OTHER ARG...: --NAME VALUE changes what `gpubind ARG...` does,
# GPUBIND_NAME=VALUE does the same, and the option wins over GPUBIND_NAME=OTHER.
# on and off are the values of an option that takes none.
both() {
    name=$1 value=$2 other=$3
    shift 3
    option="--$name=$value"
    [ "$value" != on ] || option=--$name
    variable=GPUBIND_$(echo "$name" | tr a-z- A-Z_)
    default=$(bounded gpubind "$@" 2>&1)
    by_option=$(bounded gpubind "$option" "$@" 2>&1)
    by_variable=$(bounded env "$variable=$value" gpubind "$@" 2>&1)
    by_both=$(bounded env "$variable=$other" gpubind "$option" "$@" 2>&1)
    is "$option and $variable=$value do the same" "$by_variable" "$by_option"
    is "$option wins over $variable=$other" "$by_both" "$by_option"
    check "$option does something" test "$by_option" != "$default"
}

# Everything that a plan says, and what a program finds in its environment.
six() { both "$@" --topology "$demo" --plan --json --ranks 6; }
# shellcheck disable=SC2016 # the program expands these
show='echo "$GPUBIND_ROLE $CUDA_VISIBLE_DEVICES ${CUDA_DEVICE_ORDER-} ${OMP_NUM_THREADS-}" \
    "${UCX_NET_DEVICES-} ${FI_VERBS_DEVICE_NAME-} $GPUBIND_NIC ${GPUBIND_NUMA-none}"'
program() { both "$@" --topology "$demo" sh -c "$show"; }

six master 1,3 none
six overflow idle error
six gpus-per-rank 2 4
six ranks-per-gpu 1 3
six map 3,2,1,0 0
six bind core none
six smt 1 2
both policy pack closest --topology "$demo" --plan --json --ranks 2
program membind none local
program visible first all
program ids index uuid
program omp none auto
program nic ucx none
both require-gpu on off --topology "$nogpu" true
both topology "$small" "$demo" --plan --json
both report on off --topology "$demo" true
both verbose on off --topology "$demo" true
both quiet on off --topology "$nogpu" true
both json on off --plan --topology "$demo"
both ranks 3 2 --plan --topology "$demo"
both nodes a,b 1 --plan --topology "$demo" --ranks 4
both distribution cyclic block --plan --topology "$demo" --ranks 4 --nodes a,b
both json on off --list --topology "$demo"
both topology "$small" "$demo" --list
both cpuset 0-3 4-7 --plan --topology "$demo"
printf 'rank 0=a\nrank 1=a\n' > "$tmp/ranks"
both ranks-file "$tmp/ranks" "$tmp/no such file" --plan --topology "$demo"

OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_RANK=0
OMPI_COMM_WORLD_LOCAL_SIZE=1
export OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    OMPI_COMM_WORLD_LOCAL_SIZE
both launcher none openmpi --topology "$demo" --master 5 --report true
export OMPI_COMM_WORLD_LOCAL_SIZE=2
# Local rank 1 never comes: 1 second is over at last, 600 are not, however long a test may take here.
GPUBIND_TIMEOUT=600
export GPUBIND_TIMEOUT
limit=8 both timeout 1 600 --topology "$demo" true
unset GPUBIND_TIMEOUT
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    OMPI_COMM_WORLD_LOCAL_SIZE

is 'an empty variable is as none' \
    "$(GPUBIND_OVERFLOW='' GPUBIND_REPORT='' bounded gpubind --topology "$demo" echo ran 2>&1)" ran
# reports WORD...: the lines of gpubind's report, of one rank.
reports() { run bounded "$@"; echo "$status $(grep -c '^node' "$tmp/err") $(grep -c '^{.*}$' "$tmp/err") $(wc -l <"$tmp/out")"; }
is '--report=table is --report' "$(reports gpubind --topology "$demo" --report=table echo ran)" \
    "$(reports gpubind --topology "$demo" --report echo ran)"
is '--report=json' "$(reports gpubind --topology "$demo" --report=json echo ran)" '0 0 1 1'
run bounded gpubind --topology "$demo" --report=json true
is '... as --plan --json has it, without neighbours, which a node does not know' \
    "$(grep '^{' "$tmp/err" | sed 's/"node":"[^"]*"//')" "$(bounded gpubind --plan --topology "$demo" --ranks 1 --json |
        sed 's/"node":"[^"]*"//; s/,"north":null,"south":null//')"
is 'GPUBIND_REPORT=json' "$(reports env GPUBIND_REPORT=json gpubind --topology "$demo" echo ran)" '0 0 1 1'
is 'GPUBIND_REPORT=1 is a table' "$(reports env GPUBIND_REPORT=1 gpubind --topology "$demo" echo ran)" \
    "$(reports gpubind --topology "$demo" --report echo ran)"
is 'GPUBIND_REPORT=no is none' "$(reports env GPUBIND_REPORT=no gpubind --topology "$demo" echo ran)" '0 0 0 1'
is '-v is --verbose' "$(bounded gpubind --topology "$demo" -v true 2>&1)" \
    "$(bounded gpubind --topology "$demo" --verbose true 2>&1)"
is '-q is --quiet' "$(bounded gpubind --topology "$nogpu" -q echo ran 2>&1)" ran

# Where options end.
said=$(bounded gpubind --topology "$demo" printf '<%s>' --report -v --map 9 -- -q '' 'a b' 2>&1)
is 'words after the command are the program'"'"'s' "$said" '<--report><-v><--map><9><--><-q><><a b>'
is '-- ends the options' \
    "$(bounded gpubind --topology "$demo" -- echo --report 2>&1)" --report
printf '#!/bin/sh\necho odd\n' > "$tmp/-odd"
chmod +x "$tmp/-odd"
is 'a command may begin with a dash after --' \
    "$(PATH=$tmp:$PATH bounded gpubind --topology "$demo" -- -odd 2>&1)" odd

# shellcheck disable=SC2016
# Sentences name options, and whose they are where variables set them.
is 'an option from a variable' "$(GPUBIND_MAP=99 bounded gpubind --topology "$demo" true 2>&1 | sed 's/ no GPU.*(/ .../')" \
    "gpubind: --map: '99' is ...--map is from GPUBIND_MAP)"
is '... which the command line overrides' "$(GPUBIND_MAP=1 bounded gpubind --map 99 --topology "$demo" true 2>&1 |
    grep -c GPUBIND_MAP)" 0
is 'GPUBIND_NIC of an outer gpubind is no option of the inner one' \
    "$(bounded gpubind --topology "$demo" gpubind --topology "$demo" sh -c 'echo $GPUBIND_NIC' 2>&1 |
        tail -n 1)" mlx5_0

# Instead of running a command.
for action in help version plan list; do
    run bounded gpubind --$action --topology "$demo"
    is "--$action succeeds" "$status" 0
    check "--$action prints" test -s "$tmp/out"
    is "--$action has nothing to complain about" "$(cat "$tmp/err")" ''
done
is '-h is --help' "$(bounded gpubind -h)" "$(bounded gpubind --help)"
is '-V is --version' "$(bounded gpubind -V)" "$(bounded gpubind --version)"
is 'actions are no variables' "$(GPUBIND_HELP=1 GPUBIND_VERSION=1 GPUBIND_CHECK=1 \
    bounded gpubind --topology "$demo" echo ran 2>&1)" \
    'gpubind: GPUBIND_HELP is no variable of gpubind, and none is like it
gpubind: GPUBIND_CHECK is no variable of gpubind, and none is like it
ran'
done_testing
