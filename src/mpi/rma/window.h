/* Windows: GPU memory of every rank of a communicator, mapped by those of its node. */
#ifndef GPUBIND_MPI_RMA_WINDOW_H
#define GPUBIND_MPI_RMA_WINDOW_H

#include "gpu/core/ipc_cache.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* What a rank brings: signal words first, so that what is written behind the data
 * meets no signal. */
struct window_part {
    uint64_t nbytes, nsignals;
    cuda_address data, signals; /* as they are mapped here; 0: not reached, or none */
    struct mapping *mapping;    /* NULL: my own, or none */
};

struct gpubind_window {
    struct gpubind_window *next;
    struct comm *comm;  /* whose error handler hears of errors */
    MPI_Comm together;  /* for calls that all ranks make: the application's may be freed */
    struct window_remote *remote; /* NULL: all ranks reach each other */
    struct gpu *gpu;    /* NULL: this rank has none */
    int held;           /* streams were held when some rank let go of its mappings */
    cuda_address memory, table; /* mine: my part, and for kernels; 0: none */
    int rank, n;
    struct window_part parts[];
};

/* From the window's memory to its data. */
uint64_t window_data_at(uint64_t nsignals);
/* Collective over comm. NULL on all ranks, with *result and a sentence. */
struct gpubind_window *window_make(struct comm *comm, size_t nbytes, int nsignals, int *result,
                                   struct gpubind_error *err);
/* Lets go of the others' memory. */
void window_detach(struct gpubind_window *win);
/* Frees this rank's memory, which no window maps any more, and the rest. at_end: no
 * message does, either. */
void window_clear(struct gpubind_window *win, bool at_end);

void windows_add(struct gpubind_window *win);
/* 0, or an error class with a sentence: it is none, or was freed. */
int window_check(const struct gpubind_window *win, struct gpubind_error *err);
/* The same for one of its ranks. */
int window_check_rank(const struct gpubind_window *win, int rank, struct gpubind_error *err);

/* At the end of the library, for windows that were not freed: all ranks' first, then all
 * ranks' second. */
void windows_detach(void);
void windows_clear(void);

#endif
