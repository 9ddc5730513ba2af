#include "tests/mpi/random_type.h"

#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"

#define BLOCKS 6

static int any(uint64_t *state, int least, int most)
{
    return least + (int)(random_next(state) % (unsigned)(most - least + 1));
}

static MPI_Datatype vector_of(uint64_t *state, MPI_Datatype part)
{
    const int length = any(state, 1, 4), n = any(state, 1, 30);
    MPI_Aint lower, extent;
    MPI_Datatype type;

    MPI_Type_get_extent(part, &lower, &extent);
    switch (any(state, 0, 3)) {
    case 0: /* Open MPI 4.1.4 packs a stride of -1 as one of 1 */
        MPI_Type_vector(n, length, -any(state, length + 1, 9), part, &type);
        break;
    case 1:
        MPI_Type_create_hvector(n, length, any(state, length, 9) * extent + any(state, 0, 2) * 4,
                                part, &type);
        break;
    default:
        MPI_Type_vector(n, length, any(state, length, 9), part, &type);
        break;
    }
    return type;
}

/* Blocks at places that grow by more than their length, or (swapped) out of order. */
static MPI_Datatype listed(uint64_t *state, MPI_Datatype part)
{
    const int n = any(state, 1, BLOCKS), length = any(state, 1, 3), kind = any(state, 0, 4);
    int lengths[BLOCKS], places[BLOCKS], place = any(state, -3, 3);
    MPI_Aint lower, extent, addresses[BLOCKS];
    MPI_Datatype type, parts[BLOCKS];

    MPI_Type_get_extent(part, &lower, &extent);
    for (int i = 0; i < n; i++) {
        lengths[i] = kind < 2 ? length : any(state, i ? 0 : 1, 3);
        places[i] = place;
        addresses[i] = place * extent;
        parts[i] = part;
        place += (lengths[i] ? lengths[i] : 1) + any(state, 0, 4);
    }
    if (n > 1 && any(state, 0, 3) == 0 && lengths[0] == lengths[n - 1]) {
        places[0] = places[n - 1];
        places[n - 1] = (int)(addresses[0] / (extent ? extent : 1));
        addresses[0] = places[0] * extent;
        addresses[n - 1] = places[n - 1] * extent;
    }
    if (kind == 0)
        MPI_Type_create_indexed_block(n, length, places, part, &type);
    else if (kind == 1)
        MPI_Type_create_hindexed_block(n, length, addresses, part, &type);
    else if (kind == 2)
        MPI_Type_indexed(n, lengths, places, part, &type);
    else if (kind == 3)
        MPI_Type_create_hindexed(n, lengths, addresses, part, &type);
    else
        MPI_Type_create_struct(n, lengths, addresses, parts, &type);
    return type;
}

/* The same with one length and one distance, which is a vector by another name. */
static MPI_Datatype listed_evenly(uint64_t *state, MPI_Datatype part)
{
    const int n = any(state, 1, BLOCKS), length = any(state, 1, 3);
    const int step = (length + any(state, 0, 3)) * (any(state, 0, 3) ? 1 : -1);
    int lengths[BLOCKS], places[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < n; i++) {
        lengths[i] = length;
        places[i] = 2 + i * step;
    }
    if (any(state, 0, 1))
        MPI_Type_create_indexed_block(n, length, places, part, &type);
    else
        MPI_Type_indexed(n, lengths, places, part, &type);
    return type;
}

static MPI_Datatype subarray_of(uint64_t *state, MPI_Datatype part)
{
    const int n = any(state, 1, 3);
    int sizes[3], parts[3], starts[3];
    MPI_Datatype type;

    for (int d = 0; d < n; d++) {
        sizes[d] = any(state, 1, 8);
        parts[d] = any(state, 1, sizes[d]);
        starts[d] = any(state, 0, sizes[d] - parts[d]);
    }
    MPI_Type_create_subarray(n, sizes, parts, starts,
                             any(state, 0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, part, &type);
    return type;
}

static MPI_Datatype resized(uint64_t *state, MPI_Datatype part)
{
    MPI_Aint lower, extent;
    MPI_Datatype type;

    MPI_Type_get_extent(part, &lower, &extent);
    if (any(state, 0, 4) == 0) /* elements that overlap, perhaps */
        extent = extent / 2 / 8 * 8;
    MPI_Type_create_resized(part, lower - any(state, 0, 2) * 8, extent + any(state, 0, 3) * 8,
                            &type);
    return type;
}

static MPI_Datatype around(uint64_t *state, MPI_Datatype part)
{
    MPI_Datatype type;

    switch (any(state, 0, 8)) {
    case 0:
        MPI_Type_contiguous(any(state, 1, 20), part, &type);
        return type;
    case 1:
    case 2:
        return vector_of(state, part);
    case 3:
    case 4:
        return listed(state, part);
    case 5:
        return subarray_of(state, part);
    case 6:
        return listed_evenly(state, part);
    case 7:
        MPI_Type_dup(part, &type);
        return type;
    default:
        return resized(state, part);
    }
}

MPI_Datatype random_type(uint64_t *state, MPI_Datatype base)
{
    MPI_Datatype type = around(state, base), outer;

    for (int depth = any(state, 0, 2); depth > 0; depth--) {
        outer = around(state, type);
        MPI_Type_free(&type);
        type = outer;
    }
    MPI_Type_commit(&type);
    return type;
}

static bool is_inside(MPI_Datatype type, int count, size_t origin, size_t nbytes)
{
    MPI_Aint lower, extent, first, length, low, high;

    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &first, &length);
    low = first + (extent < 0 ? (count - 1) * extent : 0);
    high = first + length + (extent > 0 ? (count - 1) * extent : 0);
    return (MPI_Aint)origin + low >= 0 && (MPI_Aint)origin + high <= (MPI_Aint)nbytes;
}

static bool has_twice(const struct byte_map *map, size_t nbytes)
{
    char *seen = calloc(nbytes, 1);
    bool twice = false;

    for (size_t i = 0; i < map->n; i++) {
        twice |= seen[map->at[i]];
        seen[map->at[i]] = 1;
    }
    free(seen);
    return twice;
}

/* That byte of the numbers 0, 1, ... of nbytes bytes; kept for the next time. */
static const unsigned char *numbers_of(int byte, size_t nbytes)
{
    static unsigned char *numbers[3];
    static size_t made[3];

    if (nbytes <= made[byte])
        return numbers[byte];
    free(numbers[byte]);
    numbers[byte] = malloc(nbytes);
    for (size_t i = 0; i < nbytes; i++)
        numbers[byte][i] = (unsigned char)(i >> 8 * byte);
    made[byte] = nbytes;
    return numbers[byte];
}

/* Each byte of a buffer holds one byte of its number; packing tells where they went. */
bool byte_map_fill(struct byte_map *map, size_t most, MPI_Datatype type, int count, size_t origin,
                   size_t nbytes)
{
    unsigned char *packed;
    int size, position;

    MPI_Type_size(type, &size);
    map->n = (size_t)size * (size_t)count;
    if (map->n == 0 || map->n > most || !is_inside(type, count, origin, nbytes))
        return false;
    packed = malloc(map->n);
    memset(map->at, 0, map->n * sizeof *map->at);
    for (int byte = 0; byte < 3; byte++) {
        position = 0;
        MPI_Pack(numbers_of(byte, nbytes) + origin, count, type, packed, (int)map->n, &position,
                 MPI_COMM_SELF);
        for (size_t i = 0; i < map->n; i++)
            map->at[i] |= (uint32_t)packed[i] << 8 * byte;
    }
    free(packed);
    map->twice = has_twice(map, nbytes);
    return true;
}
