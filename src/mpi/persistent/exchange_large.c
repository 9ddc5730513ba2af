#include "mpi/persistent/exchange_large.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/events.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/page_locked.h"
#include "gpu/exchange/exchange_deferred.h"

/* Room for a job: it is written in page-locked memory, and copied by the stream that does it. */
struct job_memory {
    struct job_memory *next;
    struct gpu *gpu;
    gpu_address at;
    char *host;
};

struct exchange_large {
    struct exchange_large *next;
    struct exchange_deferred exchange;
    struct job_memory *memory;
    size_t nbytes; /* of the job */
    gpu_event event;
    bool queued, recorded;
};

static QUEUE_OF(struct exchange_large) all;
static QUEUE_OF(struct job_memory) unused; /* kept for later starts */

static bool allocate(struct job_memory *memory)
{
    struct gpubind_error unheard;
    const bool entered = gpu_enter(memory->gpu);

    gpu_agents_leave();
    if (gpu_mem_alloc(&memory->at, exchange_deferred_most()) == GPU_OK)
        memory->host = page_locked(exchange_deferred_most(), &unheard);
    gpu_leave(entered);
    if (memory->at && !memory->host)
        gpu_free_deferred(memory->gpu, memory->at);
    return memory->host != NULL;
}

static struct job_memory *take_memory(struct gpu *gpu)
{
    struct job_memory *memory;

    for (struct job_memory **link = &unused.first; (memory = *link); link = &memory->next)
        if (memory->gpu == gpu) {
            QUEUE_UNLINK(&unused, link, next);
            return memory;
        }
    memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->gpu = gpu;
    if (allocate(memory))
        return memory;
    free(memory);
    return NULL;
}

/* With a context its memory is gone. */
static void give_memory(struct job_memory *memory)
{
    if (gpu_is_dead(memory->gpu))
        free(memory);
    else
        QUEUE_PUSH(&unused, memory, next);
}

static bool is_over(const struct exchange_large *large)
{
    struct gpu *gpu = large->exchange.gpu;
    bool entered, over;

    if (!large->queued || gpu_is_dead(gpu))
        return true;
    if (!large->recorded) /* nobody knows */
        return false;
    entered = gpu_enter(gpu);
    over = gpu_event_query(large->event) != GPU_NOT_READY;
    gpu_leave(entered);
    return over;
}

static void discard(struct exchange_large *large)
{
    struct gpu *gpu = large->exchange.gpu;

    if (large->event && !gpu_is_dead(gpu)) {
        const bool entered = gpu_enter(gpu);

        event_give(gpu, large->event);
        gpu_leave(entered);
    }
    exchange_deferred_free(&large->exchange);
    if (large->memory)
        give_memory(large->memory);
    free(large);
}

static void discard_those_over(void)
{
    struct exchange_large **link = &all.first;

    while (*link) {
        struct exchange_large *large = *link;

        if (is_over(large)) {
            QUEUE_UNLINK(&all, link, next);
            discard(large);
        } else {
            link = &large->next;
        }
    }
}

static bool fill(struct exchange_large *large, const struct exchange_send *sends,
                 const struct exchange_receive *receives)
{
    for (int i = 0; i < large->exchange.nsends; i++)
        if (!exchange_deferred_send(&large->exchange, i, &sends[i], false))
            return false;
    for (int i = 0; i < large->exchange.nreceives; i++)
        exchange_deferred_receive(&large->exchange, i, &receives[i], NULL, NULL, 0);
    large->nbytes = exchange_deferred_write(&large->exchange, large->memory->host);
    return true;
}

static bool take_event(struct exchange_large *large)
{
    struct gpu *gpu = large->exchange.gpu;
    const bool entered = gpu_enter(gpu);
    const int status = event_take(gpu, &large->event);

    gpu_leave(entered);
    if (status != GPU_OK)
        large->event = NULL;
    return status == GPU_OK;
}

static struct exchange_large *make(struct gpu *gpu, const struct exchange_send *sends, int nsends,
                                   const struct exchange_receive *receives, int nreceives,
                                   unsigned blocks)
{
    struct exchange_large *large = calloc(1, sizeof *large);
    struct gpubind_error unheard;
    uint64_t nbytes[DEFERRED_MESSAGES];

    if (!large)
        return NULL;
    for (int i = 0; i < nsends; i++)
        nbytes[i] = sends[i].nbytes;
    large->exchange.gpu = gpu;
    large->memory = take_memory(gpu);
    if (large->memory &&
        exchange_deferred_make(&large->exchange, gpu, nsends, nbytes, nreceives, blocks,
                               large->memory->at, &unheard) == 0 &&
        take_event(large) && fill(large, sends, receives))
        return large;
    discard(large);
    return NULL;
}

struct exchange_large *exchange_large_make(struct gpu *gpu, gpu_stream stream,
                                           const struct exchange_send *sends, int nsends,
                                           const struct exchange_receive *receives, int nreceives,
                                           unsigned blocks)
{
    if ((nsends <= KERNEL_SENDS && nreceives <= KERNEL_RECEIVES) || nsends > DEFERRED_MESSAGES ||
        nreceives > DEFERRED_MESSAGES || stream_is_green(stream) || !exchange_has_kernel(gpu))
        return NULL;
    discard_those_over();
    return make(gpu, sends, nsends, receives, nreceives, blocks);
}

int exchange_large_queue(struct exchange_large *large, gpu_stream stream, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (exchange_deferred_copy(&large->exchange, large->memory->host, large->nbytes, stream, err) <
        0)
        return -1;
    large->queued = true; /* from here on the stream reads the memory */
    status = exchange_deferred_queue(&large->exchange, stream, err);
    entered = gpu_enter(large->exchange.gpu);
    large->recorded = gpu_event_record(large->event, stream) == GPU_OK;
    gpu_leave(entered);
    return status;
}

void exchange_large_end(struct exchange_large *large)
{
    QUEUE_PUSH(&all, large, next);
}

void exchange_large_stop(void)
{
    struct exchange_large *large;
    struct job_memory *memory;

    while ((large = QUEUE_POP(&all, next)))
        discard(large);
    while ((memory = QUEUE_POP(&unused, next))) {
        gpu_free_now(memory->gpu, memory->at);
        free(memory);
    }
}
