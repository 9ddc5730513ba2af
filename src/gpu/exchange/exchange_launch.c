#include "gpu/exchange/exchange_launch.h"

#include <string.h>

#include "gpu/copy/strided_launch.h"

_Static_assert(sizeof(struct exchange_kernel_job) <= 4096, "a kernel's parameters");

/* A job that is being filled. */
struct filling {
    struct exchange_kernel_job job;
    unsigned nshapes, parts;
};

static void empty(struct filling *filling)
{
    filling->job.nsends = filling->job.nreceives = 0;
    filling->job.posts = filling->job.waits = 0;
    filling->nshapes = filling->parts = 0;
}

/* The shape's number; messages to several peers often have the same one. */
static unsigned char number_of(struct filling *filling, const struct strided *shape, unsigned unit)
{
    struct kernel_levels made;
    unsigned i = 0;

    kernel_levels_of(shape, unit, &made);
    while (i < filling->nshapes && memcmp(&filling->job.shapes[i], &made, sizeof made) != 0)
        i++;
    if (i == filling->nshapes)
        filling->job.shapes[filling->nshapes++] = made;
    return (unsigned char)i;
}

/* false: there is no room for it. */
static bool add_send(struct filling *filling, const struct exchange_send *send)
{
    struct strided to, from;
    struct kernel_copy copy;

    if (filling->job.nsends == KERNEL_SENDS || filling->nshapes + 2 > KERNEL_STRIDED)
        return false;
    strided_of(&send->to, send->nbytes, &to);
    strided_of(&send->from, send->nbytes, &from);
    copy = kernel_copy_of(&to, &from, send->nbytes, send->parts);
    if (to.levels > 1 || from.levels > 1) {
        copy.unit = (unsigned char)strided_unit(&to, &from, send->nbytes);
        copy.to_levels = number_of(filling, &to, copy.unit);
        copy.from_levels = number_of(filling, &from, copy.unit);
    }
    filling->job.sends[filling->job.nsends++] = (struct kernel_send){
        .copy = copy, .ready = send->sure ? 0 : send->ready, .done = send->done};
    filling->parts += send->parts;
    return true;
}

/* As many sends as there is room for; returns how many. */
static int add_sends(struct filling *filling, const struct exchange_send *sends, int n)
{
    int added = 0;

    while (added < n && add_send(filling, &sends[added]))
        added++;
    return added;
}

static int add_receives(struct filling *filling, const struct exchange_receive *receives, int n)
{
    int added = 0;

    for (; added < n && added < KERNEL_RECEIVES; added++)
        filling->job.receives[added] = (struct kernel_receive){
            .ready = receives[added].sure ? 0 : receives[added].ready,
            .done = receives[added].done,
            .parts = receives[added].parts};
    filling->job.nreceives = (unsigned)added;
    return added;
}

static int launch(const struct exchange *exchange, gpu_function kernel, struct filling *filling)
{
    const unsigned wanted = filling->parts > filling->job.nreceives ? filling->parts
                                                                    : filling->job.nreceives;
    const unsigned multiprocessors = (unsigned)exchange->gpu->multiprocessors;
    const unsigned most = multiprocessors > 0 && multiprocessors < EXCHANGE_KERNEL_BLOCKS
                              ? multiprocessors
                              : EXCHANGE_KERNEL_BLOCKS;
    void *parameters[] = {&filling->job};

    return gpu_driver()->cuLaunchKernel(kernel, wanted < most ? wanted : most, 1, 1,
                                        EXCHANGE_KERNEL_THREADS, 1, 1, 0, exchange->stream,
                                        parameters, NULL);
}

static int launch_receives(const struct exchange *exchange, gpu_function kernel,
                           struct filling *filling, bool posts)
{
    int status = GPU_OK;

    for (int i = 0; i < exchange->nreceives && status == GPU_OK;) {
        empty(filling);
        i += add_receives(filling, exchange->receives + i, exchange->nreceives - i);
        filling->job.posts = posts;
        filling->job.waits = !posts;
        status = launch(exchange, kernel, filling);
    }
    return status;
}

/* More than one launch takes: no send or receive may wait before all receives are posted. */
static int launch_apart(const struct exchange *exchange, gpu_function kernel,
                        struct filling *filling)
{
    int status = launch_receives(exchange, kernel, filling, true);

    for (int i = 0; i < exchange->nsends && status == GPU_OK;) {
        empty(filling);
        i += add_sends(filling, exchange->sends + i, exchange->nsends - i);
        status = launch(exchange, kernel, filling);
    }
    return status == GPU_OK ? launch_receives(exchange, kernel, filling, false) : status;
}

int exchange_by_kernel(const struct exchange *exchange, gpu_function kernel)
{
    struct filling filling;

    if (exchange->nsends == 0 && exchange->nreceives == 0)
        return GPU_OK;
    empty(&filling);
    if (add_sends(&filling, exchange->sends, exchange->nsends) < exchange->nsends ||
        add_receives(&filling, exchange->receives, exchange->nreceives) < exchange->nreceives)
        return launch_apart(exchange, kernel, &filling);
    filling.job.posts = filling.job.waits = 1;
    return launch(exchange, kernel, &filling);
}
