#include "gpu/exchange/signal_copy.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/core/kernels.h"
#include "gpu/core/waiting_blocks.h"
#include "gpu/exchange/signal_kernel.h"

#define PART_BYTES (64u << 10) /* the least that a block has under way */
#define PARTS 16u              /* of a copy */
#define PARTS_OF_ALL 64u

_Static_assert(sizeof(struct signal_kernel_job) <= 4096, "a kernel's parameters");
_Static_assert(sizeof(struct signal_kernel_shared) <= SIGNAL_SPACE_BYTES, "all of it");
_Static_assert(SIGNAL_COPIES == SIGNAL_KERNEL_ITEMS, "all of them");

bool signal_copy_is_good(const struct gpu *gpu, const struct signal_space *space, uint64_t nbytes)
{
    return nbytes <= (space->at ? PARTS * PART_BYTES : PART_BYTES) && gpu &&
           kernel_of(gpu, GPU_SIGNAL_KERNEL);
}

static unsigned parts_of(uint64_t nbytes, unsigned most)
{
    const uint64_t parts = (nbytes + PART_BYTES - 1) / PART_BYTES;

    return parts < 1 ? 1 : parts < most ? (unsigned)parts : most;
}

/* Parts of each of n copies. */
static unsigned share_of(const struct gpu *gpu, int n)
{
    const unsigned most = waiting_blocks_of_some(gpu);
    const unsigned share = (most < PARTS_OF_ALL ? most : PARTS_OF_ALL) / (unsigned)n;

    return share < 1 ? 1 : share < PARTS ? share : PARTS;
}

static bool only_waits(const struct signal_copy *copy)
{
    return copy->nbytes == 0 && !copy->set.at;
}

unsigned signal_copies_blocks(const struct gpu *gpu, const struct signal_copies *copies)
{
    const unsigned share = share_of(gpu, copies->n);
    unsigned blocks = 0, waits = 0;

    for (int i = copies->nsends; i < copies->n; i++)
        if (only_waits(&copies->copies[i]))
            waits = 1;
        else
            blocks += parts_of(copies->copies[i].nbytes, share);
    return blocks + waits;
}

static struct signal_kernel_item item_of(const struct signal_copy *copy)
{
    return (struct signal_kernel_item){.wait = (uintptr_t)copy->wait.at,
                                       .wait_value = copy->wait.value,
                                       .to = copy->to,
                                       .from = copy->from,
                                       .slot = copy->slot,
                                       .nbytes = (unsigned)copy->nbytes,
                                       .set = (uintptr_t)copy->set.at,
                                       .set_value = copy->set.value};
}

static void add_items(const struct gpu *gpu, struct signal_kernel_job *job,
                      const struct signal_copies *copies)
{
    const unsigned share = share_of(gpu, copies->n);

    job->n = job->parts = job->sent_parts = 0;
    for (int i = 0; i < copies->n; i++)
        if (!only_waits(&copies->copies[i])) {
            struct signal_kernel_item *item = &job->items[job->n++];

            *item = item_of(&copies->copies[i]);
            item->parts = (unsigned short)parts_of(item->nbytes, share);
            item->first_part = (unsigned short)job->parts;
            job->parts += item->parts;
            if (i < copies->nsends)
                job->sent_parts = job->parts;
        }
}

/* Behind all others: what delays them delays no copy. */
static void add_waits(struct signal_kernel_job *job, const struct signal_copies *copies)
{
    job->first_wait = job->n;
    for (int i = 0; i < copies->n; i++)
        if (only_waits(&copies->copies[i])) {
            job->items[job->n] = item_of(&copies->copies[i]);
            job->items[job->n++].first_part = (unsigned short)job->parts;
        }
    job->parts += job->n > job->first_wait;
}

/* A block that waits takes as much room from the application's kernels as it has threads. */
static unsigned threads_of(const struct signal_kernel_job *job)
{
    unsigned most = 0;

    for (unsigned i = 0; i < job->first_wait; i++)
        if (job->items[i].nbytes > most)
            most = job->items[i].nbytes;
    if (job->first_wait == 0)
        return SIGNAL_KERNEL_WAITERS;
    return most > SIGNAL_KERNEL_LITTLE ? SIGNAL_KERNEL_THREADS : SIGNAL_KERNEL_FEW;
}

int signal_copies(const struct gpu *gpu, gpu_stream stream, struct signal_space *space,
                  const struct signal_copies *copies)
{
    struct signal_kernel_job job;
    void *parameters[] = {&job};

    job.begin = (uintptr_t)copies->begin.at;
    job.begin_value = copies->begin.value;
    job.sent = (uintptr_t)copies->sent.at;
    job.sent_value = copies->sent.value;
    job.end = (uintptr_t)copies->end.at;
    job.end_value = copies->end.value;
    job.shared = space->at;
    job.turn = ++space->turn;
    add_items(gpu, &job, copies);
    add_waits(&job, copies);
    return gpu_kernel_launch(kernel_of(gpu, GPU_SIGNAL_KERNEL), job.parts, 1, 1, threads_of(&job),
                             1, 1, 0, stream, parameters, NULL);
}
