#include "tests/exchange/scene.h"

#include <stdio.h>

uint64_t random_below(struct random *random, uint64_t limit)
{
    random->state ^= random->state << 13;
    random->state ^= random->state >> 7;
    random->state ^= random->state << 17;
    return (random->state >> 11) % limit;
}

static bool happens(struct random *random, unsigned in)
{
    return random_below(random, in) == 0;
}

/* 1 to 2^bits, small ones as often as large ones. */
static uint64_t some(struct random *random, unsigned bits)
{
    return 1 + random_below(random, (uint64_t)1 << random_below(random, bits + 1));
}

/* Counts whose product, times run, is n bytes or a little more. */
static void split(struct random *random, uint64_t n, struct strided_buffer *layout)
{
    uint64_t rows = (n + layout->run - 1) / layout->run;

    for (int i = 0; i < 2; i++) {
        layout->count[i] = happens(random, 3) ? 1 : (uint32_t)(1 + random_below(random, rows));
        rows = (rows + layout->count[i] - 1) / layout->count[i];
    }
    layout->count[2] = (uint32_t)rows;
}

/* Strides with gaps, in units; a level may run backwards. The extent, in bytes. */
static uint64_t spread(struct random *random, uint64_t unit, struct strided_buffer *layout)
{
    uint64_t extent = layout->run;

    layout->address = unit * random_below(random, 4) + (happens(random, 8) ? 1 : 0);
    for (int i = 0; i < 3; i++) {
        uint64_t stride = extent;

        if (happens(random, 2))
            stride += unit * random_below(random, 8);
        else if (i > 0 && layout->stride[i - 1] > 0 && happens(random, 2)) /* whole rows */
            stride = (stride + (uint64_t)layout->stride[i - 1] - 1) /
                     (uint64_t)layout->stride[i - 1] * (uint64_t)layout->stride[i - 1];
        extent = stride * (layout->count[i] - 1) + extent;
        layout->stride[i] = (int64_t)stride;
        if (happens(random, 8)) {
            layout->address += stride * (layout->count[i] - 1);
            layout->stride[i] = -layout->stride[i];
        }
    }
    return extent + 4 * unit + 1;
}

static void make_layout(struct random *random, uint64_t n, uint64_t unit, size_t slot,
                        struct strided_buffer *layout)
{
    do {
        layout->run = happens(random, 3) ? n : unit * some(random, 8);
        split(random, n, layout);
    } while (spread(random, unit, layout) > slot);
}

static void make_message(struct random *random, size_t slot, struct message *message)
{
    const uint64_t unit = (uint64_t)1 << random_below(random, 5);
    uint64_t n = unit * some(random, slot > SCENE_BYTES / SCENE_MESSAGES ? 14 : 10);

    message->nbytes = happens(random, 10) ? n - random_below(random, unit < n ? unit : n) : n;
    if (happens(random, 20))
        message->nbytes = 0;
    make_layout(random, n, unit, slot, &message->from);
    message->to = message->from;
    do {
        if (happens(random, 2))
            make_layout(random, n, unit, slot, &message->to);
    } while (spread(random, unit, &message->to) > slot);
    message->no_handshake = happens(random, 3);
    message->parts = happens(random, 4) ? 1 + (unsigned)random_below(random, SCENE_PARTS)
                                        : exchange_parts(message->nbytes);
}

void scene_make(struct random *random, struct scene *scene)
{
    const unsigned most = happens(random, 5) ? SCENE_MESSAGES : 6;

    scene->slot = SCENE_BYTES / most;
    for (int rank = 0; rank < 2; rank++) {
        scene->n[rank] = (int)random_below(random, most + 1);
        for (int i = 0; i < scene->n[rank]; i++)
            make_message(random, scene->slot, &scene->messages[rank][i]);
    }
}

uint64_t layout_place(const struct strided_buffer *layout, uint64_t byte)
{
    const uint64_t row = byte / layout->run, plane = row / layout->count[0];

    return layout->address + byte % layout->run +
           (uint64_t)layout->stride[0] * (row % layout->count[0]) +
           (uint64_t)layout->stride[1] * (plane % layout->count[1]) +
           (uint64_t)layout->stride[2] * (plane / layout->count[1]);
}

static void print_layout(const struct strided_buffer *layout)
{
    fprintf(stderr, "%llu + %llu", layout->address, (unsigned long long)layout->run);
    for (int i = 0; i < 3; i++)
        fprintf(stderr, " x %u / %lld", layout->count[i], (long long)layout->stride[i]);
}

void message_print(const struct message *message)
{
    fprintf(stderr, "%llu bytes in %u parts%s, from ", (unsigned long long)message->nbytes,
            message->parts, message->no_handshake ? ", no handshake" : "");
    print_layout(&message->from);
    fprintf(stderr, " to ");
    print_layout(&message->to);
    fprintf(stderr, "\n");
}
