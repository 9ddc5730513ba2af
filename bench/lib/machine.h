/* What a run is measured on, for its reader. */
#ifndef GPUBIND_BENCH_LIB_MACHINE_H
#define GPUBIND_BENCH_LIB_MACHINE_H

#include <mpi.h>

#include "bench/lib/gpu.h"
#include "core/base/text.h"

/* Lines of its own, for what has no pairs of ranks: the program's with the number of ranks,
 * the host and its MPI, and a GPU behind what begins its line. */
void machine_add_job(const char *subcommand, int nranks, struct text *text);
void machine_add_host(struct text *text);
void machine_add_mpi(struct text *text);
void machine_add_gpu(const char *begin, const struct bench_gpu *gpu, struct text *text);

/* "rank 1: " and its GPU, for each rank of comm. Collective; written on its rank 0 alone. */
void machine_add_ranks(const struct bench_gpu *gpu, MPI_Comm comm, struct text *text);

/* A line of each rank of comm, with its newline. Collective; written on its rank 0 alone. */
#define MACHINE_LINE 256
void machine_gather_lines(const char mine[MACHINE_LINE], MPI_Comm comm, struct text *text);

#endif
