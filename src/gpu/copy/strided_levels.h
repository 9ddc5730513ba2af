/* Normal form of a strided buffer: levels of one element are removed, adjacent levels are merged,
 * and the end of the message is the end of the last level. */
#ifndef GPUBIND_GPU_COPY_STRIDED_LEVELS_H
#define GPUBIND_GPU_COPY_STRIDED_LEVELS_H

#include "gpu/copy/strided_copy.h"

#define STRIDED_LEVELS 4

/* Level 0 is n[0] bytes that lie together; n[k] elements of level k - 1, stride[k] bytes
 * apart, are one of level k. The message may end within an element of the last level. */
struct strided {
    gpu_address address;
    unsigned levels; /* 1: the message lies together */
    uint64_t n[STRIDED_LEVELS];
    int64_t stride[STRIDED_LEVELS]; /* stride[0]: 1 */
};

/* Normalizes the first nbytes (1 or more). false: the buffer has less. */
bool strided_of(const struct strided_buffer *buffer, uint64_t nbytes, struct strided *strided);
/* Where that byte of the message lies. */
gpu_address strided_address(const struct strided *strided, uint64_t byte);
/* The most bytes, of 16, 8, 4 and 1, that every copy between both may move at a time. */
unsigned strided_unit(const struct strided *to, const struct strided *from, uint64_t nbytes);

#define STRIDED_PAIR_LEVELS (2 * STRIDED_LEVELS)

/* Both ends of a copy with the same levels. */
struct strided_pair {
    gpu_address to, from;
    unsigned levels;
    uint64_t size[STRIDED_PAIR_LEVELS]; /* bytes of the message in one element of the level below;
                                    size[0]: 1 */
    int64_t to_stride[STRIDED_PAIR_LEVELS], from_stride[STRIDED_PAIR_LEVELS];
    uint64_t nbytes;
};

/* false: their runs do not divide each other. */
bool strided_pair_of(const struct strided *to, const struct strided *from, uint64_t nbytes,
                     struct strided_pair *pair);

#endif
