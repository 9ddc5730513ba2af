/* The machine of a run: lines that describe it, and whether its MPI takes GPU memory. */
#ifndef GPUBIND_BENCH_LIB_MACHINE_H
#define GPUBIND_BENCH_LIB_MACHINE_H

#include <mpi.h>
#include <stdbool.h>

#include "bench/lib/gpu.h"
#include "core/base/text.h"

/* Each adds a line: the program with the number of ranks, the host, its MPI, and a GPU after the
 * text `begin`. */
void machine_add_job(const char *subcommand, int nranks, struct text *text);
void machine_add_host(struct text *text);
void machine_add_mpi(struct text *text);
void machine_add_gpu(const char *begin, const struct bench_gpu *gpu, struct text *text);

/* Adds "rank 1: " and the GPU for each rank of comm. Collective; text changes on rank 0 of comm
 * alone. */
void machine_add_ranks(const struct bench_gpu *gpu, MPI_Comm comm, struct text *text);

/* Adds the lines of all ranks of comm, each with its newline. Collective; text changes on rank 0 of
 * comm alone. */
#define MACHINE_LINE 256
void machine_gather_lines(const char mine[MACHINE_LINE], MPI_Comm comm, struct text *text);

/* Whether MPI reports CUDA support; false if it cannot be queried. */
bool machine_mpi_is_cuda_aware(void);

#endif
