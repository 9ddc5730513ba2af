/* Windows: GPU memory of every rank of a communicator, mapped by those of its node. */
#ifndef GPUBIND_MPI_RMA_WINDOW_H
#define GPUBIND_MPI_RMA_WINDOW_H

#include "gpu/core/ipc_cache.h"
#include "mpi/core/comm.h"
#include "mpi/gpubind.h"

/* The part of one rank. Its memory has the signals first, so that a write beyond the data
 * hits no signal. */
struct window_part {
    uint64_t nbytes, nsignals;
    gpu_address data, signals; /* as mapped here; 0: not mapped, or of no bytes */
    struct mapping *mapping;   /* NULL: this rank's own part, or not mapped */
};

struct gpubind_window {
    struct gpubind_window *next;
    struct comm *comm; /* whose error handler is called */
    MPI_Comm own_comm; /* for collective calls; the application may free its communicator */
    struct window_remote *remote; /* NULL: every rank has mapped every part */
    struct gpu *gpu;              /* NULL: this rank has none */
    int held;                     /* some rank detached while a stream was held, and unmaps later */
    gpu_address memory, table;    /* this rank's part, and gpubind_device_win; 0: none */
    int rank, n;
    struct window_part parts[];
};

/* Bytes from the start of a part's memory to its data. */
uint64_t window_data_at(uint64_t nsignals);
/* Collective over comm. NULL on all ranks, with *result and a sentence. */
struct gpubind_window *window_make(struct comm *comm, size_t nbytes, int nsignals, int *result,
                                   struct gpubind_error *err);
/* Unmaps the other ranks' parts. */
void window_detach(struct gpubind_window *win);
/* Frees the window and this rank's part, which no window maps any more; messages may still
 * map it unless at_end, when the library ends. */
void window_clear(struct gpubind_window *win, bool at_end);

void windows_add(struct gpubind_window *win);
/* MPI_SUCCESS, or an error class with a sentence: win is not a window, or was freed. */
int window_check(const struct gpubind_window *win, struct gpubind_error *err);
/* The same for a rank of it. */
int window_check_rank(const struct gpubind_window *win, int rank, struct gpubind_error *err);

/* At the end of the library, for windows that were not freed: all ranks detach, then all
 * ranks clear. */
void windows_detach(void);
void windows_clear(void);

#endif
