/* Accumulates and comparisons: one at a time for each target. What the GPU does not compute (window_on_gpu.h),
 * the origin's host does. */
#include <stdlib.h>
#include <string.h>

#include "aware/base/counts.h"
#include "aware/base/next.h"
#include "aware/memory/host_pool.h"
#include "aware/rma/window_buffer.h"
#include "aware/rma/window_on_gpu.h"
#include "aware/rma/window_place.h"
#include "aware/rma/window_sync.h"
#include "mpi/datatype/type_cache.h"
#include "mpi/datatype/type_contents.h"
#include "mpi/datatype/type_flatten.h"

/* ---- accumulates */

/* The predefined type of which all elements are; of a derived type that of its first one. */
static MPI_Datatype element_of(MPI_Datatype type)
{
    struct type_parts parts = {0};
    MPI_Datatype found = type;

    if (type_is_basic(type))
        return type;
    if (type_flatten(&parts, type) == 0)
        found = type_numbered(parts.number);
    free(parts.blocks);
    return found;
}

/* The bytes of n elements, without the gaps that a pair has in it: from and to an array. */
static int to_array(void *array, const void *dense, MPI_Count n, MPI_Datatype element)
{
    const struct typed typed = {array, n, element, true, false};

    return typed_unpack(&typed, dense, typed_bytes(&typed));
}

static int from_array(void *dense, void *array, MPI_Count n, MPI_Datatype element)
{
    const struct typed typed = {array, n, element, true, false};

    return typed_pack(&typed, dense);
}

#define MOST ((MPI_Count)1 << 28) /* elements of a call */

static int reduce_arrays(const char *from, char *there, MPI_Count n, MPI_Count extent,
                         MPI_Datatype element, MPI_Op op)
{
    int result = MPI_SUCCESS;

    for (MPI_Count i = 0; i < n && result == MPI_SUCCESS; i += MOST)
        result = CALL_MPI(PMPI_Reduce_local(from + i * extent, there + i * extent,
                                            (int)(n - i < MOST ? n - i : MOST), element, op));
    return result;
}

/* there = from op there, on dense bytes of n elements. */
static int reduce(const void *from, void *there, MPI_Count n, MPI_Datatype element, MPI_Op op)
{
    MPI_Count lb, extent, size;
    char *arrays;
    int result;

    PMPI_Type_get_extent_x(element, &lb, &extent);
    PMPI_Type_size_x(element, &size);
    if (extent == size)
        return reduce_arrays(from, there, n, extent, element, op);
    arrays = calloc(2 * (size_t)n, (size_t)extent);
    if (!arrays)
        return MPI_ERR_NO_MEM;
    to_array(arrays, from, n, element);
    to_array(arrays + n * extent, there, n, element);
    result = reduce_arrays(arrays, arrays + n * extent, n, extent, element, op);
    if (result == MPI_SUCCESS)
        result = from_array(there, arrays + n * extent, n, element);
    free(arrays);
    return result;
}

/* Host memory for a call: what is there, and what the origin gives. */
struct room {
    struct host_block there, from;
    MPI_Count nbytes, given; /* bytes there, and of the origin: fewer, or as many */
};

static bool room_begin(struct room *room, MPI_Count nbytes, const void *gpu)
{
    room->nbytes = room->given = nbytes;
    if (!host_take(&room->there, (size_t)nbytes, gpu))
        return false;
    if (host_take(&room->from, (size_t)nbytes, gpu))
        return true;
    host_give(&room->there);
    return false;
}

static void room_end(const struct room *room)
{
    host_give(&room->there);
    host_give(&room->from);
}

/* room->from has what the origin gives; the lock of accumulates is held. */
static int update(const struct place *place, const struct room *room, const struct typed *wanted,
                  MPI_Datatype element, MPI_Op op)
{
    const bool replaces = op == MPI_REPLACE, wants = wanted != NULL;
    MPI_Count size;
    int result = MPI_SUCCESS;

    PMPI_Type_size_x(element, &size);
    if (wants || (!replaces && op != MPI_NO_OP))
        result = place_read(place, room->there.at);
    if (result == MPI_SUCCESS && wants)
        result = typed_unpack(wanted, room->there.at, room->nbytes);
    if (result == MPI_SUCCESS && !replaces && op != MPI_NO_OP)
        result = reduce(room->from.at, room->there.at, room->given / size, element, op);
    if (result == MPI_SUCCESS && op != MPI_NO_OP)
        result = place_write(place, replaces ? room->from.at : room->there.at, room->given);
    return result;
}

/* By the origin's host: given NULL: nothing, with MPI_NO_OP; wanted NULL: nobody wants what was there. */
static int update_on_host(struct window *window, const struct window_there *there,
                          const struct place *place, const struct typed *given,
                          const struct typed *wanted, MPI_Op op)
{
    struct room room;
    int result = MPI_SUCCESS;

    if (!room_begin(&room, window_bytes_there(there), place_gpu(place)))
        return MPI_ERR_NO_MEM;
    room.given = given ? typed_bytes(given) : 0;
    if (given)
        result = typed_pack(given, room.from.at);
    if (result == MPI_SUCCESS)
        result = window_update_begin(window, there->rank);
    if (result == MPI_SUCCESS) {
        result = update(place, &room, wanted, element_of(there->type), op);
        window_update_end(window, there->rank);
    }
    room_end(&room);
    return result;
}

static int update_on_gpu(struct window *window, int rank, const struct window_on_gpu *call)
{
    int result = window_update_begin(window, rank);

    if (result == MPI_SUCCESS) {
        result = window_on_gpu_update(call);
        window_update_end(window, rank);
    }
    if (call->reduces)
        count_one(COUNT_ON_GPU);
    return result;
}

static int accumulate(struct window *window, const struct window_there *there,
                      const struct typed *given, const struct typed *wanted, MPI_Op op)
{
    const void *beside = given ? window_gpu_of(given) : NULL;
    struct window_on_gpu call;
    struct place place;
    int result;

    if (window_bytes_there(there) == 0)
        return MPI_SUCCESS;
    if (!beside && wanted)
        beside = window_gpu_of(wanted);
    result = place_begin(&place, window, there, beside);
    if (result != MPI_SUCCESS)
        return result;
    if (window_on_gpu_begin(&call, &place, given, wanted, element_of(there->type), op)) {
        result = update_on_gpu(window, there->rank, &call);
        window_on_gpu_end(&call);
    } else {
        result = update_on_host(window, there, &place, given, wanted, op);
    }
    place_end(&place);
    count_one(COUNT_ONE_SIDED);
    return result;
}

/* What the origin gives has to fit in the target, and what was there in the result. */
int window_accumulate(struct window *window, const struct window_there *there,
                      struct window_buffer from, struct window_buffer result, MPI_Op op)
{
    const MPI_Count nbytes = window_bytes_there(there);
    const bool gives = op != MPI_NO_OP, wants = result.type != MPI_DATATYPE_NULL;
    struct typed given, wanted;
    int status = window_enter(window, there->rank);

    if (status == MPI_SUCCESS && op == MPI_OP_NULL)
        status = MPI_ERR_OP;
    if (status == MPI_SUCCESS && gives)
        status = window_look_at(&given, &from);
    if (status == MPI_SUCCESS && wants)
        status = window_look_at(&wanted, &result);
    if (status != MPI_SUCCESS)
        return status;
    if ((gives && typed_bytes(&given) > nbytes) || (wants && nbytes > typed_bytes(&wanted)))
        return MPI_ERR_TRUNCATE;
    return accumulate(window, there, gives ? &given : NULL, wants ? &wanted : NULL, op);
}

/* ---- compare and swap */

#define SWAP_MOST 64 /* bytes of an element */

/* The buffers of a call, each of one element. */
struct swap {
    struct typed given, expected, wanted;
};

static int look_at_all(struct swap *swap, MPI_Datatype type, const void *from, const void *compare,
                       void *result)
{
    int status = window_look_at(&swap->given, &(struct window_buffer){from, 1, type});

    if (status == MPI_SUCCESS)
        status = window_look_at(&swap->expected, &(struct window_buffer){compare, 1, type});
    return status == MPI_SUCCESS
               ? window_look_at(&swap->wanted, &(struct window_buffer){result, 1, type})
               : status;
}

static int compare_and_swap(const struct place *place, const struct room *room,
                            const struct swap *swap, const char *expected)
{
    int status = place_read(place, room->there.at);

    if (status == MPI_SUCCESS)
        status = typed_unpack(&swap->wanted, room->there.at, room->nbytes);
    if (status == MPI_SUCCESS && memcmp(room->there.at, expected, (size_t)room->nbytes) == 0)
        status = place_write(place, room->from.at, room->nbytes);
    return status;
}

static int swap_on_host(struct window *window, int rank, const struct place *place,
                        const struct swap *swap, MPI_Count nbytes)
{
    char expected[SWAP_MOST];
    struct room room;
    int status;

    if (!room_begin(&room, nbytes, place_gpu(place)))
        return MPI_ERR_NO_MEM;
    status = typed_pack(&swap->given, room.from.at);
    if (status == MPI_SUCCESS)
        status = typed_pack(&swap->expected, expected);
    if (status == MPI_SUCCESS)
        status = window_update_begin(window, rank);
    if (status == MPI_SUCCESS) {
        status = compare_and_swap(place, &room, swap, expected);
        window_update_end(window, rank);
    }
    room_end(&room);
    return status;
}

static int swap_on_gpu(struct window *window, int rank, const struct window_swap *call,
                       const struct swap *swap)
{
    int status = window_update_begin(window, rank);

    if (status == MPI_SUCCESS) {
        status = window_swap_do(call);
        window_update_end(window, rank);
    }
    if (status == MPI_SUCCESS)
        status = window_swap_tell(call, &swap->wanted);
    count_one(COUNT_ON_GPU);
    return status;
}

int window_compare_and_swap(struct window *window, const struct window_there *there,
                            const void *from, const void *compare, void *result)
{
    const MPI_Count nbytes = window_bytes_there(there);
    int status = window_enter(window, there->rank);
    struct window_swap call;
    struct swap swap;
    struct place place;

    if (status == MPI_SUCCESS && nbytes > SWAP_MOST)
        status = MPI_ERR_TYPE;
    if (status == MPI_SUCCESS)
        status = look_at_all(&swap, there->type, from, compare, result);
    if (status == MPI_SUCCESS)
        status = place_begin(&place, window, there, NULL);
    if (status != MPI_SUCCESS)
        return status;
    if (window_swap_begin(&call, &place, &swap.expected, &swap.given)) {
        status = swap_on_gpu(window, there->rank, &call, &swap);
        window_swap_end(&call);
    } else {
        status = swap_on_host(window, there->rank, &place, &swap, nbytes);
    }
    place_end(&place);
    count_one(COUNT_ONE_SIDED);
    return status;
}
