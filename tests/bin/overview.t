#!/bin/sh
# gpubind without a command: what a job would get, and what to type next, with the status of an error.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"

machines=$top_srcdir/tests/machines
demo=$machines/demo-2p4g.xml

# overview ARG...: sets status; nothing is printed.
overview() {
    run bounded gpubind "$@"
    is "gpubind $*: an error, and nothing on stdout" "$status $(cat "$tmp/out")" '125 '
}
# said PATTERN: a line fits it.
said() { check "... says $1" grep -qe "$1" "$tmp/err"; }
# table: rank and GPU of each rank.
table() { awk '$3 == "gpu" || $3 == "master" { printf "%s:%s ", $1, $4 }' "$tmp/err"; }
# proposed: the words of the job to start.
proposed() { sed -n 's,^  \(mpirun .* ./app\) .*,\1,p' "$tmp/err"; }

overview --topology "$demo"
said '^gpubind: no command is given; on the recorded machine a job with a rank for each GPU would get:$'
is '... one sentence' "$(grep -c '^gpubind: ' "$tmp/err")" 1
is '... a rank for each GPU' "$(table)" '0:0 1:1 2:2 3:3 '
is '... with its neighbours' "$(grep -c 'NIC  *north  *south$' "$tmp/err")" 1
is '... and how to start that' "$(proposed)" "mpirun -np 4 gpubind --topology $demo ./app"
said '^  gpubind --doctor '
said '^  gpubind --help '
bounded gpubind --quiet --plan --topology "$demo" >"$tmp/plan"
is '... the table of --plan' "$(grep -E '^(node|  rank|  +[0-9])' "$tmp/err")" "$(cat "$tmp/plan")"

# The proposed words do what was shown.
cp "$demo" "$tmp/it's one.xml"
overview --topology "$tmp/it's one.xml" --overflow idle --
words=$(proposed | sed 's/^mpirun -np 4 //; s,\./app$,sh -c '\''echo "$GPUBIND_ROLE"'\'',')
is '... in words that a shell reads' "$(eval "bounded $words")" gpu

overview --master 0 --topology "$demo"
is '... a master beside four' "$(table)" '0:- 1:0 2:1 3:2 4:3 '
overview --map 3,1 --topology "$demo"
is '... the GPUs of a map' "$(table)" '0:3 1:1 '
overview --gpus-per-rank 2 --topology "$demo"
said 'a rank for each set of GPUs'
is '... sets' "$(table)" '0:0,1 1:2,3 '
export GPUBIND_TOPOLOGY="$demo"
overview
is '... as the environment says' "$(table)" '0:0 1:1 2:2 3:3 '
export CUDA_VISIBLE_DEVICES=1,2
overview
is '... without hidden GPUs' "$(table)" '0:1 1:2 '
is '... which is said once' "$(grep -c '^gpubind: CUDA_VISIBLE_DEVICES=1,2 leaves 2 of 4 GPUs$' "$tmp/err")" 1
export CUDA_VISIBLE_DEVICES=
overview
said '^gpubind: CUDA_VISIBLE_DEVICES= leaves 0 of 4 GPUs$'
said 'there is no GPU for ranks on the recorded machine'
unset CUDA_VISIBLE_DEVICES GPUBIND_TOPOLOGY

overview --topology "$machines/nogpu-2p8c.xml"
said '^gpubind: no command is given, and there is no GPU for ranks on the recorded machine$'
said '^  gpubind --topology FILE.xml '
said '^  gpubind --doctor '
is '... and no table' "$(grep -c '^node' "$tmp/err")" 0

# Where nobody looks at it, one sentence.
run bounded gpubind --quiet --topology "$demo"
refused '--quiet' '^gpubind: no command is given (gpubind --help shows how)$'
is '... and no more' "$(wc -l <"$tmp/err")" 1
run bounded env SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_JOB_ID=1 SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 \
    SLURM_STEP_TASKS_PER_NODE=1 SLURM_NODEID=0 gpubind --topology "$demo"
refused 'under a launcher' '^gpubind: no command is given (gpubind --help shows how)$'
is '... no more' "$(wc -l <"$tmp/err")" 1
if [ -n "${MPIRUN-}" ]; then
    run mpi 4 gpubind --topology "$demo"
    refused 'four ranks' 'no command is given (gpubind --help shows how)'
    is '... no table' "$(grep -c '^node' "$tmp/err")" 0
else
    skip 'four ranks' 'no mpirun'
fi

# Where no plan can be made, the sentence says both.
run bounded gpubind --topology "$tmp/none.xml"
refused 'no such machine' "^gpubind: no command is given, and no plan can be made: .*$tmp/none.xml"
run bounded gpubind --topology "$demo" --gpus-per-rank 5
refused 'larger sets than there are GPUs' 'no command .* 5 GPUs a rank'
run bounded gpubind --topology "$demo" --master 7
refused 'a master outside the job' 'no command .*--master'
done_testing
