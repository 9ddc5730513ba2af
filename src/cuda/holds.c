#include "cuda/holds.h"

#include <stdlib.h>

#include "cuda/shareable.h"

struct hold {
    struct hold *next;
    struct gpu *gpu;
    struct CUstream_st *stream; /* the latest; it may be no more */
    struct CUevent_st *event;
    bool busy;     /* between hold_begin and hold_end */
    bool recorded; /* well, the last time */
    bool pending;  /* the event was not seen yet */
};

static int held; /* streams, or how often */
static int late; /* messages */
static struct hold *holds;

static struct later {
    struct later *next;
    const struct gpu *gpu;
    cuda_address memory;
} *laters;

static bool is_over(struct hold *hold)
{
    bool entered;

    hold->pending = false;
    if (gpu_is_dead(hold->gpu))
        return true;
    entered = gpu_enter(hold->gpu);
    hold->pending = gpu_driver()->cuEventQuery(hold->event) == CUDA_NOT_READY;
    gpu_leave(entered);
    return !hold->pending;
}

bool gpu_is_held(void)
{
    if (held > 0)
        return true;
    for (struct hold *hold = holds; hold; hold = hold->next)
        if (hold->pending && !is_over(hold))
            return true;
    return false;
}

bool gpu_is_awaited(void)
{
    return held > 0;
}

bool gpu_puts_off(void)
{
    return late > 0 || gpu_is_held();
}

void gpu_free_now(const struct gpu *gpu, cuda_address memory)
{
    bool entered;

    if (gpu_is_dead(gpu))
        return;
    entered = gpu_enter(gpu);
    if (!shareable_close(memory))
        gpu_driver()->cuMemFree_v2(memory);
    gpu_leave(entered);
}

void gpu_free_late(void)
{
    while (laters && !gpu_is_held()) {
        struct later *later = laters;

        laters = later->next;
        gpu_free_now(later->gpu, later->memory);
        free(later);
    }
}

void gpu_free_laters(void)
{
    if (late == 0)
        gpu_free_late();
}

void gpu_hold(int more)
{
    held += more;
    gpu_free_laters();
}

void gpu_put_off(int more)
{
    late += more;
    gpu_free_laters();
}

void gpu_free(const struct gpu *gpu, cuda_address memory)
{
    struct later *later = gpu_puts_off() ? malloc(sizeof *later) : NULL;

    if (!later) {
        gpu_free_now(gpu, memory);
        return;
    }
    *later = (struct later){laters, gpu, memory};
    laters = later;
}

/* ---- streams */

static struct hold *make(struct gpu *gpu)
{
    struct hold *hold = calloc(1, sizeof *hold);
    bool entered = gpu_enter(gpu);
    int status = hold ? gpu_driver()->cuEventCreate(&hold->event, CUDA_EVENT_NO_TIMING)
                      : CUDA_OUT_OF_MEMORY;

    gpu_leave(entered);
    if (status != CUDA_OK) {
        free(hold);
        return NULL;
    }
    hold->gpu = gpu;
    hold->next = holds;
    holds = hold;
    return hold;
}

/* The stream's own, whose event then says more; else one whose event has come. */
static struct hold *find(const struct gpu *gpu, const struct CUstream_st *stream)
{
    struct hold *other = NULL;

    for (struct hold *hold = holds; hold; hold = hold->next) {
        if (hold->gpu != gpu || hold->busy)
            continue;
        if (hold->stream == stream)
            return hold;
        if (!hold->pending)
            other = hold;
    }
    return other;
}

struct hold *hold_begin(struct gpu *gpu, struct CUstream_st *stream)
{
    struct hold *hold = find(gpu, stream);

    if (!hold)
        hold = make(gpu);
    if (!hold)
        return NULL;
    hold->stream = stream;
    hold->busy = true;
    gpu_hold(1);
    return hold;
}

void hold_record(struct hold *hold)
{
    bool entered = gpu_enter(hold->gpu);

    hold->recorded = gpu_driver()->cuEventRecord(hold->event, hold->stream) == CUDA_OK;
    gpu_leave(entered);
}

void hold_end(struct hold *hold)
{
    hold->busy = false;
    hold->pending |= hold->recorded;
    gpu_hold(-1);
}

void holds_stop(void)
{
    while (holds) {
        struct hold *hold = holds;

        if (!gpu_is_dead(hold->gpu)) {
            bool entered = gpu_enter(hold->gpu);

            gpu_driver()->cuEventDestroy_v2(hold->event);
            gpu_leave(entered);
        }
        holds = hold->next;
        free(hold);
    }
    gpu_free_laters();
}
