#include "gpu/exchange/exchange_launch.h"

#include <string.h>

_Static_assert(sizeof(struct exchange_kernel_job) <= 4096, "a kernel's parameters");

/* A column of 1 Mi x 8 bytes, two H200: from 32 blocks on more of them gain little (to
 * packed memory 32 us, by 8 blocks 90; to a peer's column 104 and 223). */
#define LAYOUT_BLOCKS 32u

bool kernel_can_copy(const struct shape *to, const struct shape *from, uint64_t nbytes)
{
    return (to->levels == 1 && from->levels == 1) ||
           nbytes / shape_unit(to, from, nbytes) <= KERNEL_UNITS_MOST;
}

/* i / n is i * magic / 2^(32 + shift) for every i below 2^31; n is 2 or more. */
static void divide_by(struct kernel_shape *made, unsigned level, unsigned n)
{
    unsigned bits = 1;

    while ((uint64_t)1 << bits < n)
        bits++;
    made->n[level] = n;
    made->shift[level] = bits - 1;
    made->magic[level] = (unsigned)((((uint64_t)1 << (31 + bits)) + n - 1) / n);
}

void kernel_shape_of(const struct shape *shape, unsigned unit, struct kernel_shape *made)
{
    const bool single = shape->levels > 1 && shape->n[0] == unit; /* a run is a unit */

    memset(made, 0, sizeof *made);
    for (unsigned i = single; i < shape->levels; i++) {
        const unsigned level = made->levels++;

        made->stride[level] = i == 0 ? (long long)unit : (long long)shape->stride[i];
        if (i + 1 < shape->levels)
            divide_by(made, level, (unsigned)(i == 0 ? shape->n[0] / unit : shape->n[i]));
    }
}

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
static unsigned char number_of(struct filling *filling, const struct shape *shape, unsigned unit)
{
    struct kernel_shape made;
    unsigned i = 0;

    kernel_shape_of(shape, unit, &made);
    while (i < filling->nshapes && memcmp(&filling->job.shapes[i], &made, sizeof made) != 0)
        i++;
    if (i == filling->nshapes)
        filling->job.shapes[filling->nshapes++] = made;
    return (unsigned char)i;
}

static struct kernel_copy copy_of(const struct shape *to, const struct shape *from,
                                  uint64_t nbytes, unsigned parts)
{
    return (struct kernel_copy){
        .to = to->address, .from = from->address, .nbytes = nbytes, .parts = parts,
        .to_shape = KERNEL_CONTIGUOUS, .from_shape = KERNEL_CONTIGUOUS, .unit = 1};
}

/* false: there is no room for it. */
static bool add_send(struct filling *filling, const struct exchange_send *send)
{
    struct shape to, from;
    struct kernel_copy copy;

    if (filling->job.nsends == KERNEL_SENDS || filling->nshapes + 2 > KERNEL_SHAPES)
        return false;
    shape_of(&send->to, send->nbytes, &to);
    shape_of(&send->from, send->nbytes, &from);
    copy = copy_of(&to, &from, send->nbytes, send->parts);
    if (to.levels > 1 || from.levels > 1) {
        copy.unit = (unsigned char)shape_unit(&to, &from, send->nbytes);
        copy.to_shape = number_of(filling, &to, copy.unit);
        copy.from_shape = number_of(filling, &from, copy.unit);
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
            .done = receives[added].done, .parts = receives[added].parts};
    filling->job.nreceives = (unsigned)added;
    return added;
}

static int launch(const struct exchange *exchange, struct CUfunc_st *kernel,
                  struct filling *filling)
{
    const unsigned wanted = filling->parts > filling->job.nreceives ? filling->parts
                                                                    : filling->job.nreceives;
    const unsigned multiprocessors = (unsigned)exchange->gpu->multiprocessors;
    const unsigned most = multiprocessors > 0 && multiprocessors < EXCHANGE_KERNEL_BLOCKS
                              ? multiprocessors : EXCHANGE_KERNEL_BLOCKS;
    void *parameters[] = {&filling->job};

    return gpu_driver()->cuLaunchKernel(kernel, wanted < most ? wanted : most, 1, 1,
                                        EXCHANGE_KERNEL_THREADS, 1, 1, 0, exchange->stream,
                                        parameters, NULL);
}

static int launch_receives(const struct exchange *exchange, struct CUfunc_st *kernel,
                           struct filling *filling, bool posts)
{
    int status = CUDA_OK;

    for (int i = 0; i < exchange->nreceives && status == CUDA_OK;) {
        empty(filling);
        i += add_receives(filling, exchange->receives + i, exchange->nreceives - i);
        filling->job.posts = posts;
        filling->job.waits = !posts;
        status = launch(exchange, kernel, filling);
    }
    return status;
}

/* More than one launch takes: no send or receive may wait before all receives are posted. */
static int launch_apart(const struct exchange *exchange, struct CUfunc_st *kernel,
                        struct filling *filling)
{
    int status = launch_receives(exchange, kernel, filling, true);

    for (int i = 0; i < exchange->nsends && status == CUDA_OK;) {
        empty(filling);
        i += add_sends(filling, exchange->sends + i, exchange->nsends - i);
        status = launch(exchange, kernel, filling);
    }
    return status == CUDA_OK ? launch_receives(exchange, kernel, filling, false) : status;
}

int exchange_by_kernel(const struct exchange *exchange, struct CUfunc_st *kernel)
{
    struct filling filling;

    if (exchange->nsends == 0 && exchange->nreceives == 0)
        return CUDA_OK;
    empty(&filling);
    if (add_sends(&filling, exchange->sends, exchange->nsends) < exchange->nsends ||
        add_receives(&filling, exchange->receives, exchange->nreceives) < exchange->nreceives)
        return launch_apart(exchange, kernel, &filling);
    filling.job.posts = filling.job.waits = 1;
    return launch(exchange, kernel, &filling);
}

void layout_job(struct layout_kernel_job *job, const struct shape *to, const struct shape *from,
                uint64_t nbytes)
{
    const unsigned unit = shape_unit(to, from, nbytes);
    const uint64_t blocks = (nbytes / unit + LAYOUT_KERNEL_THREADS - 1) / LAYOUT_KERNEL_THREADS;

    job->copy = copy_of(to, from, nbytes, blocks < LAYOUT_BLOCKS ? (unsigned)blocks
                                                                : LAYOUT_BLOCKS);
    job->copy.unit = (unsigned char)unit;
    job->copy.to_shape = 0;
    job->copy.from_shape = 1;
    kernel_shape_of(to, unit, &job->shapes[0]);
    kernel_shape_of(from, unit, &job->shapes[1]);
}

int layout_launch(struct CUfunc_st *kernel, struct CUstream_st *stream, const struct shape *to,
                  const struct shape *from, uint64_t nbytes)
{
    struct layout_kernel_job job;
    void *parameters[] = {&job};

    layout_job(&job, to, from, nbytes);
    return gpu_driver()->cuLaunchKernel(kernel, job.copy.parts, 1, 1, LAYOUT_KERNEL_THREADS, 1, 1,
                                        0, stream, parameters, NULL);
}
