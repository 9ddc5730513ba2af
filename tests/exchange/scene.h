/* Messages between two processes, made up from a seed that both know. */
#ifndef GPUBIND_TESTS_EXCHANGE_SCENE_H
#define GPUBIND_TESTS_EXCHANGE_SCENE_H

#include "gpu/exchange/exchange.h"

#define SCENE_MESSAGES 48             /* at most, in either direction */
#define SCENE_BYTES ((size_t)3 << 20) /* in which they lie */
#define SCENE_PARTS 32                /* at most */

struct message {
    struct strided_buffer from, to; /* addresses: bytes from the start of the slot */
    uint64_t nbytes;
    unsigned parts;
    bool no_handshake;
};

struct scene {
    int n[2];    /* messages that rank 0 sends, and rank 1 */
    size_t slot; /* bytes in which one message's layout lies */
    struct message messages[2][SCENE_MESSAGES];
};

struct random {
    uint64_t state;
};

uint64_t random_below(struct random *random, uint64_t limit);
/* A few messages, or a crowd of short ones. */
void scene_make(struct random *random, struct scene *scene);
/* Where the message's byte lies in its slot, as the header says it: by counting. */
uint64_t layout_place(const struct strided_buffer *layout, uint64_t byte);
/* One line. */
void message_print(const struct message *message);

#endif
