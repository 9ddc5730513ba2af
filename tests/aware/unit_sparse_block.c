/* Memory in the place of scattered blocks: each byte of them has one, whatever their order and number, and what else is
 * mapped. */
#include "aware/memory/sparse_block.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/tap.h"

#define TIB ((uintptr_t)1 << 40)

static unsigned char *there(const struct sparse_block *block, uintptr_t at)
{
    return (unsigned char *)(at + block->shift);
}

static void add(struct sparse_block *block, uintptr_t at, size_t nbytes)
{
    sparse_add(block, (const void *)at, nbytes);
}

static void far_apart(void)
{
    static const uintptr_t places[] = {100 * TIB + 4090, 3 * TIB, 90 * TIB, 100 * TIB + 8000};
    struct sparse_block block;
    bool right = true;

    sparse_begin(&block);
    for (int i = 0; i < 4; i++)
        add(&block, places[i], 10);
    tap_ok(sparse_map(&block), "blocks that are 97 TiB apart have places");
    tap_ok(block.n == 3, "neighbours share one range");
    for (int i = 0; i < 4; i++)
        memset(there(&block, places[i]), i + 1, 10);
    for (int i = 0; i < 4; i++)
        right = right && *there(&block, places[i]) == i + 1 && there(&block, places[i])[9] == i + 1;
    tap_ok(right, "each has its own place");
    sparse_give(&block);
}

/* Backwards, each in another page: more than there may be ranges. */
static void many(uintptr_t distance, const char *what)
{
    enum { N = 20000 };
    const uintptr_t first = 3 * TIB;
    struct sparse_block block;
    bool right = true;

    sparse_begin(&block);
    for (int i = N - 1; i >= 0; i--)
        add(&block, first + (uintptr_t)i * distance, 8);
    tap_ok(sparse_map(&block) && block.n <= 1024, "%s: %d ranges", what, block.n);
    for (int i = 0; i < N; i++)
        memcpy(there(&block, first + (uintptr_t)i * distance), &i, sizeof i);
    for (int i = 0; i < N; i++)
        right = right && memcmp(there(&block, first + (uintptr_t)i * distance), &i, sizeof i) == 0;
    tap_ok(right, "%s: each block has its own place", what);
    sparse_give(&block);
}

static void twice(void)
{
    const uintptr_t places[] = {(uintptr_t)&places, (uintptr_t)malloc};
    struct sparse_block first, second;
    bool mapped;

    sparse_begin(&first);
    sparse_begin(&second);
    for (int i = 0; i < 2; i++) {
        add(&first, places[i], 8);
        add(&second, places[1 - i], 8);
    }
    mapped = sparse_map(&first) && sparse_map(&second);
    tap_ok(mapped && first.shift != second.shift && first.shift != 0 && second.shift != 0,
           "the same blocks twice have two places");
    sparse_give(&second);
    sparse_give(&first);
}

static void empty(void)
{
    struct sparse_block block;

    sparse_begin(&block);
    add(&block, 3 * TIB, 0);
    tap_ok(sparse_map(&block) && block.n == 0, "no bytes take no place");
    sparse_give(&block);
}

/* Last: the limit stays. */
static void limited(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    tap_skip("address space of 4 GiB", "sanitizers take more");
#else
    const struct rlimit limit = {(size_t)1 << 32, (size_t)1 << 32};
    struct sparse_block block;

    if (setrlimit(RLIMIT_AS, &limit) < 0) {
        tap_skip("address space of 4 GiB", "it cannot be limited");
        return;
    }
    sparse_begin(&block);
    add(&block, 3 * TIB, 8);
    add(&block, 90 * TIB, 8);
    tap_ok(sparse_map(&block), "address space of 4 GiB is enough");
    sparse_give(&block);
    add(&block, 3 * TIB, (size_t)1 << 33);
    tap_ok(!sparse_map(&block), "not for a block of 8 GiB");
    sparse_give(&block);
#endif
}

int main(void)
{
    far_apart();
    many((uintptr_t)4096, "pages");
    many((uintptr_t)1 << 24, "16 MiB apart");
    many((uintptr_t)1 << 31, "2 GiB apart");
    twice();
    empty();
    limited();
    return tap_done();
}
