#include "aware/base/counts.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>

#include "aware/base/setting.h"

static atomic_ulong counts[COUNTS];

void count_one(enum count kind)
{
    atomic_fetch_add_explicit(&counts[kind], 1, memory_order_relaxed);
}

void counts_print(void)
{
    static atomic_flag printed = ATOMIC_FLAG_INIT;
    static _Atomic int verbose = SETTING_UNKNOWN;
    int rank = 0;

    if (atomic_flag_test_and_set(&printed) || !setting_switch("GPUBIND_VERBOSE", false, &verbose))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (counts[COUNT_DIRECT] + counts[COUNT_STAGED] > 0)
        fprintf(stderr,
                "gpubind: rank %d: %lu messages from GPU memory: %lu by gpubind, of which %lu were "
                "buffered in host memory; %lu were staged for MPI\n",
                rank, counts[COUNT_DIRECT] + counts[COUNT_STAGED], counts[COUNT_DIRECT],
                counts[COUNT_BUFFERED], counts[COUNT_STAGED]);
    if (counts[COUNT_MOVED] + counts[COUNT_REDUCED] > 0)
        fprintf(stderr,
                "gpubind: rank %d: %lu collective calls went as direct messages, %lu by NCCL\n",
                rank, counts[COUNT_MOVED], counts[COUNT_REDUCED]);
    if (counts[COUNT_ONE_SIDED] > 0)
        fprintf(
            stderr,
            "gpubind: rank %d: %lu one-sided calls to GPU memory, of which the GPU computed %lu\n",
            rank, counts[COUNT_ONE_SIDED], counts[COUNT_ON_GPU]);
}
