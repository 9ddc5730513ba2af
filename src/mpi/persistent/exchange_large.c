#include "mpi/persistent/exchange_large.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/events.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/exchange/exchange_deferred.h"

struct exchange_large {
    struct exchange_large *next;
    struct exchange_deferred exchange;
    gpu_event event;
    bool queued, recorded;
};

static QUEUE_OF(struct exchange_large) all;

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
    struct gpubind_error unheard;

    for (int i = 0; i < large->exchange.nsends; i++)
        if (!exchange_deferred_send(&large->exchange, i, &sends[i]))
            return false;
    for (int i = 0; i < large->exchange.nreceives; i++)
        exchange_deferred_receive(&large->exchange, i, &receives[i], NULL, NULL, 0);
    return exchange_deferred_open(&large->exchange, &unheard) == 0;
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

    for (int i = 0; i < nsends; i++)
        nbytes[i] = sends[i].nbytes;
    if (!large || exchange_deferred_make(&large->exchange, gpu, nsends, nbytes, nreceives, blocks,
                                         &unheard) < 0) {
        free(large);
        return NULL;
    }
    if (take_event(large) && fill(large, sends, receives))
        return large;
    discard(large);
    return NULL;
}

struct exchange_large *exchange_large_make(struct gpu *gpu, gpu_stream stream,
                                           const struct exchange_send *sends, int nsends,
                                           const struct exchange_receive *receives, int nreceives,
                                           unsigned blocks)
{
    discard_those_over();
    if ((nsends <= KERNEL_SENDS && nreceives <= KERNEL_RECEIVES) || nsends > DEFERRED_MESSAGES ||
        nreceives > DEFERRED_MESSAGES || stream_is_green(stream) || !exchange_has_kernel(gpu))
        return NULL;
    return make(gpu, sends, nsends, receives, nreceives, blocks);
}

int exchange_large_queue(struct exchange_large *large, gpu_stream stream, struct gpubind_error *err)
{
    bool entered;

    if (exchange_deferred_queue(&large->exchange, stream, err) < 0)
        return -1;
    entered = gpu_enter(large->exchange.gpu);
    large->recorded = gpu_event_record(large->event, stream) == GPU_OK;
    gpu_leave(entered);
    large->queued = true;
    return 0;
}

void exchange_large_end(struct exchange_large *large)
{
    QUEUE_PUSH(&all, large, next);
}

void exchange_large_stop(void)
{
    struct exchange_large *large;

    while ((large = QUEUE_POP(&all, next)))
        discard(large);
}
