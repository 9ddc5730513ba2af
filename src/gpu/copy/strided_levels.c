#include "gpu/copy/strided_levels.h"

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many elements of size bytes hold nbytes. */
static uint64_t elements(uint64_t nbytes, uint64_t size)
{
    return (nbytes - 1) / size + 1;
}

bool strided_of(const struct strided_buffer *layout, uint64_t nbytes, struct strided *shape)
{
    uint64_t size = least(layout->run, nbytes); /* of an element of the last level */

    *shape = (struct strided){.address = layout->address, .levels = 1, .n = {size}, .stride = {1}};
    for (int i = 0; i < 3 && size && size < nbytes; i++) {
        const unsigned last = shape->levels - 1;
        const uint64_t n = least(layout->count[i], elements(nbytes, size));

        if (n <= 1)
            continue;
        if (layout->stride[i] == shape->stride[last] * (int64_t)shape->n[last]) {
            shape->n[last] *= n;
        } else {
            shape->n[shape->levels] = n;
            shape->stride[shape->levels] = layout->stride[i];
            shape->levels++;
        }
        size *= n;
    }
    if (shape->levels == 1)
        shape->n[0] = least(size, nbytes);
    return size >= nbytes;
}

gpu_address strided_address(const struct strided *shape, uint64_t byte)
{
    gpu_address at = shape->address;

    for (unsigned i = 0; i + 1 < shape->levels; i++) {
        at += (gpu_address)shape->stride[i] * (byte % shape->n[i]);
        byte /= shape->n[i];
    }
    return at + (gpu_address)shape->stride[shape->levels - 1] * byte;
}

static uint64_t all_of(const struct strided *shape)
{
    uint64_t all = shape->address;

    if (shape->levels > 1)
        all |= shape->n[0];
    for (unsigned i = 1; i < shape->levels; i++)
        all |= (uint64_t)shape->stride[i];
    return all;
}

unsigned strided_unit(const struct strided *to, const struct strided *from, uint64_t nbytes)
{
    const uint64_t all = all_of(to) | all_of(from) | nbytes;

    return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
}

/* A shape that is taken apart, from its innermost level. */
struct walk {
    const struct strided *shape;
    unsigned level;
    uint64_t left;  /* elements of the level, */
    int64_t stride; /* and bytes from one to the next; */
    bool endless;   /* the last level: the message's end ends it */
};

static void enter(struct walk *walk, unsigned level)
{
    walk->level = level;
    walk->left = walk->shape->n[level];
    walk->stride = walk->shape->stride[level];
    walk->endless = level + 1 == walk->shape->levels;
}

static void take(struct walk *walk, uint64_t n)
{
    walk->stride *= (int64_t)n;
    if (walk->endless)
        return;
    walk->left /= n;
    if (walk->left == 1)
        enter(walk, walk->level + 1);
}

bool strided_join(const struct strided *to, const struct strided *from, uint64_t nbytes,
                  struct strided_pair *joint)
{
    struct walk a = {.shape = to}, b = {.shape = from};
    uint64_t size = 1;

    *joint = (struct strided_pair){.to = to->address, .from = from->address, .nbytes = nbytes};
    enter(&a, 0);
    enter(&b, 0);
    for (;;) {
        const unsigned level = joint->levels++;
        uint64_t n;

        joint->size[level] = size;
        joint->to_stride[level] = a.stride;
        joint->from_stride[level] = b.stride;
        if (a.endless && b.endless)
            return true;
        n = a.endless ? b.left : b.endless ? a.left : least(a.left, b.left);
        if ((!a.endless && a.left % n) || (!b.endless && b.left % n))
            return false;
        take(&a, n);
        take(&b, n);
        size *= n;
    }
}
