/* Types of many small blocks: every way in which they can lie. */
#include "tests/aware/irregular.h"

#include <stdlib.h>
#include <string.h>

#include "examples/device.h"

#define BLOCKS 300 /* of a type */

/* ---- types; their data lies within half of ROOM on either side of an element */

MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype replaced(MPI_Datatype inner, MPI_Datatype type)
{
    MPI_Type_free(&inner);
    return committed(type);
}

/* step, and a little more at every third block: no two rows of three are at equal distances. */
static int place(int i, int step)
{
    return i * step + i / 3;
}

/* Blocks of 0 to 3 elements. */
static MPI_Datatype indexed(MPI_Datatype of)
{
    int lengths[BLOCKS], places[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = i % 4;
        places[i] = place(i, 5);
    }
    MPI_Type_indexed(BLOCKS, lengths, places, of, &type);
    return committed(type);
}

MPI_Datatype of_doubles(void)
{
    return indexed(MPI_DOUBLE);
}

MPI_Datatype of_bytes(void)
{
    return indexed(MPI_BYTE);
}

static MPI_Datatype of_shorts(void)
{
    return indexed(MPI_SHORT);
}

/* A hole in the middle or at the end of each. */
static MPI_Datatype of_pairs(void)
{
    return indexed(MPI_DOUBLE_INT);
}

static MPI_Datatype of_short_pairs(void)
{
    return indexed(MPI_SHORT_INT);
}

MPI_Datatype of_vectors(void)
{
    int lengths[BLOCKS];
    MPI_Aint places[BLOCKS];
    MPI_Datatype inner, type;

    MPI_Type_vector(7, 1, BLOCKS * 5, MPI_DOUBLE, &inner);
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1;
        places[i] = 16 * place(i, 1);
    }
    MPI_Type_create_hindexed(BLOCKS, lengths, places, inner, &type);
    return replaced(inner, type);
}

/* From the end on, on both sides of the element's address. */
static MPI_Datatype downwards(void)
{
    MPI_Aint places[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++)
        places[i] = 24 * (BLOCKS / 2) - 8 * place(i, 6);
    MPI_Type_create_hindexed_block(BLOCKS, 2, places, MPI_DOUBLE, &type);
    return committed(type);
}

/* A char, an int and a double, at odd addresses. */
static MPI_Datatype mixed(void)
{
    const int lengths[] = {3, 1, 2};
    const MPI_Aint places[] = {1, 7, 11};
    MPI_Datatype types[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE}, inner, apart, type;

    MPI_Type_create_struct(3, lengths, places, types, &inner);
    MPI_Type_create_resized(inner, 0, 29, &apart);
    MPI_Type_free(&inner);
    type = indexed(apart);
    MPI_Type_free(&apart);
    return type;
}

/* Elements begin within one another. */
static MPI_Datatype woven(void)
{
    int lengths[BLOCKS], places[BLOCKS];
    MPI_Datatype inner, type;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1;
        places[i] = 40 * place(i, 1);
    }
    MPI_Type_indexed(BLOCKS, lengths, places, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, 8, &type);
    return replaced(inner, type);
}

/* Elements of 12 bytes. */
static MPI_Datatype small(void)
{
    const int lengths[] = {1, 1}, places[] = {3, 0};
    MPI_Datatype inner, type;

    MPI_Type_indexed(2, lengths, places, MPI_INT, &inner);
    MPI_Type_contiguous(1, inner, &type);
    return replaced(inner, type);
}

/* Each element before the last one. */
static MPI_Datatype backwards(void)
{
    MPI_Datatype inner = small(), type;

    MPI_Type_create_resized(inner, 0, -24, &type);
    return replaced(inner, type);
}

static MPI_Datatype subarray(void)
{
    const int sizes[] = {30, 31, 32}, parts[] = {20, 21, 3}, starts[] = {3, 2, 5};
    MPI_Datatype type;

    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &type);
    return committed(type);
}

/* Rows that no copy of two dimensions takes. */
static MPI_Datatype rows_downwards(void)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(BLOCKS, 3, -40, MPI_LONG, &type);
    return committed(type);
}

const struct kind kinds[] = {
    {"blocks of doubles", of_doubles, 3},
    {"blocks of bytes", of_bytes, 20},
    {"blocks of shorts", of_shorts, 9},
    {"blocks of pairs", of_pairs, 2},
    {"blocks of pairs with a hole in the middle", of_short_pairs, 4},
    {"blocks of vectors", of_vectors, 1},
    {"blocks in decreasing order", downwards, 2},
    {"structs at odd addresses", mixed, 2},
    {"elements within one another", woven, 5},
    {"small elements", small, 1500},
    {"small elements in decreasing order", backwards, 1500},
    {"a subarray", subarray, 2},
    {"rows in decreasing order", rows_downwards, 2},
};
const int nkinds = sizeof kinds / sizeof *kinds;

/* ---- a buffer of each kind of memory */

void fill(char *bytes, int rank, int seed)
{
    for (int i = 0; i < ROOM; i++)
        bytes[i] = (char)((i * 7 + i / 251 + rank * 31 + seed * 13) % 255);
}

void make_buffers(struct buffers *b)
{
    b->out = device_alloc(ROOM);
    b->in = device_alloc(ROOM);
    b->sent = malloc(ROOM);
    b->got = malloc(ROOM);
    b->wanted = malloc(ROOM);
    b->packed = malloc(ROOM);
    if (!b->sent || !b->got || !b->wanted || !b->packed)
        abort();
}

void free_buffers(struct buffers *b)
{
    device_free(b->out);
    device_free(b->in);
    free(b->sent);
    free(b->got);
    free(b->wanted);
    free(b->packed);
}

void expect(struct buffers *b, int from, MPI_Datatype sends, int nsend, MPI_Datatype gets, int nget,
            int seed)
{
    int at = 0, size;

    fill(b->sent, from, seed);
    memset(b->packed, 'x', ROOM);
    MPI_Pack(b->sent + START, nsend, sends, b->packed, ROOM, &at, MPI_COMM_SELF);
    MPI_Type_size(gets, &size);
    at = 0;
    memset(b->wanted, 'x', ROOM);
    MPI_Unpack(b->packed, nget * size, &at, b->wanted + START, nget, gets, MPI_COMM_SELF);
}

int difference(const struct buffers *b)
{
    for (int i = 0; i < ROOM; i++)
        if (b->got[i] != b->wanted[i])
            return i;
    return -1;
}

void begin(struct buffers *b, int rank, int seed)
{
    fill(b->sent, rank, seed);
    device_write(b->out, b->sent, ROOM);
    memset(b->got, 'x', ROOM);
    device_write(b->in, b->got, ROOM);
}
