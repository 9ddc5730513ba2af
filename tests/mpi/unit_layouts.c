/* Layouts of datatypes: each byte must be where the type has it. */
#include <stdlib.h>

#include "mpi/datatype/strided.h"
#include "tests/tap.h"

#define BYTES_MOST 4096
#define BLOCKS_MOST 1024

static struct type_block blocks[BLOCKS_MOST];
static struct type_blocks shape;
static uint64_t state = 1;

static int any(int least, int most)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (int)((state >> 33) % (uint64_t)(most - least + 1));
}

/* As a shape has them: blocks that touch are one. */
static void add(MPI_Aint at, size_t nbytes)
{
    struct type_block *last = shape.nblocks ? &blocks[shape.nblocks - 1] : NULL;

    shape.nbytes += nbytes;
    if (last && last->at + (MPI_Aint)last->nbytes == at)
        last->nbytes += nbytes;
    else
        blocks[shape.nblocks++] = (struct type_block){at, nbytes};
}

static void begin(void)
{
    shape = (struct type_blocks){.blocks = blocks};
}

/* The distance of each byte from the buffer; their number. */
static size_t bytes_of_shape(uint64_t count, int64_t *bytes)
{
    size_t n = 0;

    for (uint64_t i = 0; i < count; i++)
        for (int b = 0; b < shape.nblocks; b++)
            for (size_t j = 0; j < blocks[b].nbytes; j++)
                bytes[n++] = (int64_t)i * shape.extent + blocks[b].at + (int64_t)j;
    return n;
}

static size_t bytes_of_layout(const struct strided_buffer *l, int64_t *bytes)
{
    size_t n = 0;

    for (uint32_t z = 0; z < l->count[2]; z++)
        for (uint32_t y = 0; y < l->count[1]; y++)
            for (uint32_t x = 0; x < l->count[0]; x++)
                for (uint64_t j = 0; j < l->run && n < BYTES_MOST; j++)
                    bytes[n++] = (int64_t)l->address + (int64_t)z * l->stride[2] +
                                 (int64_t)y * l->stride[1] + (int64_t)x * l->stride[0] + (int64_t)j;
    return n;
}

static bool is_right(uint64_t count, const struct strided_buffer *layout)
{
    static int64_t wanted[BYTES_MOST], got[BYTES_MOST];
    size_t n = bytes_of_shape(count, wanted);

    return bytes_of_layout(layout, got) == n && memcmp(wanted, got, n * sizeof *got) == 0;
}

/* A block repeated along nlevels dimensions, at any distances. */
static void nest(int nlevels, size_t run)
{
    int counts[3] = {1, 1, 1}, at[3];
    MPI_Aint strides[3] = {0, 0, 0};
    const MPI_Aint start = any(-20, 20);

    begin();
    for (int l = 0; l < nlevels; l++) {
        counts[l] = any(1, 4);
        strides[l] = any(0, 3) ? any((int)run, 40) * (l ? 5 : 1) : (MPI_Aint)run;
        strides[l] *= any(0, 9) ? 1 : -1;
    }
    for (at[2] = 0; at[2] < counts[2]; at[2]++)
        for (at[1] = 0; at[1] < counts[1]; at[1]++)
            for (at[0] = 0; at[0] < counts[0]; at[0]++)
                add(start + at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2], run);
    shape.extent = any(0, 2) ? any(-100, 300) : (MPI_Aint)shape.nbytes;
}

static void random_regular(void)
{
    int refused = 0, wrong = 0, folded = 0;

    for (int i = 0; i < 20000; i++) {
        const int nlevels = any(0, 3);
        const uint64_t count = nlevels < 3 ? (uint64_t)any(1, 4) : 1;
        struct strided_buffer layout;

        nest(nlevels, (size_t)any(1, 8));
        if (!layout_of(&shape, count, &layout))
            refused++;
        else if (!is_right(count, &layout))
            wrong++;
        else
            folded += layout.run > blocks[0].nbytes;
    }
    tap_is_int(refused, 0, "blocks repeated along three dimensions are never refused");
    tap_is_int(wrong, 0, "and come as they are");
    tap_ok(folded > 100, "elements that touch are one run");
}

static void random_irregular(void)
{
    int wrong = 0, taken = 0;

    for (int i = 0; i < 20000; i++) {
        const uint64_t count = (uint64_t)any(1, 3);
        const int n = any(1, 6);
        MPI_Aint at = 0;
        struct strided_buffer layout;

        begin();
        for (int b = 0; b < n; b++) {
            add(at, (size_t)any(1, 2) * 4);
            at = blocks[shape.nblocks - 1].at + 4 * any(1, 4);
        }
        shape.extent = 4 * any(1, 20);
        if (layout_of(&shape, count, &layout)) {
            taken++;
            wrong += !is_right(count, &layout);
        }
    }
    tap_is_int(wrong, 0, "whatever is not refused comes as it is");
    tap_ok(taken > 100 && taken < 19000, "some are refused, some are not");
}

static void is_layout(uint64_t count, uint64_t run, uint32_t x, uint32_t y, uint32_t z,
                      const char *what)
{
    struct strided_buffer layout;

    if (!tap_ok(layout_of(&shape, count, &layout) && layout.run == run && layout.count[0] == x &&
                    layout.count[1] == y && layout.count[2] == z,
                "%s", what))
        tap_diag("run %llu, %u x %u x %u", (unsigned long long)layout.run, layout.count[0],
                 layout.count[1], layout.count[2]);
}

static void refuses(uint64_t count, const char *what)
{
    struct strided_buffer layout;

    tap_ok(!layout_of(&shape, count, &layout), "%s: refused", what);
}

static void known(void)
{
    begin();
    add(0, 8);
    shape.extent = 8;
    is_layout((uint64_t)1 << 40, (uint64_t)1 << 43, 1, 1, 1, "a dense type is a run");
    is_layout(0, 0, 1, 1, 1, "no element: no data");
    begin();
    shape.extent = 8;
    is_layout(5, 0, 1, 1, 1, "a type without data");

    begin();
    for (int i = 0; i < 100; i++)
        add(512 * i, 8);
    shape.extent = 99 * 512 + 8;
    is_layout(1, 8, 100, 1, 1, "a column");
    shape.extent = 8;
    is_layout(3, 8, 100, 3, 1, "three columns, one by one");
    shape.extent = 100 * 512;
    is_layout(3, 8, 300, 1, 1, "columns that follow each other are one");

    begin();
    add(0, 4);
    add(8, 4);
    shape.extent = 12;
    is_layout(7, 4, 2, 7, 1, "an element ends where the next begins");
    for (int i = 1; i < 7; i++) {
        add(12 * i, 4);
        add(12 * i + 8, 4);
    }
    shape.extent = 7 * 12;
    is_layout(1, 4, 2, 7, 1, "the same in one type, whose blocks have grown together");

    begin();
    add(16, 8);
    shape.extent = 8;
    is_layout(5, 40, 1, 1, 1, "a dense one that does not begin at the buffer");
    shape.extent = 24;
    refuses((uint64_t)1 << 33, "more elements than a count holds");

    begin();
    add(0, 4);
    add(8, 4);
    add(20, 4);
    shape.extent = 24;
    refuses(1, "other distances");
    begin();
    add(0, 8);
    add(16, 4);
    shape.extent = 24;
    refuses(1, "other lengths");
    begin();
    add(0, 1 << 30);
    add((MPI_Aint)2 << 30, 3);
    shape.extent = (MPI_Aint)3 << 30;
    refuses(1, "a long and a short block, without looking at each byte");
}

int main(void)
{
    known();
    random_regular();
    random_irregular();
    return tap_done();
}
