#include "aware/typed.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "aware/gpu_buffer.h"
#include "aware/start.h"
#include "mpi/datatype/type_flatten.h"
#include "mpi/gpubind.h"

MPI_Count typed_bytes(const struct typed *typed)
{
    MPI_Count size;

    PMPI_Type_size_x(typed->type, &size);
    return size * typed->count;
}

/* ---- by libgpubind, in kernels and strided copies: a message to this process itself */

static int move(const struct typed *from, const struct typed *to)
{
    static pthread_mutex_t lock =
        PTHREAD_MUTEX_INITIALIZER; /* each message meets its own receive */
    int result;

    pthread_mutex_lock(&lock);
    result = gpubind_sendrecv_c(from->at, from->count, from->type, 0, 0, to->at, to->count,
                                to->type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    return result;
}

/* It knows one kind of memory a buffer. */
static bool library_moves(const struct typed *typed)
{
    return aware_has_library() && typed->at != (const char *)MPI_BOTTOM;
}

/* ---- block by block */

struct walk {
    const struct typed *typed;
    char *dense;      /* or NULL: */
    const char *host; /* of the same layout */
    MPI_Count left;   /* bytes */
    bool out;         /* from the elements */
    bool asks;        /* nothing is copied: is a block in GPU memory? */
};

/* 0: go on; 1: the walk is over; -1: a copy failed. */
static int visit(struct walk *walk, MPI_Aint offset, size_t nbytes)
{
    char *at = address_at(walk->typed->at, offset);
    const bool gpu = buffer_is_on_gpu(at);
    char *host = walk->dense ? walk->dense : address_at(walk->host, offset);
    int status = 0;

    if (walk->asks)
        return gpu;
    nbytes = (MPI_Count)nbytes < walk->left ? nbytes : (size_t)walk->left;
    if (gpu)
        status = walk->out ? buffer_to_host(host, at, nbytes) : buffer_to_gpu(at, host, nbytes);
    else
        memcpy(walk->out ? host : at, walk->out ? at : host, nbytes);
    walk->dense += walk->dense ? nbytes : 0;
    walk->left -= (MPI_Count)nbytes;
    return status < 0 ? -1 : walk->left == 0;
}

/* An MPI error class; *found: the walk was over before its end. */
static int walk_blocks(struct walk *walk, bool *found)
{
    const struct typed *typed = walk->typed;
    struct type_parts parts = {0};
    MPI_Count lb, extent;
    int result = type_flatten(&parts, typed->type) < 0 ? MPI_ERR_TYPE : MPI_SUCCESS, over = 0;

    PMPI_Type_get_extent_x(typed->type, &lb, &extent);
    for (MPI_Count i = 0; i < typed->count && result == MPI_SUCCESS && !over; i++)
        for (int j = 0; j < parts.nblocks && !over; j++)
            if (parts.blocks[j].nbytes > 0)
                over = visit(walk, (MPI_Aint)(i * extent) + parts.blocks[j].at,
                             parts.blocks[j].nbytes);
    free(parts.blocks);
    if (found)
        *found = over > 0;
    return over < 0 ? MPI_ERR_BUFFER : result;
}

bool typed_is_on_gpu(const struct typed *typed)
{
    struct walk walk = {.typed = typed, .asks = true};
    bool found = false;

    walk_blocks(&walk, &found);
    return found;
}

/* ---- either */

int typed_pack(const struct typed *typed, void *dense)
{
    const struct typed to = {dense, typed_bytes(typed), MPI_BYTE};
    struct walk walk = {.typed = typed, .dense = dense, .left = to.count, .out = true};

    if (to.count == 0)
        return MPI_SUCCESS;
    return library_moves(typed) ? move(typed, &to) : walk_blocks(&walk, NULL);
}

int typed_unpack(const struct typed *typed, const void *dense, MPI_Count nbytes)
{
    const struct typed from = {(char *)(uintptr_t)dense, nbytes, MPI_BYTE};
    struct walk walk = {.typed = typed, .dense = from.at, .left = nbytes};

    if (nbytes == 0)
        return MPI_SUCCESS;
    return library_moves(typed) ? move(&from, typed) : walk_blocks(&walk, NULL);
}

int typed_write(const struct typed *typed, const char *host, MPI_Count nbytes)
{
    const struct typed from = {(char *)(uintptr_t)host, typed->count, typed->type};
    struct walk walk = {.typed = typed, .host = host, .left = nbytes};

    if (nbytes == 0)
        return MPI_SUCCESS;
    if (library_moves(typed) && nbytes == typed_bytes(typed))
        return move(&from, typed);
    return walk_blocks(&walk, NULL);
}
