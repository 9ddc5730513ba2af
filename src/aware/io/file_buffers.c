#include "aware/io/file_buffers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/next.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/request/requests.h"
#include "core/base/list.h"
#include "mpi/datatype/type_contents.h"

int file_refused(MPI_File file, int result)
{
    PMPI_File_call_errhandler(file, result);
    return result;
}

static void free_made(MPI_Datatype *type)
{
    if (type_may_be_freed(*type))
        PMPI_Type_free(type);
}

bool file_has_bytes_of_memory(MPI_File file, MPI_Count *size)
{
    char representation[MPI_MAX_DATAREP_STRING + 1] = "";
    MPI_Datatype etype, filetype;
    MPI_Offset at;

    if (PMPI_File_get_view(file, &at, &etype, &filetype, representation) != MPI_SUCCESS)
        return false;
    PMPI_Type_size_x(etype, size);
    free_made(&etype);
    free_made(&filetype);
    return strcmp(representation, "native") == 0 || strcmp(representation, "internal") == 0;
}

int file_begin(struct staged *staged, MPI_File file, const void *buf, MPI_Count count,
               MPI_Datatype type, unsigned use)
{
    MPI_Count etype;

    if (gpu_is_in_use() && file != MPI_FILE_NULL && type != MPI_DATATYPE_NULL &&
        !type_is_basic(type) && file_has_bytes_of_memory(file, &etype))
        use |= STAGED_DENSE;
    return staged_begin(staged, buf, count, type, use);
}

int file_ended(struct staged *staged, int result, MPI_File file)
{
    const int error = result == MPI_SUCCESS ? staged_write(staged, -1) : MPI_SUCCESS;

    staged_end(staged);
    requests_sweep(false); /* this call may tell that a freed receive is complete */
    return error == MPI_SUCCESS ? result : file_refused(file, error);
}

int file_started(struct staged *staged, int result, MPI_Request request, MPI_File file)
{
    MPI_Count etype;

    if (!staged->staged)
        return result;
    if (result == MPI_SUCCESS) {
        /* Open MPI converts what it has read as it frees the request (ompio, 4.1). */
        if (staged->use & STAGED_WRITTEN && !file_has_bytes_of_memory(file, &etype))
            staged->use |= STAGED_AT_FREE;
        result = requests_add(request, NULL, staged, 1, false, MPI_COMM_SELF);
        /* Out of memory: MPI still uses the buffer, which is never given back. */
        return result == MPI_SUCCESS ? result : file_refused(file, result);
    }
    staged_end(staged);
    return result;
}

/* ---- split calls */

struct split {
    struct split *next;
    MPI_File file;
    struct staged staged;
};

static QUEUE_OF(struct split) splits; /* between their halves */
static atomic_int nsplits;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void move(struct staged *to, const struct staged *from)
{
    *to = *from;
    if (from->parts == &from->part)
        to->parts = &to->part;
}

int file_split(struct staged *staged, int result, MPI_File file)
{
    struct split *split;

    if (!staged->staged)
        return result;
    if (result != MPI_SUCCESS) {
        staged_end(staged);
        return result;
    }
    split = malloc(sizeof *split);
    if (!split) /* MPI still uses the buffer, which is never given back */
        return file_refused(file, MPI_ERR_NO_MEM);
    split->file = file;
    move(&split->staged, staged);
    pthread_mutex_lock(&lock);
    QUEUE_PUSH_FRONT(&splits, split, next);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&nsplits, 1);
    return result;
}

bool file_split_take(struct staged *staged, MPI_File file)
{
    struct split *split;

    if (is_behind || atomic_load_explicit(&nsplits, memory_order_relaxed) == 0)
        return false;
    pthread_mutex_lock(&lock);
    for (split = splits.first; split && split->file != file;)
        split = split->next;
    if (split)
        QUEUE_REMOVE(&splits, split, next);
    pthread_mutex_unlock(&lock);
    if (!split)
        return false;
    atomic_fetch_sub(&nsplits, 1);
    move(staged, &split->staged);
    free(split);
    return true;
}
