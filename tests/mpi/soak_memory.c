/* Where the soak's data lie: pieces of a few large allocations of all kinds, which are
 * freed and made again between rounds, or memory of their own. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/soak.h"

#define ARENA_BYTES ((size_t)6 << 20)
#define PAGE 4096

static const enum memory kinds[] = {
    MEMORY_DEVICE,  MEMORY_DEVICE, MEMORY_OURS,       MEMORY_HOST, MEMORY_POOL,
    MEMORY_MANAGED, MEMORY_PINNED, MEMORY_REGISTERED, MEMORY_VMM,  MEMORY_EXPORTABLE,
};
enum { ARENAS = sizeof kinds / sizeof kinds[0], ON_GPU = 3 /* the first ones */ };

static struct {
    struct buffer buffer;
    size_t used;
} arenas[ARENAS];

/* The device's where the driver does not have that kind. */
static void make(struct buffer *buffer, enum memory kind, size_t nbytes)
{
    if (buffer_make(buffer, kind, nbytes) != 0)
        need_buffer(buffer, MEMORY_DEVICE, nbytes);
}

void soak_memory_start(void)
{
    for (int i = 0; i < ARENAS; i++)
        make(&arenas[i].buffer, kinds[i], ARENA_BYTES);
}

void soak_memory_end(void)
{
    for (int i = 0; i < ARENAS; i++)
        buffer_clear(&arenas[i].buffer);
}

void soak_memory_rewind(void)
{
    for (int i = 0; i < ARENAS; i++)
        arenas[i].used = 0;
}

void soak_memory_change(uint64_t *own)
{
    for (int n = 1 + below(own, 3); n > 0; n--) {
        const int which = below(own, ARENAS);
        struct buffer *buffer = &arenas[which].buffer;

        if (buffer->kind != MEMORY_OURS && below(own, 2))
            succeeds(gpubind_release(buffer->at), "release of %s", memory_name(buffer->kind));
        buffer_clear(buffer);
        make(buffer, kinds[which], ARENA_BYTES - PAGE * (size_t)below(own, 64));
    }
}

static void take(struct slot *slot, int which, size_t offset, struct layout layout)
{
    const size_t nbytes = (layout.room + offset + BUFFER_GUARD + 15) / 16 * 16;
    struct buffer *arena = &arenas[which].buffer;

    *slot = (struct slot){.layout = layout};
    if (arenas[which].used + nbytes <= arena->nbytes) {
        slot->view = (struct buffer){arena->at + arenas[which].used + offset, layout.room,
                                     arena->kind};
        arenas[which].used += nbytes;
    } else {
        slot->alone = true;
        make(&slot->view, arena->kind, layout.room);
    }
    slot_blank(slot);
}

/* Integers lie where integers may. */
void slot_make(struct slot *slot, unsigned draw, struct layout layout)
{
    const int which = (int)(draw % ARENAS);
    const size_t offset = draw / ARENAS % 3 == 0 ? draw / ARENAS / 3 % 64 : 0;

    take(slot, which, layout.type == MPI_BYTE ? offset : offset / 4 * 4, layout);
}

void slot_make_on_gpu(struct slot *slot, struct layout layout)
{
    static int turn;

    take(slot, turn++ % ON_GPU, 0, layout);
}

void slot_clear(struct slot *slot)
{
    if (slot->alone)
        buffer_clear(&slot->view);
}

char *slot_at(const struct slot *slot)
{
    return slot->view.at + slot->layout.origin;
}

void slot_blank(const struct slot *slot)
{
    buffer_reset(&slot->view);
}

/* All bytes of a slot and its guard, with the first nbytes of data from seed. */
static char *image(const struct slot *slot, size_t nbytes, uint64_t seed)
{
    const struct layout *layout = &slot->layout;
    char *bytes = soak_zeros(1, layout->room + BUFFER_GUARD), *packed;
    int position = 0;

    memset(bytes, BUFFER_UNTOUCHED, layout->room + BUFFER_GUARD);
    if (!layout->derived || nbytes == 0) {
        bytes_of_seed(bytes, nbytes, seed);
        return bytes;
    }
    packed = soak_zeros(1, layout->nbytes);
    bytes_of_seed(packed, layout->nbytes, seed);
    MPI_Unpack(packed, (int)layout->nbytes, &position, bytes + layout->origin, layout->count,
               layout->type, MPI_COMM_SELF);
    free(packed);
    return bytes;
}

void slot_fill(const struct slot *slot, uint64_t seed)
{
    char *bytes = image(slot, slot->layout.nbytes, seed);

    gpu_put(slot->view.at, bytes, slot->layout.room);
    free(bytes);
}

/* The first byte that is wrong; -1 for none. */
static long long wrong_byte(const struct slot *slot, size_t nbytes, uint64_t seed)
{
    const size_t all = slot->layout.room + BUFFER_GUARD;
    char *wanted = image(slot, nbytes, seed), *got = soak_zeros(1, all);
    long long at = -1;

    gpu_get(got, slot->view.at, all);
    if (memcmp(wanted, got, all) != 0)
        for (at = 0; wanted[at] == got[at];)
            at++;
    free(wanted);
    free(got);
    return at;
}

bool slot_holds(const struct slot *slot, size_t nbytes, uint64_t seed)
{
    return wrong_byte(slot, nbytes, seed) < 0;
}

bool slot_expect(const struct slot *slot, size_t nbytes, uint64_t seed, const char *format, ...)
{
    const long long at = wrong_byte(slot, nbytes, seed);
    char what[160];
    va_list args;

    soak_count++;
    if (at < 0)
        return true;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return expect(false, "%s: %zu bytes%s into %s: byte %lld of %zu is wrong", what, nbytes,
                  slot->layout.derived ? " of a derived type" : "", memory_name(slot->view.kind),
                  at, slot->layout.room);
}

void slot_copy(const struct slot *to, const struct slot *from, struct CUstream_st *stream)
{
    if (from->layout.room)
        is_int(cuda.cuMemcpyDtoDAsync_v2((cuda_address)(uintptr_t)to->view.at,
                                         (cuda_address)(uintptr_t)from->view.at, from->layout.room,
                                         stream),
               CUDA_OK, "the copy of a slot");
}
