/* Where the bytes of a message lie, of which types; the buffers; what a status says of them. */
#include <stdlib.h>
#include <string.h>

#include "tests/aware/direct.h"

enum { GAP = 3 }; /* elements */

static const char *const shapes[SHAPES] = {
    "a basic type", "a contiguous type", "a vector",        "an indexed type",
    "a struct",     "a resized type",    "permuted blocks", "a vector that runs backwards",
};

const char *shape_name(enum shape shape)
{
    return shapes[shape];
}

static void add_run(struct layout *layout, size_t at, size_t nbytes)
{
    layout->runs[layout->nruns].at = at;
    layout->runs[layout->nruns++].nbytes = nbytes;
    if (layout->span < at + nbytes)
        layout->span = at + nbytes;
}

/* The most blocks of equal size. */
static size_t blocks_of(size_t n)
{
    for (size_t blocks = RUNS; blocks > 1; blocks--)
        if (n >= blocks && n % blocks == 0)
            return blocks;
    return 1;
}

static void make_rows(struct layout *layout, size_t n, size_t element)
{
    const size_t blocks = blocks_of(n), length = n / blocks, stride = length + GAP;
    const bool backwards = layout->shape == BACKWARDS;

    for (size_t i = 0; i < blocks; i++)
        add_run(layout, (backwards ? blocks - 1 - i : i) * stride * element, length * element);
    if (backwards)
        layout->origin = layout->runs[0].at;
    MPI_Type_vector((int)blocks, (int)length, (backwards ? -1 : 1) * (int)stride, layout->element,
                    &layout->type);
}

static void make_resized(struct layout *layout, size_t n, size_t element)
{
    const size_t blocks = blocks_of(n), length = n / blocks, extent = (length + GAP) * element;
    MPI_Datatype block;

    for (size_t i = 0; i < blocks; i++)
        add_run(layout, i * extent, length * element);
    MPI_Type_contiguous((int)length, layout->element, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)extent, &layout->type);
    MPI_Type_free(&block);
    layout->count = (int)blocks;
}

/* Blocks of unequal lengths, some of them empty where there are few elements. */
static void make_blocks(struct layout *layout, size_t n, size_t element)
{
    enum { BLOCKS = 5 };
    static const int order[BLOCKS] = {2, 0, 4, 3, 1};
    const bool permuted = layout->shape == PERMUTED;
    int lengths[BLOCKS], displacements[BLOCKS], all_lengths[BLOCKS], all_displacements[BLOCKS];
    MPI_Aint bytes[BLOCKS];
    MPI_Datatype types[BLOCKS];
    size_t at = 0, left = n;

    for (int i = 0; i < BLOCKS; i++) {
        const size_t length = i == BLOCKS - 1 ? left : n * (size_t)(i + 1) / 16;

        all_lengths[i] = (int)length;
        all_displacements[i] = (int)at;
        at += length + (permuted ? 0 : GAP + (size_t)i);
        left -= length;
    }
    for (int i = 0; i < BLOCKS; i++) {
        const int which = permuted ? order[i] : i;

        lengths[i] = all_lengths[which];
        displacements[i] = all_displacements[which];
        bytes[i] = (MPI_Aint)((size_t)displacements[i] * element);
        types[i] = layout->element;
        add_run(layout, (size_t)bytes[i], (size_t)lengths[i] * element);
    }
    if (layout->shape == STRUCT)
        MPI_Type_create_struct(BLOCKS, lengths, bytes, types, &layout->type);
    else
        MPI_Type_indexed(BLOCKS, lengths, displacements, layout->element, &layout->type);
}

void layout_make(struct layout *layout, enum shape shape, MPI_Datatype element, size_t n)
{
    int size;

    MPI_Type_size(element, &size);
    *layout = (struct layout){.shape = shape, .element = element, .type = element, .count = 1};
    layout->nbytes = n * (size_t)size;
    switch (shape) {
    case BASIC:
        layout->count = (int)n;
        add_run(layout, 0, layout->nbytes);
        return;
    case CONTIGUOUS:
        MPI_Type_contiguous((int)n, element, &layout->type);
        add_run(layout, 0, layout->nbytes);
        break;
    case RESIZED:
        make_resized(layout, n, (size_t)size);
        break;
    case VECTOR:
    case BACKWARDS:
        make_rows(layout, n, (size_t)size);
        break;
    default:
        make_blocks(layout, n, (size_t)size);
    }
    MPI_Type_commit(&layout->type);
}

void layout_clear(struct layout *layout)
{
    if (layout->shape != BASIC)
        MPI_Type_free(&layout->type);
}

/* ---- buffers */

void place_make(struct place *place, enum memory kind, enum shape shape, MPI_Datatype element,
                size_t n)
{
    layout_make(&place->layout, shape, element, n);
    need_buffer(&place->buffer, kind, place->layout.span + 1);
    place->at = place->buffer.at + place->layout.origin;
}

void place_clear(struct place *place)
{
    buffer_clear(&place->buffer);
    layout_clear(&place->layout);
}

/* All of the buffer, guard included, with the first nbytes of the message; freed by the caller. */
static char *image_of(const struct place *place, size_t nbytes, uint64_t seed)
{
    const struct layout *layout = &place->layout;
    char *bytes = malloc(layout->nbytes + 1), *image = malloc(place->buffer.nbytes + BUFFER_GUARD);
    size_t done = 0;

    if (!bytes || !image)
        abort();
    bytes_of_seed(bytes, layout->nbytes, seed);
    memset(image, BUFFER_UNTOUCHED, place->buffer.nbytes + BUFFER_GUARD);
    for (size_t i = 0; i < layout->nruns && done < nbytes; i++) {
        const size_t left = nbytes - done, length = layout->runs[i].nbytes;

        memcpy(image + layout->runs[i].at, bytes + done, length < left ? length : left);
        done += length;
    }
    free(bytes);
    return image;
}

void place_fill(const struct place *place, uint64_t seed)
{
    char *image = image_of(place, place->layout.nbytes, seed);

    gpu_put(place->buffer.at, image, place->buffer.nbytes + BUFFER_GUARD);
    free(image);
}

bool place_holds(const struct place *place, size_t nbytes, uint64_t seed, const char *what)
{
    const size_t all = place->buffer.nbytes + BUFFER_GUARD;
    char *wanted = image_of(place, nbytes, seed), *got = malloc(all);
    size_t at = 0;

    if (!got)
        abort();
    gpu_get(got, place->buffer.at, all);
    if (memcmp(got, wanted, all) == 0)
        at = all;
    while (at < all && got[at] == wanted[at])
        at++;
    expect(at == all, "%s: %zu bytes, %s of %s: byte %zu of the buffer is %#x instead of %#x", what,
           nbytes, shapes[place->layout.shape], memory_name(place->buffer.kind), at,
           at < all ? (unsigned char)got[at] : 0, at < all ? (unsigned char)wanted[at] : 0);
    free(got);
    free(wanted);
    return at == all;
}

void status_says(MPI_Status *status, int source, int tag, size_t nbytes,
                 const struct layout *layout, const char *what)
{
    int size, count = -7, elements = -7, cancelled = -7;

    status_is(status, source, tag, (MPI_Count)nbytes, what);
    MPI_Test_cancelled(status, &cancelled);
    expect(cancelled == 0, "%s: MPI_Test_cancelled says %d", what, cancelled);
    MPI_Get_count(status, MPI_BYTE, &count);
    is_int(count, (long long)nbytes, "MPI_Get_count in bytes");
    if (!layout || layout->nbytes == 0)
        return;
    MPI_Type_size(layout->element, &size);
    if (nbytes % (size_t)size)
        return;
    MPI_Get_elements(status, layout->type, &elements);
    is_int(elements, (long long)nbytes / size, "MPI_Get_elements");
    MPI_Get_count(status, layout->element, &count);
    is_int(count, (long long)nbytes / size, "MPI_Get_count in elements");
    MPI_Get_count(status, layout->type, &count);
    MPI_Type_size(layout->type, &size);
    is_int(count, nbytes % (size_t)size ? MPI_UNDEFINED : (long long)nbytes / size,
           "MPI_Get_count in the receive's type");
}
