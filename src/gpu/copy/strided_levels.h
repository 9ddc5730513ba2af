/* A layout without what a copy does not need: levels of one element are gone, adjacent
 * ones are joined, and what lies behind the message's last byte is cut off. */
#ifndef GPUBIND_GPU_COPY_STRIDED_LEVELS_H
#define GPUBIND_GPU_COPY_STRIDED_LEVELS_H

#include "gpu/copy/strided_copy.h"

#define SHAPE_LEVELS 4

/* Level 0 is n[0] bytes that lie together; n[k] elements of level k - 1, stride[k] bytes
 * apart, are one of level k. The message may end within an element of the last level. */
struct shape {
    gpu_address address;
    unsigned levels; /* 1: the message lies together */
    uint64_t n[SHAPE_LEVELS];
    int64_t stride[SHAPE_LEVELS]; /* stride[0]: 1 */
};

/* Of the first nbytes (1 or more). false: the layout has less. */
bool shape_of(const struct layout *layout, uint64_t nbytes, struct shape *shape);
/* Where that byte of the message lies. */
gpu_address shape_address(const struct shape *shape, uint64_t byte);
/* The most bytes, of 16, 8, 4 and 1, that every copy between both may move at a time. */
unsigned shape_unit(const struct shape *to, const struct shape *from, uint64_t nbytes);

#define JOINT_LEVELS (2 * SHAPE_LEVELS)

/* Both ends of a copy with the same levels. */
struct joint_shape {
    gpu_address to, from;
    unsigned levels;
    uint64_t size[JOINT_LEVELS]; /* bytes of the message in one element of the level below;
                                    size[0]: 1 */
    int64_t to_stride[JOINT_LEVELS], from_stride[JOINT_LEVELS];
    uint64_t nbytes;
};

/* false: their runs do not divide each other. */
bool shape_join(const struct shape *to, const struct shape *from, uint64_t nbytes,
                struct joint_shape *joint);

#endif
