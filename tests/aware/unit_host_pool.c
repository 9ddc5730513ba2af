/* Blocks of page-locked memory: none overlap, all come back, none is unlocked, and GPUBIND_PINNED_MEMORY, or a
 * share of what the node has available, is the most. */
#include "aware/memory/host_pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aware/memory/gpu_buffer.h"
#include "gpu/core/driver.h"
#include "tests/tap.h"

static size_t locked_bytes;
static int refuse_from = 1000, calls; /* the driver refuses this call and later ones */

/* ---- what stands below */

static int host_register(void *at, size_t nbytes, unsigned flags)
{
    (void)at, (void)flags;
    if (++calls >= refuse_from)
        return CUDA_OUT_OF_MEMORY;
    locked_bytes += nbytes;
    return CUDA_OK;
}

const struct cuda_driver *gpu_driver(void)
{
    static const struct cuda_driver driver = {.cuMemHostRegister_v2 = host_register};

    return &driver;
}

bool buffer_enter(const void *gpu, struct entered *entered)
{
    (void)entered;
    return gpu;
}

void buffer_leave(const struct entered *entered)
{
    (void)entered;
}

/* ---- tests */

enum { BLOCKS = 60, ROUNDS = 2000 };

struct held {
    struct host_block block;
    size_t nbytes;
    unsigned char value;
};

static bool holds(const struct held *held)
{
    const unsigned char *bytes = held->block.at;

    return bytes[0] == held->value && bytes[held->nbytes / 2] == held->value &&
           bytes[held->nbytes - 1] == held->value;
}

static size_t random_size(unsigned *seed)
{
    return 1 + (size_t)rand_r(seed) % ((size_t)1 << (1 + rand_r(seed) % 22));
}

/* Of each thread. NULL: all was well. */
static void *take_and_give(void *number)
{
    struct held held[BLOCKS] = {{{0}, 0, 0}};
    unsigned seed = *(unsigned *)number;
    void *bad = NULL;

    for (int i = 0; i < ROUNDS; i++) {
        struct held *one = &held[rand_r(&seed) % BLOCKS];

        if (one->nbytes) {
            if (!holds(one))
                bad = number;
            host_give(&one->block);
            one->nbytes = 0;
        } else {
            one->nbytes = random_size(&seed);
            one->value = (unsigned char)rand_r(&seed);
            if (!host_take(&one->block, one->nbytes, number) || one->block.nbytes < one->nbytes)
                return number;
            memset(one->block.at, one->value, one->nbytes);
        }
    }
    for (int i = 0; i < BLOCKS; i++)
        if (held[i].nbytes)
            host_give(&held[i].block);
    return bad;
}

static void test_threads(void)
{
    unsigned seeds[4] = {1, 2, 3, 4};
    pthread_t threads[4];
    bool good = true;

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, take_and_give, &seeds[i]);
    for (int i = 0; i < 4; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        good = good && !bad;
    }
    tap_ok(good, "blocks of four threads do not overlap");
    tap_ok(locked_bytes > 0 && locked_bytes <= (size_t)32 << 20, "at most 32 MiB are page-locked");
}

/* The largest blocks are whole again when all others were given back. */
static void test_whole(void)
{
    static const size_t sizes[] = {16 << 20, 8 << 20, 4 << 20, 2 << 20, 1 << 20};
    struct host_block blocks[5], more;
    bool all = true;
    int here = 1;

    for (int i = 0; i < 5; i++)
        all = host_take(&blocks[i], sizes[i], &here) && blocks[i].locked && all;
    tap_ok(all, "all of it in the largest blocks, after others");
    tap_ok(host_take(&more, 1, &here) && !more.locked, "then memory that is not page-locked");
    host_give(&more);
    for (int i = 0; i < 5; i++)
        host_give(&blocks[i]);
    tap_ok(host_take(&more, (16 << 20) + 1, &here) && !more.locked,
           "a block that is too large is not page-locked");
    host_give(&more);
}

/* In a process of its own, since the variable is read once. */
static int lock_with(const char *mib, size_t nbytes)
{
    struct host_block block;
    int here = 1, status = 0;
    const pid_t child = fork();

    if (child == 0) {
        if (mib)
            setenv("GPUBIND_PINNED_MEMORY", mib, 1);
        else
            unsetenv("GPUBIND_PINNED_MEMORY");
        _exit(host_take(&block, nbytes, &here) && block.locked);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static unsigned long long available_mib(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[128];
    unsigned long long kib = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib >> 10;
}

static void test_limit(void)
{
    tap_is_int(lock_with("0", 100), 0, "none");
    tap_is_int(lock_with("96", 40 << 20), 1, "64 of 96 MiB");
    tap_is_int(lock_with("96", 80 << 20), 0, "128 of 96 MiB");
    tap_is_int(lock_with("many", 16 << 20), 1, "no number: the default");
    tap_is_int(lock_with("many", ((size_t)1 << 30) + 1), 0, "which is less than 2 GiB");
    if (available_mib() < 16 * 64)
        tap_skip("64 MiB by default", "a node with less than 1 GiB of available memory");
    else
        tap_is_int(lock_with(NULL, 40 << 20), 1, "64 MiB by default");
}

static void test_refused(void)
{
    struct host_block block;
    int here = 1;

    refuse_from = 1;
    tap_ok(host_take(&block, 100, &here) && !block.locked, "the driver refuses: pageable memory");
    host_give(&block);
    refuse_from = 1000;
}

int main(void)
{
    test_limit();
    setenv("GPUBIND_PINNED_MEMORY", "32", 1);
    test_refused(); /* 1 MiB, for good */
    test_threads();
    test_whole();
    return tap_done();
}
