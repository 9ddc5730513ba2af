#!/bin/sh
# Wrong options and values: one sentence that names the culprit, and status 125.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

demo=$top_srcdir/tests/machines/demo-2p4g.xml

# wrong PATTERN ARG...: gpubind refuses ARG... in one sentence that fits PATTERN.
wrong() {
    pattern=$1
    shift
    run bounded gpubind "$@" true
    refused "gpubind $*" "$pattern"
}

# wrong_variable NAME VALUE: refused, and the sentence names the variable.
wrong_variable() {
    run bounded env "$1=$2" gpubind --topology "$demo" true
    refused "$1='$2'" "$1"
}

wrong "'--frobnicate'" --frobnicate
wrong "'--frobnicate=1'" --frobnicate=1
wrong "'-x'" -x
wrong "'-x'" -vx
wrong "'-Z'" -Zreport
# What is the launcher's.
for option in -np -n --np --n; do
    wrong "^gpubind: $option is an option of mpirun: mpirun $option 2 gpubind ./app$" -v $option 2 ./app
done
wrong '^gpubind: -n is an option of mpirun; with --plan it is --ranks 3$' --plan -n 3
# What was meant.
wrong "^gpubind: unknown option '--repotr'; the nearest is --report (gpubind --help lists them)$" --repotr
wrong "'--rank'; the nearest is --ranks " --rank 3
wrong "'--overflwo=idle'; the nearest is --overflow " --overflwo=idle
wrong "unknown option '--xyz' (" --xyz
for action in plan list doctor check help; do
    run bounded gpubind $action
    refused "gpubind $action" "^gpubind: cannot run $action: No such file or directory; the option is --$action$" 127
done
run bounded gpubind --report -np
refused '-np alone' 'mpirun -np N gpubind ./app$'
wrong "--smt: '-np' is not a number" --smt -np
wrong "'-n'" -nv
wrong "'--report=csv'\|--report: 'csv'" --report=csv -np 2
wrong "--report: 'csv' is none of table|json" --report=csv
wrong '--quiet' --quiet=

for ranks in 0-2 all '' none,0; do
    wrong "^gpubind: --master: '.*' is no rank: it takes RANK.*|none$" --master "$ranks"
done
wrong "^gpubind: --launcher: 'pbs' is none of torchrun|openmpi|.*|auto|none$" --launcher pbs

run bounded gpubind
refused 'no command' 'command'
run bounded gpubind ''
refused 'an empty command' 'the command to run is an empty word' 127
run bounded gpubind --
refused 'no command after --' 'command'
run bounded gpubind --report
refused 'only options' 'command'
for option in master overflow gpus-per-rank ranks-per-gpu map policy bind smt membind omp \
    nic visible ids launcher timeout topology ranks ranks-file nodes distribution cpuset xml; do
    run bounded gpubind "--$option"
    refused "--$option without a value" "--$option"
    run bounded gpubind --plan "--$option="
    refused "--$option with an empty value" "--$option"
done

for option in overflow policy bind membind omp nic visible ids launcher; do
    wrong "--$option.*'bogus'" "--$option" bogus
    wrong_variable "GPUBIND_$(echo $option | tr a-z A-Z)" bogus
done
wrong "'sharE'" --overflow sharE
wrong "'share,idle'" --overflow 'share,idle'
wrong "'share|idle'" --overflow 'share|idle'

for number in 0 -1 1.5 1x x1 ' 1' +1 0x10 1e3 65537 2147483648 4294967297 \
    18446744073709551617 99999999999999999999999999; do
    for option in gpus-per-rank ranks-per-gpu smt; do
        wrong "--$option.*'$number'" "--$option" "$number"
    done
done
wrong "--timeout.*'86401'" --timeout 86401
wrong "--timeout.*'0'" --timeout 0
wrong_variable GPUBIND_SMT 4294967297
wrong_variable GPUBIND_TIMEOUT -1
wrong_variable GPUBIND_REPORT maybe
wrong_variable GPUBIND_REPORT 2
wrong_variable GPUBIND_REQUIRE_GPU 2
for masters in -1 0,-1 0,,1 '0,' ',0' 1-2 all none,0 0,none 2147483648 '0 1'; do
    wrong '--master' --master "$masters"
done
many=$(seq -s, 0 256)
wrong 'masters' --master "$many"
wrong_variable GPUBIND_MASTER first

# What does not go together.
wrong '--json' --json
wrong '--nodes' --nodes 2
wrong '--json goes with --plan, --list and --doctor only' --check --json
wrong '--topology does not go with --doctor' --doctor --topology /nowhere
wrong '--master does not go with --check: .* mpirun ... gpubind --master 0 gpubind --check$' --check --master 0
wrong 'mpirun ... gpubind --require-gpu gpubind --check$' --require-gpu --check
wrong 'mpirun ... gpubind --report=json gpubind --check$' --check --report=json
wrong '--topology does not go with --check' --check --topology /nowhere
wrong '--master does not go with --list' --list --master 0
wrong '--visible does not go with --list' --visible all --list
wrong '--ranks goes with --plan only' --list --json --ranks 2
wrong '--ranks goes with --plan only' --list --ranks 2 --json
run bounded gpubind --plan true
refused '--plan with a command' "'true'"
run bounded gpubind --plan --version
refused 'two actions' '--version'
run bounded gpubind --plan --topology "$demo" --ranks 2 --ranks-file "$tmp/none"
refused '--ranks and --ranks-file' '--ranks-file'
wrong '--map' --map 0 --policy spread
run bounded gpubind --check
refused '--check without an outer gpubind' 'mpirun'
run bounded env GPUBIND_MASTER=1 GPUBIND_VISIBLE=all GPUBIND_MPS=1 gpubind --list --topology "$demo"
is 'variables of a job are not in the way of --list' "$status $(cat "$tmp/err")" '0 '
run bounded env GPUBIND_REQUIRE_GPU=1 GPUBIND_TOPOLOGY="$demo" GPUBIND_VISIBLE=first \
    gpubind gpubind --check --quiet --verbose
is '... nor of --check' "$status $(grep -c ': ok: ' "$tmp/out")" '0 1'

# The plan's own.
plan() {
    what=$1 pattern=$2
    shift 2
    run bounded gpubind --plan --topology "$demo" "$@"
    refused "$what" "$pattern"
}
plan 'no such rankfile' "$tmp/none" --ranks-file "$tmp/none"
for line in 'rank 0' 'rank x=a' 'rank 1=a' 'rank 0=a slot=x' 'rank 0=' \
    'rank 99999999999=a'; do
    echo "$line" > "$tmp/ranks"
    plan "rankfile '$line'" "$tmp/ranks" --ranks-file "$tmp/ranks"
done
printf 'rank 0=a\nrank 0=b\n' > "$tmp/ranks"
plan 'a rank twice in the rankfile' "$tmp/ranks" --ranks-file "$tmp/ranks"
: > "$tmp/ranks"
plan 'an empty rankfile' "$tmp/ranks" --ranks-file "$tmp/ranks"
plan 'no ranks' '--ranks' --ranks 0
plan 'too many ranks' '--ranks' --ranks 99999999999
for nodes in 0 -1 '' ',' a,,b a,a a: a:0 a:x a:99999999999 a=; do
    plan "--nodes '$nodes'" 'node' --nodes "$nodes"
done
plan 'no such file for a node' "$tmp/none" --nodes "a=$tmp/none"
plan 'more ranks than slots' 'slots' --nodes a:1,b:1 --ranks 3
for cpus in '' x 0- -1 3-1 0,,1 99999999999; do
    plan "--cpuset '$cpus'" '--cpuset' --cpuset "$cpus"
done

# What was given as an option is not contradicted by the environment.
machines=$top_srcdir/tests/machines
is 'a wrong variable behind a right option' "$(GPUBIND_OVERFLOW=x bounded gpubind --quiet --plan \
    --topology "$machines/small-4c2g.xml" --overflow idle 2>&1 | sed 's/:.*//; 1q')" 'node small-4c2g'
is 'a variable that excludes an option' "$(GPUBIND_POLICY=spread bounded gpubind --quiet --plan \
    --topology "$machines/small-4c2g.xml" --map 1 2>&1 | grep -c '0000:03')" 1
is 'a planning variable in a run' \
    "$(GPUBIND_RANKS=4 GPUBIND_RANKS_FILE=x bounded gpubind --quiet echo ran 2>&1)" ran
# One object a node, whatever is on it; one rank a GPU by default.
is 'a node without ranks' "$(bounded gpubind --quiet --plan --json --ranks 1 --nodes 2 \
    --topology "$machines/small-4c2g.xml" | sed -n 's/.*"ranks":\[\]}/none/p')" none
is '--plan --report=json: as --json' "$(bounded gpubind --quiet --plan --report=json --ranks 2 \
    --topology "$demo" | grep -c '^{.*}$')" 1
is 'nodes of two and four GPUs' "$(bounded gpubind --quiet --plan --json \
    --nodes "a=$machines/small-4c2g.xml,b=$machines/thesis-6c4g.xml" | grep -o '"local"' | wc -l)" 6
is '... have as many ranks each' "$(bounded gpubind --quiet --plan \
    --nodes "a=$machines/small-4c2g.xml,b=$machines/thesis-6c4g.xml" | grep -o '^node .: [0-9]* ranks' | xargs)" \
    'node a: 2 ranks node b: 4 ranks'
is 'no NIC, where none is wanted' "$(bounded gpubind --quiet --plan --json --nic none \
    --topology "$machines/demo-2p4g.xml" | grep -o '"nic":null' | wc -l)" 4
mkfifo "$tmp/pipe"
plan 'a pipe as topology' 'pipe' --topology "$tmp/pipe"
plan 'no node' '--nodes: 0 nodes are out of range' --nodes 0
plan 'a cpuset outside the machine' '--cpuset: none of the CPUs 500 exists on ' --cpuset 500
plan 'no such file of GPUs' "--map: $tmp/none: No such file" --map "@$tmp/none"
plan 'a file of GPUs without a name' '--map: the file has no name' --map @
plan 'no such file of nodes' "--nodes: $tmp/none: No such file" --nodes "@$tmp/none"
plan 'no such rankfile' "--ranks-file: $tmp/none: No such file" --ranks-file "$tmp/none"
done_testing
