#include "gpu/exchange/exchange_launch.h"

#include <string.h>

#include "gpu/copy/strided_launch.h"

_Static_assert(sizeof(struct exchange_kernel_job) <= 4096, "a kernel's parameters");

/* Fills the argument of one launch. */
struct builder {
    struct exchange_kernel_job job;
    unsigned nstrided, parts;
};

static void reset(struct builder *builder)
{
    builder->job.nsends = builder->job.nreceives = 0;
    builder->job.posts = builder->job.waits = 0;
    builder->nstrided = builder->parts = 0;
}

/* The index of the levels in the job; messages to several peers often share theirs. */
static unsigned short index_of_strided(struct builder *builder, const struct strided *strided,
                                       unsigned unit)
{
    struct kernel_levels levels;
    unsigned i = 0;

    kernel_levels_of(strided, unit, &levels);
    while (i < builder->nstrided && memcmp(&builder->job.strided[i], &levels, sizeof levels) != 0)
        i++;
    if (i == builder->nstrided)
        builder->job.strided[builder->nstrided++] = levels;
    return (unsigned short)i;
}

/* false: the job is full. */
static bool add_send(struct builder *builder, const struct exchange_send *send)
{
    struct strided to, from;
    struct kernel_copy copy;

    if (builder->job.nsends == KERNEL_SENDS || builder->nstrided + 2 > KERNEL_STRIDED)
        return false;
    strided_of(&send->to, send->nbytes, &to);
    strided_of(&send->from, send->nbytes, &from);
    copy = kernel_copy_of(&to, &from, send->nbytes, send->parts);
    if (to.levels > 1 || from.levels > 1) {
        copy.unit = (unsigned short)strided_unit(&to, &from, send->nbytes);
        copy.to_levels = index_of_strided(builder, &to, copy.unit);
        copy.from_levels = index_of_strided(builder, &from, copy.unit);
    }
    builder->job.sends[builder->job.nsends++] = (struct kernel_send){
        .copy = copy, .ready = send->no_handshake ? 0 : send->ready, .done = send->done};
    builder->parts += send->parts;
    return true;
}

/* As many sends as there is room for; returns how many. */
static int add_sends(struct builder *builder, const struct exchange_send *sends, int n)
{
    int added = 0;

    while (added < n && add_send(builder, &sends[added]))
        added++;
    return added;
}

static int add_receives(struct builder *builder, const struct exchange_receive *receives, int n)
{
    int added = 0;

    for (; added < n && added < KERNEL_RECEIVES; added++)
        builder->job.receives[added] = (struct kernel_receive){
            .ready = receives[added].no_handshake ? 0 : receives[added].ready,
            .done = receives[added].done,
            .parts = receives[added].parts};
    builder->job.nreceives = (unsigned)added;
    return added;
}

static int launch(const struct exchange *exchange, gpu_function kernel, struct builder *builder)
{
    const unsigned wanted = exchange_blocks(exchange->gpu, builder->parts, builder->job.nreceives);
    const unsigned blocks = wanted < exchange->blocks ? wanted : exchange->blocks;
    void *parameters[] = {&builder->job};

    builder->job.several = builder->parts > blocks;
    return gpu_driver()->cuLaunchKernel(kernel, blocks, 1, 1, EXCHANGE_KERNEL_THREADS, 1, 1, 0,
                                        exchange->stream, parameters, NULL);
}

static int launch_receives(const struct exchange *exchange, gpu_function kernel,
                           struct builder *builder, bool posts)
{
    int status = GPU_OK;

    for (int i = 0; i < exchange->nreceives && status == GPU_OK;) {
        reset(builder);
        i += add_receives(builder, exchange->receives + i, exchange->nreceives - i);
        builder->job.posts = posts;
        builder->job.waits = !posts;
        status = launch(exchange, kernel, builder);
    }
    return status;
}

/* More than one launch has room for: no send or receive may wait before all receives are posted. The sends of a launch
 * wait for the receivers of those before; callers for which that matters have exchange_deferred.h. */
static int launch_separately(const struct exchange *exchange, gpu_function kernel,
                             struct builder *builder)
{
    int status = launch_receives(exchange, kernel, builder, true);

    for (int i = 0; i < exchange->nsends && status == GPU_OK;) {
        reset(builder);
        i += add_sends(builder, exchange->sends + i, exchange->nsends - i);
        status = launch(exchange, kernel, builder);
    }
    return status == GPU_OK ? launch_receives(exchange, kernel, builder, false) : status;
}

int exchange_by_kernel(const struct exchange *exchange, gpu_function kernel)
{
    struct builder builder;

    if (exchange->nsends == 0 && exchange->nreceives == 0)
        return GPU_OK;
    reset(&builder);
    if (add_sends(&builder, exchange->sends, exchange->nsends) < exchange->nsends ||
        add_receives(&builder, exchange->receives, exchange->nreceives) < exchange->nreceives)
        return launch_separately(exchange, kernel, &builder);
    builder.job.posts = builder.job.waits = 1;
    return launch(exchange, kernel, &builder);
}
