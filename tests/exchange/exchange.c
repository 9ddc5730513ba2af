/* Exchanges between two processes, on the simulated driver or on GPUs:
 *     exchange [ROUNDS [SEED]]
 * Each process has one GPU, the same where there is only one. Exit status 77: no GPU. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/kernels.h"
#include "gpu/exchange/gpu_flags.h"
#include "tests/exchange/side.h"
#include "tests/tap.h"

#define UNTOUCHED 0xA5
#define REPEATS 20
#define BROKEN 3

static unsigned char pattern(uint64_t salt, uint64_t at)
{
    const uint64_t mixed = (at + 1) * 0x9e3779b97f4a7c15u + salt * 0xc2b2ae3d27d4eb4fu;

    return (unsigned char)(mixed >> 40);
}

/* A process that is seldom where the other waits for it. */
static void dawdle(struct random *random)
{
    if (random_below(random, 2))
        usleep((unsigned)random_below(random, 1000));
}

static void fill(const struct side *side, uint64_t salt)
{
    static unsigned char bytes[SCENE_BYTES];
    const struct cuda_driver *cuda = gpu_driver();

    for (uint64_t i = 0; i < SCENE_BYTES; i++)
        bytes[i] = pattern(salt + (unsigned)side->rank, i);
    must(cuda->cuMemcpyHtoDAsync_v2(side->own.out, bytes, SCENE_BYTES, side->stream),
         "cuMemcpyHtoDAsync");
    must(cuda->cuMemsetD8Async(side->own.in, UNTOUCHED, SCENE_BYTES, side->stream),
         "cuMemsetD8Async");
    must(cuda->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
}

/* What came is what that rank has sent, and nothing else was written. */
static bool check(const struct side *side, const struct scene *scene, int sender, uint64_t salt)
{
    static unsigned char got[SCENE_BYTES], wanted[SCENE_BYTES];

    memset(wanted, UNTOUCHED, sizeof wanted);
    for (int m = 0; m < scene->n[sender]; m++) {
        const struct message *message = &scene->messages[sender][m];
        const uint64_t slot = (unsigned)m * scene->slot;

        for (uint64_t i = 0; i < message->nbytes; i++)
            wanted[slot + layout_place(&message->to, i)] = pattern(
                salt + (unsigned)sender, slot + layout_place(&message->from, i));
    }
    must(gpu_driver()->cuMemcpyDtoHAsync_v2(got, side->own.in, SCENE_BYTES, side->stream),
         "cuMemcpyDtoHAsync");
    must(gpu_driver()->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
    for (uint64_t i = 0; i < SCENE_BYTES; i++) {
        if (got[i] == wanted[i])
            continue;
        fprintf(stderr, "rank %d: byte %llu is %#x, wanted %#x; message %llu: ", side->rank,
                (unsigned long long)i, got[i], wanted[i], (unsigned long long)(i / scene->slot));
        message_print(&scene->messages[sender][i / scene->slot]);
        return false;
    }
    return true;
}

/* All words are as they were. */
static bool words_are_clear(const struct side *side)
{
    uint64_t words[SIDE_WORDS];
    bool clear = true;

    must(gpu_driver()->cuMemcpyDtoHAsync_v2(words, side->own.words, sizeof words, side->stream),
         "cuMemcpyDtoHAsync");
    must(gpu_driver()->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
    for (int i = 0; i < SIDE_WORDS; i++)
        clear &= words[i] == 0;
    return clear;
}

static bool both(const struct side *side, bool good)
{
    bool others;

    side_swap(side, &good, &others, sizeof good);
    return good && others;
}

/* More than one part only where both have the kernel, as the library does; now and then
 * against the library's custom. */
static void agree(const struct side *side, struct scene *scene)
{
    const bool mine = exchange_has_kernel(side->gpu);
    bool theirs;

    side_swap(side, &mine, &theirs, sizeof mine);
    for (int rank = 0; rank < 2 && !(mine && theirs); rank++)
        for (int i = 0; i < scene->n[rank]; i++)
            if (i % 3)
                scene->messages[rank][i].parts = 1;
}

static bool round_of(const struct side *side, uint64_t seed)
{
    struct random shared = {seed}, own = {seed + 77 + (unsigned)side->rank};
    struct scene scene;
    bool good;

    scene_make(&shared, &scene);
    fill(side, seed);
    kernels_allow(random_below(&own, 3) > 0);
    agree(side, &scene);
    dawdle(&own);
    side_exchange(side, &scene);
    good = check(side, &scene, !side->rank, seed);
    side_meet(side);
    return both(side, good && words_are_clear(side));
}

/* The same layouts, within a GPU. */
static bool copies_of(const struct side *side, uint64_t seed)
{
    struct random random = {seed + 7777 + (unsigned)side->rank};
    struct scene scene;

    scene_make(&random, &scene);
    kernels_allow(random_below(&random, 3) > 0);
    fill(side, seed);
    side_copy(side, &scene);
    return both(side, check(side, &scene, side->rank, seed));
}

static void rounds(const struct side *side, bool (*round)(const struct side *, uint64_t),
                   const char *what, int n, uint64_t seed)
{
    int good = 0;

    for (; good < n && round(side, seed); good++)
        seed += 1000003;
    if (side->rank)
        return;
    tap_ok(good == n, "%d %s of all shapes", n, what);
    if (good < n)
        tap_diag("the round with the seed %llu went wrong", (unsigned long long)seed);
}

/* The same exchange again and again, and nobody waits between. Each time the senders
 * have other bytes, and the receivers put away what they got. */
static void repeated(const struct side *side, uint64_t seed)
{
    const struct cuda_driver *cuda = gpu_driver();
    struct random random = {seed + 5};
    unsigned char seen[REPEATS] = {0};
    cuda_address log;
    struct scene scene;
    bool good = true;

    do
        scene_make(&random, &scene);
    while (!scene.n[0] || !scene.n[1] || !scene.messages[0][0].nbytes ||
           !scene.messages[1][0].nbytes);
    for (int rank = 0; rank < 2; rank++)
        for (int i = 0; i < scene.n[rank]; i++)
            scene.messages[rank][i].no_handshake = false;
    const struct message *first = &scene.messages[!side->rank][0];
    must(cuda->cuMemAlloc_v2(&log, REPEATS), "cuMemAlloc");
    side_meet(side);
    for (unsigned i = 0; i < REPEATS; i++) {
        must(
            cuda->cuMemsetD8Async(side->own.out, (unsigned char)(i + 1), SCENE_BYTES, side->stream),
            "cuMemsetD8Async");
        side_exchange(side, &scene);
        must(cuda->cuMemcpyDtoDAsync_v2(log + i,
                                        side->own.in + layout_place(&first->to, first->nbytes - 1),
                                        1, side->stream),
             "cuMemcpyDtoDAsync");
    }
    must(cuda->cuMemcpyDtoHAsync_v2(seen, log, REPEATS, side->stream), "cuMemcpyDtoHAsync");
    must(cuda->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
    for (unsigned i = 0; i < REPEATS; i++)
        good &= seen[i] == i + 1;
    side_meet(side);
    good = both(side, good && words_are_clear(side));
    must(cuda->cuMemFree_v2(log), "cuMemFree");
    if (!side->rank && !tap_ok(good, "%d exchanges in a row", REPEATS))
        tap_diag("seed %llu", (unsigned long long)seed);
}

static void write_words(const struct side *side, uint64_t value)
{
    struct gpubind_error err;

    must(gpu_flags_write(side->gpu, side->own.words, SIDE_WORDS, value, &err), "gpu_flags_write");
}

/* Rank 0 queues exchanges that rank 1 never begins, and breaks them. */
static void broken(const struct side *side, uint64_t seed)
{
    struct random random = {seed};
    struct scene scene;
    bool good = true;

    scene_make(&random, &scene);
    for (int i = 0; i < scene.n[0]; i++)
        scene.messages[0][i].no_handshake = false;
    agree(side, &scene);
    side_meet(side);
    if (side->rank == 0) {
        for (unsigned i = 0; i < BROKEN; i++)
            side_exchange(side, &scene);
        write_words(side, EXCHANGE_FLAG_BROKEN);
        good = gpu_driver()->cuStreamSynchronize(side->stream) == CUDA_OK;
    }
    side_meet(side);
    write_words(side, 0);
    good = both(side, good);
    if (side->rank == 0)
        tap_ok(good, "%d exchanges end that nobody answers, once their words are broken", BROKEN);
}

static int end_of_child(void)
{
    int status = 0;

    wait(&status);
    return status;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 100;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct side side;

    signal(SIGPIPE, SIG_IGN);
    side_fork(&side);
    alarm(100);
    if (side_start(&side, SCENE_BYTES) < 0)
        return 77;
    if (!side.rank)
        tap_diag("%s", exchange_has_kernel(side.gpu) ? "with the kernel" : "without the kernel");
    if (!side.rank && getenv("TEST_KERNEL"))
        tap_ok(exchange_has_kernel(side.gpu), "there is a kernel");
    rounds(&side, round_of, "exchanges", n, seed);
    rounds(&side, copies_of, "copies within a GPU", n, seed);
    kernels_allow(true);
    for (unsigned i = 0; i < 5; i++)
        repeated(&side, seed + i);
    broken(&side, seed);
    kernels_allow(false);
    broken(&side, seed + 1);
    side_end(&side);
    if (side.rank)
        return 0;
    tap_ok(end_of_child() == 0, "the other process ends well");
    return tap_done();
}
