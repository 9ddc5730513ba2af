/* gpubind_win_allocate: every rank allocates its part, exports it to the others, and maps
 * theirs. */
#include <stdlib.h>
#include <string.h>

#include "gpu/core/gpu_calls.h"
#include "mpi/core/context.h"
#include "mpi/core/rank_map.h"
#include "mpi/core/transport.h"
#include "mpi/gpubind_device.cuh"
#include "mpi/p2p/device_memory.h"
#include "mpi/rma/window_am.h"
#include "mpi/rma/window_memory.h"

#define ALIGNMENT 256

/* What each rank tells the others. */
struct rank_part {
    int result;
    char why[200]; /* if it failed */
    uint64_t nbytes, nsignals;
    bool shared;
    struct memory_export memory;
};

uint64_t window_data_at(uint64_t nsignals)
{
    return (8 * nsignals + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Returns when the memory is set, before other ranks learn of it. */
static int set_to_zero(const struct gpu *gpu, gpu_address memory, uint64_t nbytes,
                       struct gpubind_error *err)
{
    bool entered = gpu_enter(gpu);
    int status = gpu_memset_async(memory, 0, nbytes, gpu->streams[GPU_OUT]);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(gpu->streams[GPU_OUT]);
    gpu_leave(entered);
    if (status == GPU_OK)
        return MPI_SUCCESS;
    gpu_error(status, "the window cannot be set to zero", err);
    return MPI_ERR_OTHER;
}

static int allocate(struct gpu *gpu, uint64_t nbytes, gpu_address *memory,
                    struct gpubind_error *err)
{
    void *at = NULL;
    int result = memory_allocate_on(gpu, &at, nbytes, err);

    *memory = (gpu_address)(uintptr_t)at;
    return result == MPI_SUCCESS ? set_to_zero(gpu, *memory, nbytes, err) : result;
}

/* Checks the arguments, and finds the GPU. An MPI error class. */
static int check_mine(struct gpubind_window *win, bool has_gpu, struct gpubind_error *err)
{
    const struct window_part *mine = &win->parts[win->rank];
    const uint64_t most = UINT64_MAX / 2;

    if (mine->nsignals > INT32_MAX) {
        error_set(err, "%lld signals are less than none", (long long)mine->nsignals);
        return MPI_ERR_ARG;
    }
    if (mine->nbytes > most) {
        error_set(err, "%llu bytes are more than any GPU has", (unsigned long long)mine->nbytes);
        return MPI_ERR_NO_MEM;
    }
    win->gpu = has_gpu ? gpu_current(err) : NULL;
    if (!win->gpu && mine->nbytes == 0 && mine->nsignals == 0)
        return MPI_SUCCESS;
    if (!win->gpu) {
        if (!has_gpu)
            error_set(err, "it has no GPU for its part of the window");
        return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

static uint64_t bytes_of(const struct window_part *part)
{
    return window_data_at(part->nsignals) + part->nbytes;
}

/* Allocates this rank's part, unless window_memory_make did, and the table for kernels. */
static int make_mine(struct gpubind_window *win, struct gpubind_error *err)
{
    const uint64_t nbytes = bytes_of(&win->parts[win->rank]);
    int result = MPI_SUCCESS;

    if (win->memory)
        result = set_to_zero(win->gpu, win->memory, nbytes, err);
    else if (nbytes > 0)
        result = allocate(win->gpu, nbytes, &win->memory, err);
    if (result == MPI_SUCCESS && win->gpu)
        result = allocate(win->gpu, gpubind_device_win_size(win->n), &win->table, err);
    return result;
}

static void fill_part(const struct gpubind_window *win, int result, const struct gpubind_error *err,
                      struct rank_part *rank_part)
{
    const struct window_part *mine = &win->parts[win->rank];
    struct memory memory;

    *rank_part = (struct rank_part){
        .result = result, .nbytes = mine->nbytes, .nsignals = mine->nsignals};
    if (result != MPI_SUCCESS)
        memcpy(rank_part->why, err->text, sizeof rank_part->why - 1);
    else if (win->memory)
        rank_part->shared = memory_of((const void *)(uintptr_t)win->memory, &memory, NULL) == 0 &&
                            memory_export_of(&memory, &rank_part->memory);
    rank_part->memory.start = win->memory;
}

static bool may_map(const struct gpubind_window *win, const struct rank_part *rank_part,
                    const struct peer *peer)
{
    return win->gpu && rank_part->shared && peer->local >= 0 && transport_allowed(TRANSPORT_IPC);
}

/* Maps a rank's part, if it can be mapped. */
static void map(struct gpubind_window *win, int rank, const struct rank_part *rank_part)
{
    struct peer *peer = &win->comm->domain->peers[win->comm->domain_ranks[rank]];
    struct window_part *part = &win->parts[rank];
    gpu_address memory = 0;

    part->nbytes = rank_part->nbytes;
    part->nsignals = rank_part->nsignals;
    if (rank == win->rank) {
        memory = win->memory;
    } else {
        if (!part->mapping && may_map(win, rank_part, peer))
            part->mapping = mapping_open(peer, &rank_part->memory, win->gpu, NULL, NULL);
        if (part->mapping)
            memory = mapping_address(part->mapping, rank_part->memory.start);
    }
    if (memory && part->nsignals > 0)
        part->signals = memory;
    if (memory && part->nbytes > 0)
        part->data = memory + window_data_at(part->nsignals);
}

/* Fills the table for kernels, struct gpubind_device_win. */
static int upload(const struct gpubind_window *win, struct gpubind_error *err)
{
    const size_t nbytes = gpubind_device_win_size(win->n);
    struct gpubind_device_win *table = calloc(1, nbytes);
    struct gpubind_device_part *parts;
    bool entered;
    int status;

    if (!table) {
        error_set(err, "out of memory");
        return MPI_ERR_OTHER;
    }
    parts = (struct gpubind_device_part *)(table + 1);
    table->rank = win->rank;
    table->n = win->n;
    table->signals = (unsigned long long *)(uintptr_t)win->parts[win->rank].signals;
    for (int rank = 0; rank < win->n; rank++) {
        const struct window_part *part = &win->parts[rank];

        parts[rank].data = (char *)(uintptr_t)part->data;
        parts[rank].nbytes = part->nbytes;
        parts[rank].signals = (unsigned long long *)(uintptr_t)part->signals;
        parts[rank].nsignals = part->nsignals;
    }
    entered = gpu_enter(win->gpu);
    status = gpu_upload_async(win->table, table, nbytes, win->gpu->streams[GPU_OUT]);
    if (status == GPU_OK)
        status = gpu_stream_synchronize(win->gpu->streams[GPU_OUT]);
    gpu_leave(entered);
    free(table);
    if (status == GPU_OK)
        return MPI_SUCCESS;
    gpu_error(status, "the table of the window", err);
    return MPI_ERR_OTHER;
}

/* Exchanges what the ranks tell. An MPI error class, the same on all ranks: that of the lowest
 * rank that failed. */
static int exchange(const struct gpubind_window *win, const struct rank_part *mine,
                    struct rank_part *parts_of_all, struct gpubind_error *err)
{
    library_unlock();
    PMPI_Allgather(mine, sizeof *mine, MPI_BYTE, parts_of_all, sizeof *parts_of_all, MPI_BYTE,
                   win->own_comm);
    library_lock();
    for (int rank = 0; rank < win->n; rank++)
        if (parts_of_all[rank].result != MPI_SUCCESS) {
            error_set(err, "rank %d: %.199s", rank, parts_of_all[rank].why);
            return parts_of_all[rank].result;
        }
    return MPI_SUCCESS;
}

static int make_all(struct gpubind_window *win, struct rank_part *parts_of_all, bool has_gpu,
                    struct gpubind_error *err)
{
    struct rank_part mine;
    int result = check_mine(win, has_gpu, err);

    window_memory_make(win, result == MPI_SUCCESS, bytes_of(&win->parts[win->rank]));
    if (result == MPI_SUCCESS)
        result = make_mine(win, err);
    fill_part(win, result, err, &mine);
    result = exchange(win, &mine, parts_of_all, err);
    if (result != MPI_SUCCESS)
        return result;
    for (int rank = 0; rank < win->n; rank++)
        map(win, rank, &parts_of_all[rank]);
    mine.result = window_remote_begin(win, err);
    if (mine.result == MPI_SUCCESS && win->gpu)
        mine.result = upload(win, err);
    fill_part(win, mine.result, err, &mine);
    return exchange(win, &mine, parts_of_all, err);
}

static struct gpubind_window *prepare(struct comm *comm, size_t nbytes, int nsignals)
{
    struct gpubind_window *win = calloc(1, sizeof *win + (size_t)comm->size * sizeof *win->parts);

    if (!win)
        return NULL;
    win->comm = comm;
    win->rank = comm->rank;
    win->n = comm->size;
    win->parts[win->rank].nbytes = nbytes;
    win->parts[win->rank].nsignals = (uint64_t)(int64_t)nsignals;
    library_barrier(comm->user);
    library_unlock();
    PMPI_Comm_split(comm->user, 0, comm->rank, &win->own_comm);
    library_lock();
    comm->operations++;
    return win;
}

struct gpubind_window *window_make(struct comm *comm, size_t nbytes, int nsignals, int *result,
                                   struct gpubind_error *err)
{
    const struct rank_map *rank_map = rank_map_of(comm, err);
    struct rank_part *parts_of_all = calloc((size_t)comm->size, sizeof *parts_of_all);
    struct gpubind_window *win = rank_map && parts_of_all ? prepare(comm, nbytes, nsignals) : NULL;

    if (!win) { /* out of host memory: the other ranks are not told */
        free(parts_of_all);
        error_set(err, "out of memory");
        *result = MPI_ERR_OTHER;
        return NULL;
    }
    *result = make_all(win, parts_of_all, rank_map->ranks[comm->rank].has_gpu, err);
    free(parts_of_all);
    if (*result == MPI_SUCCESS) {
        windows_add(win);
        return win;
    }
    window_detach(win);
    library_unlock();
    PMPI_Barrier(win->own_comm); /* no rank maps what is freed now */
    library_lock();
    window_remote_end(win); /* before its communicator is freed */
    library_unlock();
    PMPI_Comm_free(&win->own_comm);
    library_lock();
    window_clear(win, false);
    return NULL;
}
