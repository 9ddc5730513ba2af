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

bool strided_of(const struct strided_buffer *buffer, uint64_t nbytes, struct strided *strided)
{
    uint64_t size = least(buffer->run, nbytes); /* of an element of the last level */

    *strided = (struct strided){
        .address = buffer->address, .levels = 1, .n = {size}, .stride = {1}};
    for (int i = 0; i < 3 && size && size < nbytes; i++) {
        const unsigned last = strided->levels - 1;
        const uint64_t n = least(buffer->count[i], elements(nbytes, size));

        if (n <= 1)
            continue;
        if (buffer->stride[i] == strided->stride[last] * (int64_t)strided->n[last]) {
            strided->n[last] *= n;
        } else {
            strided->n[strided->levels] = n;
            strided->stride[strided->levels] = buffer->stride[i];
            strided->levels++;
        }
        size *= n;
    }
    if (strided->levels == 1)
        strided->n[0] = least(size, nbytes);
    return size >= nbytes;
}

gpu_address strided_address(const struct strided *strided, uint64_t byte)
{
    gpu_address at = strided->address;

    for (unsigned i = 0; i + 1 < strided->levels; i++) {
        at += (gpu_address)strided->stride[i] * (byte % strided->n[i]);
        byte /= strided->n[i];
    }
    return at + (gpu_address)strided->stride[strided->levels - 1] * byte;
}

static uint64_t all_bits(const struct strided *strided)
{
    uint64_t all = strided->address;

    if (strided->levels > 1)
        all |= strided->n[0];
    for (unsigned i = 1; i < strided->levels; i++)
        all |= (uint64_t)strided->stride[i];
    return all;
}

unsigned strided_unit(const struct strided *to, const struct strided *from, uint64_t nbytes)
{
    const uint64_t all = all_bits(to) | all_bits(from) | nbytes;

    return all % 16 == 0 ? 16 : all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : 1;
}

/* Walks the levels of a strided buffer, from the innermost. */
struct walk {
    const struct strided *strided;
    unsigned level;
    uint64_t left;  /* elements of the level, */
    int64_t stride; /* and bytes from one to the next; */
    bool endless;   /* the last level: the message's end ends it */
};

static void enter(struct walk *walk, unsigned level)
{
    walk->level = level;
    walk->left = walk->strided->n[level];
    walk->stride = walk->strided->stride[level];
    walk->endless = level + 1 == walk->strided->levels;
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

bool strided_pair_of(const struct strided *to, const struct strided *from, uint64_t nbytes,
                     struct strided_pair *pair)
{
    struct walk a = {.strided = to}, b = {.strided = from};
    uint64_t size = 1;

    *pair = (struct strided_pair){.to = to->address, .from = from->address, .nbytes = nbytes};
    enter(&a, 0);
    enter(&b, 0);
    for (;;) {
        const unsigned level = pair->levels++;
        uint64_t n;

        pair->size[level] = size;
        pair->to_stride[level] = a.stride;
        pair->from_stride[level] = b.stride;
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
