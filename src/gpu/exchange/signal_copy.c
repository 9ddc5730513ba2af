#include "gpu/exchange/signal_copy.h"

#include "gpu/core/gpu_calls.h"
#include "gpu/core/kernels.h"
#include "gpu/exchange/signal_kernel.h"

#define PART_BYTES (64u << 10) /* the least that a block has under way */
#define PARTS 16u              /* of a copy */
#define PARTS_OF_ALL 128u      /* waiting blocks take room from the application's kernels */

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

static void fill(struct signal_kernel_job *job, const struct signal_copies *copies)
{
    const unsigned share = PARTS_OF_ALL / (unsigned)copies->n;
    const unsigned most = share < PARTS ? share : PARTS;

    job->begin = (uintptr_t)copies->begin.at;
    job->begin_value = copies->begin.value;
    job->end = (uintptr_t)copies->end.at;
    job->end_value = copies->end.value;
    for (int i = 0; i < copies->n; i++) {
        const struct signal_copy *copy = &copies->copies[i];

        job->items[i] = (struct signal_kernel_item){.wait = (uintptr_t)copy->wait.at,
                                                    .wait_value = copy->wait.value,
                                                    .to = copy->to,
                                                    .from = copy->from,
                                                    .nbytes = copy->nbytes,
                                                    .set = (uintptr_t)copy->set.at,
                                                    .set_value = copy->set.value,
                                                    .parts = parts_of(copy->nbytes, most),
                                                    .first_part = job->parts};
        job->parts += job->items[i].parts;
    }
    job->n = (unsigned)copies->n;
}

int signal_copies(const struct gpu *gpu, gpu_stream stream, struct signal_space *space,
                  const struct signal_copies *copies)
{
    struct signal_kernel_job job;
    void *parameters[] = {&job};

    job.parts = 0;
    job.shared = space->at;
    job.turn = ++space->turn;
    fill(&job, copies);
    return gpu_kernel_launch(kernel_of(gpu, GPU_SIGNAL_KERNEL), job.parts, 1, 1,
                             SIGNAL_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL);
}
