#!/bin/sh
# The ways of large collectives (GPUBIND_COLLECTIVES): each is taken where it should be, its data is
# right, and what stands in its way ends in the slower one or in one sentence.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/lib.sh"
. "$top_srcdir/tests/bench.sh"
[ -z "$SANITIZED" ] || skip_all 'a preloaded library and the sanitizers exclude each other'
moved=bcast,alltoall,allgather,gather,scatter,alltoallv,neighbor_alltoall
reduced=allreduce,reduce,reduce_scatter_block
aware=$top_builddir/src/aware/.libs/libgpubind-aware.so
[ -r "$aware" ] || skip_all "no libgpubind-aware: not built here"
driver=$LD_LIBRARY_PATH
mkdir "$tmp/fake" "$tmp/none"
: >"$tmp/none/libnccl.so.2" # a machine may have one, which takes no simulated GPU
check 'the fake NCCL compiles' \
    "$MPICC" -shared -fPIC -o "$tmp/fake/libnccl.so.2" "$top_srcdir/tests/bench/nccl.c"
export GPUBIND_SIM_DEVICES=4 GPUBIND_VERBOSE=1
LD_LIBRARY_PATH=$tmp/fake:$driver

# ways N OPERATIONS VARIABLE=VALUE...: 64K and 1M of each.
ways() {
    n=$1 operations=$2
    shift 2
    run mpi "$n" env "GPUBIND_SIM_JOB=${tmp##*.}" "LD_PRELOAD=${profiler-}$aware${behind-}" "$@" \
        gpubind-bench coll --time 1 --warmup 1 --sizes 64K,1M --operations "$operations" --csv
}
# how: the status, whether data is right, and what the ranks' lines say of messages and NCCL.
how() {
    echo "$status $(grep -c ',mpi,gpu,.*,right$' "$tmp/out") $(grep -c ',wrong$' "$tmp/out")" \
        $(sed -n 's/.*: \([0-9]*\) collective calls went as direct messages, \([0-9]*\) by NCCL/\1 \2/p' \
            "$tmp/err" | sed 's/[1-9][0-9]*/n/g' | sort -u)
}

for n in 2 3 4; do
    ways $n $moved
    is "$n ranks, moved: as messages" "$(how)" '0 14 0 n 0'
    ways $n $reduced
    is "$n ranks, reduced: by NCCL, once it pays" "$(how)" '0 6 0 0 n'
    ways $n $moved,$reduced GPUBIND_COLLECTIVES=nccl
    is "$n ranks, NCCL at once" "$(how)" '0 20 0 n n'
done
ways 2 bcast,allreduce GPUBIND_COLLECTIVES=messages
is 'messages alone' "$(how)" '0 4 0 n 0'
ways 2 bcast,allreduce GPUBIND_COLLECTIVES=staged
is 'staged' "$(how)" '0 4 0'
ways 2 bcast,allreduce GPUBIND_PATH=host
is 'without memory of others' "$(how)" '0 4 0'
ways 2 bcast GPUBIND_COLLECTIVES=
is 'an empty way is none' "$(how) $(grep -c 'taken as' "$tmp/err")" '0 2 0 n 0 0'
ways 2 bcast GPUBIND_COLLECTIVES=fast
is 'an unknown way' "$(how)" '0 2 0 n 0'
is '... is named' "$(grep -c '^gpubind: GPUBIND_COLLECTIVES is auto, staged, messages or nccl, not "fast"; taken as auto$' "$tmp/err")" 2

# ---- ranks that differ

# shellcheck disable=SC2016 # for the ranks' shell
unlike() {
    run mpi 3 env "GPUBIND_SIM_JOB=${tmp##*.}" "LD_PRELOAD=$aware" sh -c '
        case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 1) export "$0" ;; esac
        exec gpubind-bench coll --time 1 --warmup 1 --sizes 64K,1M --operations bcast,alltoallv,allreduce --csv "$@"' "$@"
}
unlike GPUBIND_COLLECTIVES=staged
is 'one rank wants none: all are staged' "$(how)" '0 6 0'
unlike GPUBIND_COLLECTIVES=messages
is 'one rank wants another way: all are staged' "$(how)" '0 6 0'
unlike LD_PRELOAD= --host
is 'one rank has no library' "$status $(grep -c ',mpi,host,.*,right$' "$tmp/out")" '0 6'
unlike GPUBIND_GPU_AWARE=off --host
is 'one rank has it switched off' "$status $(grep -c ',mpi,host,.*,right$' "$tmp/out")" '0 6'

# ---- NCCL that is not there, or fails

refuses='^gpubind: NCCL is not used for MPI.s reductions: '
FAKE_NCCL_FAILS=1
export FAKE_NCCL_FAILS
ways 3 $reduced GPUBIND_COLLECTIVES=nccl
is 'a rank fails to start NCCL: staged' "$(how)" '0 6 0'
is '... and says so' "$(grep -c "${refuses}ncclCommInitRank: a fake failure$" "$tmp/err")" 1
unset FAKE_NCCL_FAILS
FAKE_NCCL_BREAKS=1
export FAKE_NCCL_BREAKS
ways 2 allreduce GPUBIND_COLLECTIVES=nccl
is 'NCCL fails in a call: the job ends' "$((status != 0))" 1
check '... and it is said why' \
    grep -q '^gpubind: a reduction of GPU memory by NCCL has failed: wrong arguments$' "$tmp/err"
unset FAKE_NCCL_BREAKS
export GPUBIND_SIM_DEVICES=2
ways 3 bcast,$reduced
is 'ranks share a GPU: reductions are staged' "$(how)" '0 8 0 n 0'
is '... which is nothing to say' "$(grep -c "$refuses" "$tmp/err")" 0
ways 3 bcast,$reduced GPUBIND_COLLECTIVES=nccl
is '... unless NCCL was asked for' "$(how) $(grep -c "${refuses}ranks share a GPU$" "$tmp/err")" '0 8 0 n 0 1'
export GPUBIND_SIM_DEVICES=4
LD_LIBRARY_PATH=$tmp/none:$driver
ways 2 bcast,$reduced GPUBIND_COLLECTIVES=nccl
is 'no NCCL: reductions are staged' "$(how)" '0 8 0 n 0'

# ---- profilers

cat >"$tmp/profiler.c" <<'EOF'
#include <mpi.h>
#include <stdio.h>
static int bcasts, internal;
int MPI_Bcast(void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm)
{
    bcasts += n > 1000;
    return PMPI_Bcast(buf, n, type, root, comm);
}
int MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    internal++;
    return PMPI_Isend(buf, n, type, to, tag, comm, request);
}
__attribute__((destructor)) static void print(void)
{
    if (bcasts > 0)
        fprintf(stderr, "profiler: %d %d\n", bcasts, internal);
}
EOF
check 'a profiler compiles' "$MPICC" -shared -fPIC -o "$tmp/profiler.so" "$tmp/profiler.c"
profiler=$tmp/profiler.so:
ways 2 bcast
is 'a profiler before the library' "$(how)" '0 2 0 n 0'
is '... sees the calls of the program alone' \
    "$(sed -n 's/^profiler: [1-9][0-9]* 0$/yes/p' "$tmp/err" | xargs)" 'yes yes'
unset profiler
behind=:$tmp/profiler.so
ways 2 bcast
is 'a profiler behind the library: staged' "$(how)" '0 2 0'
is '... and sees the calls' \
    "$(sed -n 's/^profiler: [1-9][0-9]* 0$/yes/p' "$tmp/err" | xargs)" 'yes yes'
unset behind
nothing_left 'nothing is left'
done_testing
