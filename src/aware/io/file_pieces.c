#include "aware/io/file_pieces.h"

#include <stdint.h>

#include "aware/io/file_buffers.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/memory/host_pool.h"
#include "aware/memory/typed.h"
#include "mpi/datatype/type_contents.h"

#define PIECE ((MPI_Count)8 << 20) /* bytes, at most */

struct pieces {
    const struct file_call *call;
    char *gpu;
    MPI_Count size, etype; /* bytes of an element, and of the file's unit of offsets */
    MPI_Count each;        /* elements of a piece */
    MPI_Count done, bytes; /* elements that were given to MPI; bytes that it has transferred */
    struct host_block blocks[2];
};

/* Elements and units of offsets both fit in a piece a whole number of times. 0: not so. */
static MPI_Count elements_of_piece(MPI_Count size, MPI_Count etype)
{
    MPI_Count both = size;

    while (both % etype != 0 && both <= PIECE)
        both += size;
    return both <= PIECE ? PIECE / both * (both / size) : 0;
}

/* In atomic mode a call is one transfer. */
static bool is_atomic(MPI_File file)
{
    int atomic = 1;

    return PMPI_File_get_atomicity(file, &atomic) != MPI_SUCCESS || atomic;
}

static bool are_worth_it(struct pieces *pieces)
{
    const struct file_call *call = pieces->call;
    const struct typed typed = typed_at(call->buf, 0, call->count, call->type);

    if (!gpu_is_in_use() || call->file == MPI_FILE_NULL || call->type == MPI_DATATYPE_NULL ||
        call->count <= 0 || !type_is_basic(call->type))
        return false;
    PMPI_Type_size_x(call->type, &pieces->size);
    if (call->count * pieces->size <= PIECE || !typed_is_contiguous(&typed, &pieces->gpu) ||
        !buffer_is_on_gpu(pieces->gpu) || is_atomic(call->file) ||
        !file_has_bytes_of_memory(call->file, &pieces->etype) || pieces->etype <= 0)
        return false;
    pieces->each = elements_of_piece(pieces->size, pieces->etype);
    return pieces->each > 0;
}

static MPI_Count elements_from(const struct pieces *pieces, MPI_Count first)
{
    const MPI_Count left = pieces->call->count - first;

    return left < pieces->each ? left : pieces->each;
}

/* Starts to copy the piece that begins with that element. 0 or -1. */
static int start_copy(struct pieces *pieces, MPI_Count first, const struct host_block *block,
                      bool to_host)
{
    const MPI_Count n = elements_from(pieces, first);
    const struct rows rows = {.gpu = (gpu_address)(uintptr_t)(pieces->gpu + first * pieces->size),
                              .host = block->at,
                              .nbytes = (size_t)(n * pieces->size),
                              .n = 1};

    return n > 0 ? buffer_copy_rows(&rows, to_host) : 0;
}

static int wait_for_copies(const struct pieces *pieces)
{
    return buffer_wait((gpu_address)(uintptr_t)pieces->gpu);
}

/* The piece in the block. *whole: all of it was transferred. An MPI error class. */
static int transfer(struct pieces *pieces, const struct host_block *block, bool *whole)
{
    const struct file_call *call = pieces->call;
    const MPI_Count n = elements_from(pieces, pieces->done);
    const MPI_Offset at = call->at + (MPI_Offset)(pieces->done * pieces->size / pieces->etype);
    MPI_Status status = {0};
    MPI_Count bytes = 0;
    int result = call->transfer(call->file, at, block->at, (int)n, call->type, &status);

    if (result == MPI_SUCCESS)
        result = PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    *whole = result == MPI_SUCCESS && bytes == n * pieces->size;
    pieces->bytes += bytes;
    return result;
}

static int write_pieces(struct pieces *pieces)
{
    int i = 0, result = MPI_SUCCESS;
    bool whole = true;

    if (start_copy(pieces, 0, &pieces->blocks[0], true) < 0 || wait_for_copies(pieces) < 0)
        return file_refused(pieces->call->file, MPI_ERR_BUFFER);
    while (result == MPI_SUCCESS && whole && pieces->done < pieces->call->count) {
        const int next = start_copy(pieces, pieces->done + pieces->each, &pieces->blocks[!i], true);

        result = transfer(pieces, &pieces->blocks[i], &whole);
        if ((wait_for_copies(pieces) < 0 || next < 0) && result == MPI_SUCCESS)
            return file_refused(pieces->call->file, MPI_ERR_BUFFER);
        pieces->done += pieces->each;
        i = !i;
    }
    return result;
}

/* What a read does not reach stays: the host memory has it before. */
static int read_pieces(struct pieces *pieces)
{
    const struct host_block *block = &pieces->blocks[0];
    int result = MPI_SUCCESS;
    bool whole = true;

    while (result == MPI_SUCCESS && whole && pieces->done < pieces->call->count) {
        if (start_copy(pieces, pieces->done, block, true) < 0 || wait_for_copies(pieces) < 0)
            return file_refused(pieces->call->file, MPI_ERR_BUFFER);
        result = transfer(pieces, block, &whole);
        if (result == MPI_SUCCESS &&
            (start_copy(pieces, pieces->done, block, false) < 0 || wait_for_copies(pieces) < 0))
            return file_refused(pieces->call->file, MPI_ERR_BUFFER);
        pieces->done += pieces->each;
    }
    return result;
}

static bool take_blocks(struct pieces *pieces)
{
    if (!host_take(&pieces->blocks[0], (size_t)PIECE, pieces->gpu))
        return false;
    if (host_take(&pieces->blocks[1], (size_t)PIECE, pieces->gpu))
        return true;
    host_give(&pieces->blocks[0]);
    return false;
}

bool file_in_pieces(const struct file_call *call, MPI_Status *status, int *result)
{
    struct pieces pieces = {.call = call};

    if (!are_worth_it(&pieces) || !take_blocks(&pieces))
        return false;
    *result = call->writes ? write_pieces(&pieces) : read_pieces(&pieces);
    host_give(&pieces.blocks[0]);
    host_give(&pieces.blocks[1]);
    if (*result == MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        PMPI_Status_set_elements_x(status, MPI_BYTE, pieces.bytes);
    return true;
}
