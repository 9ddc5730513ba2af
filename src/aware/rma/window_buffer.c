#include "aware/rma/window_buffer.h"

#include "aware/memory/gpu_buffer.h"
#include "aware/message/staged.h"

int window_look_at(struct typed *typed, const struct window_buffer *buffer)
{
    enum buffer_place place = BUFFER_HOST;

    *typed = typed_at(buffer->at, 0, buffer->count, buffer->type);
    if (buffer->count < 0)
        return MPI_ERR_COUNT;
    if (buffer->type == MPI_DATATYPE_NULL)
        return MPI_ERR_TYPE;
    if (buffer->at == MPI_BOTTOM)
        return MPI_SUCCESS;
    if (buffer->count > 0)
        place = buffer_place(typed_first(typed));
    typed->host = place != BUFFER_GPU;
    return place == BUFFER_LOST ? staged_refuse_lost(buffer->at) : MPI_SUCCESS;
}

const void *window_gpu_of(const struct typed *typed)
{
    return typed->host ? NULL : typed_low(typed);
}

MPI_Count window_bytes_there(const struct window_there *there)
{
    const struct typed typed = typed_at(NULL, 0, there->count, there->type);

    return typed_bytes(&typed);
}

bool window_is_one_piece(const struct typed *typed, char **start)
{
    return !typed->absolute && typed_is_contiguous(typed, start);
}
