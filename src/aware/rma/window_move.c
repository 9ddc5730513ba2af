#include "aware/rma/window_move.h"

#include "aware/base/counts.h"
#include "aware/memory/host_pool.h"
#include "aware/rma/window_buffer.h"
#include "aware/rma/window_place.h"
#include "aware/rma/window_sync.h"

bool window_has_gpu(struct window *window, const struct window_there *there)
{
    return window && window->gpu && there->rank >= 0 && there->rank < window->size &&
           there->count >= 0 && there->type != MPI_DATATYPE_NULL &&
           (window->empty || place_region(window, there));
}

/* ---- put and get */

static int copy_in_parts(const struct place *place, const struct typed *typed, MPI_Count nbytes,
                         bool puts)
{
    struct host_block block;
    int result;

    if (!host_take(&block, (size_t)nbytes, place->here ? place_gpu(place) : window_gpu_of(typed)))
        return MPI_ERR_NO_MEM;
    result = puts ? typed_pack(typed, block.at) : place_read(place, block.at);
    if (result == MPI_SUCCESS)
        result = puts ? place_write(place, block.at, nbytes)
                      : typed_unpack(typed, block.at, nbytes);
    host_give(&block);
    return result;
}

/* What is written may have room for more than is read. */
static int move(struct window *window, const struct window_there *there, const struct typed *typed,
                bool puts)
{
    const MPI_Count ours = typed_bytes(typed), theirs = window_bytes_there(there),
                    nbytes = puts ? ours : theirs;
    struct typed target;
    char *start, *at;
    struct place place;
    int result;

    if (nbytes > (puts ? theirs : ours))
        return MPI_ERR_TRUNCATE;
    if (nbytes == 0)
        return MPI_SUCCESS;
    result = place_begin(&place, window, there, window_gpu_of(typed));
    if (result != MPI_SUCCESS)
        return result;
    target = typed_at(place.here, 0, there->count, there->type);
    if (place.here && window_is_one_piece(typed, &start) && window_is_one_piece(&target, &at))
        result = place_copy(&place, puts ? at : start, puts ? start : at, (size_t)nbytes);
    else if (!place.here && typed->host && window_is_one_piece(typed, &start))
        result = puts ? place_write(&place, start, nbytes) : place_read(&place, start);
    else
        result = copy_in_parts(&place, typed, nbytes, puts);
    place_end(&place);
    count_one(COUNT_ONE_SIDED);
    return result;
}

static int enter_and_move(struct window *window, const struct window_there *there,
                          const struct window_buffer *buffer, bool puts)
{
    int result = window_enter(window, there->rank);
    struct typed typed;

    if (result == MPI_SUCCESS)
        result = window_look_at(&typed, buffer);
    return result == MPI_SUCCESS ? move(window, there, &typed, puts) : result;
}

int window_put(struct window *window, const struct window_there *there, struct window_buffer from)
{
    return enter_and_move(window, there, &from, true);
}

int window_get(struct window *window, const struct window_there *there, struct window_buffer to)
{
    return enter_and_move(window, there, &to, false);
}
