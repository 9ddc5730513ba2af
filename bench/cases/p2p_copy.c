/* Copies of one pair of GPUs, timed by events on the first of them. */
#include <stdio.h>

#include "bench/cases/p2p.h"
#include "bench/lib/stats.h"

struct pair {
    struct p2p *p2p;
    enum p2p_kind kind;
    int from, to;
    size_t nbytes;
};

static struct p2p_gpu *gpu_of(const struct pair *pair, int number)
{
    return &pair->p2p->gpus[number];
}

/* Prefixes the error with the pair. */
static int check(const struct pair *pair, int status, struct gpubind_error *err)
{
    char text[80];

    snprintf(text, sizeof text, "a copy from GPU %d to GPU %d failed", pair->from, pair->to);
    return gpu_check(status, text, err);
}

/* Copies in the stream of the GPU `on`. */
static int copy(const struct pair *pair, const struct p2p_gpu *on, const struct p2p_gpu *to,
                const struct buffer *in, const struct p2p_gpu *from, const struct buffer *out)
{
    if (to == from)
        return gpu_copy_device_async(address_of(in->at), address_of(out->at), pair->nbytes,
                                     on->gpu.stream[0]);
    return gpu_copy_peer_async(address_of(in->at), to->gpu.context, address_of(out->at),
                               from->gpu.context, pair->nbytes, on->gpu.stream[0]);
}

/* Copies there and back, waiting for each. */
static int ping_pong(const struct pair *pair)
{
    const struct p2p_gpu *a = gpu_of(pair, pair->from), *b = gpu_of(pair, pair->to);
    int status = copy(pair, a, b, &b->in, a, &a->out);

    if (status == GPU_OK)
        status = gpu_stream_synchronize(a->gpu.stream[0]);
    if (status == GPU_OK)
        status = copy(pair, a, a, &a->in, b, &b->in);
    return status == GPU_OK ? gpu_stream_synchronize(a->gpu.stream[0]) : status;
}

/* The stream of the second GPU starts after the begin event of the first. */
static int begin(const struct pair *pair, struct gpubind_error *err)
{
    const struct p2p_gpu *a = gpu_of(pair, pair->from), *b = gpu_of(pair, pair->to);
    int status;

    if (gpu_use(&a->gpu, err) < 0)
        return -1;
    status = gpu_event_record(a->begin, a->gpu.stream[0]);
    if (pair->kind == P2P_BOTH && status == GPU_OK) {
        if (gpu_use(&b->gpu, err) < 0)
            return -1;
        status = gpu_stream_wait_event(b->gpu.stream[0], a->begin, 0);
    }
    return check(pair, status, err);
}

/* ... and the end of the first waits for that of the second. */
static int end(const struct pair *pair, double *seconds, struct gpubind_error *err)
{
    const struct p2p_gpu *a = gpu_of(pair, pair->from), *b = gpu_of(pair, pair->to);
    int status = GPU_OK;
    float ms = 0;

    if (pair->kind == P2P_BOTH) {
        if (gpu_use(&b->gpu, err) < 0)
            return -1;
        status = gpu_event_record(b->ready, b->gpu.stream[0]);
        if (gpu_use(&a->gpu, err) < 0)
            return -1;
        if (status == GPU_OK)
            status = gpu_stream_wait_event(a->gpu.stream[0], b->ready, 0);
    }
    if (status == GPU_OK)
        status = gpu_event_record(a->end, a->gpu.stream[0]);
    if (status == GPU_OK)
        status = gpu_stream_synchronize(a->gpu.stream[0]);
    /* An error in the second stream is reported by that stream alone. */
    if (status == GPU_OK && pair->kind == P2P_BOTH)
        status = gpu_stream_synchronize(b->gpu.stream[0]);
    if (status == GPU_OK)
        status = gpu_event_elapsed(&ms, a->begin, a->end);
    /* The resolution of events: half a microsecond. */
    *seconds = ms > 0 ? 1e-3 * ms : 5e-7;
    return check(pair, status, err);
}

static int run(const struct pair *pair, int times, double *seconds, struct gpubind_error *err)
{
    const struct p2p_gpu *a = gpu_of(pair, pair->from), *b = gpu_of(pair, pair->to);

    if (begin(pair, err) < 0 || gpu_use(&a->gpu, err) < 0)
        return -1;
    for (int i = 0; i < times; i++) {
        int status;

        if (pair->kind == P2P_BOTH && gpu_use(&a->gpu, err) < 0)
            return -1;
        if (pair->kind == P2P_LATENCY || pair->kind == P2P_PING_PONG)
            status = ping_pong(pair);
        else
            status = copy(pair, a, b, &b->in, a, &a->out);
        if (pair->kind == P2P_BOTH && status == GPU_OK) {
            if (gpu_use(&b->gpu, err) < 0)
                return -1;
            status = copy(pair, b, a, &a->in, b, &b->out);
        }
        if (check(pair, status, err) < 0)
            return -1;
    }
    return end(pair, seconds, err);
}

/* ---- contents */

static int fill(const struct pair *pair, int number, struct gpubind_error *err)
{
    const struct p2p_gpu *one = gpu_of(pair, number);

    if (gpu_use(&one->gpu, err) < 0)
        return -1;
    return buffer_fill(&one->out, 0, pair->nbytes, pattern_seed(pair->p2p->round, number, 0), err);
}

/* Sets *wrong if the GPU `number` did not receive the contents of the sender. */
static int compare(const struct pair *pair, int number, int sender, bool *wrong,
                   struct gpubind_error *err)
{
    const struct p2p_gpu *one = gpu_of(pair, number);
    int status;

    if (gpu_use(&one->gpu, err) < 0)
        return -1;
    status = buffer_check(&one->in, 0, pair->nbytes, pattern_seed(pair->p2p->round, sender, 0),
                          err);
    *wrong |= status > 0;
    return status < 0 ? -1 : 0;
}

static int check_contents(const struct pair *pair, bool *wrong, struct gpubind_error *err)
{
    bool back = pair->kind == P2P_LATENCY || pair->kind == P2P_PING_PONG;
    double seconds;

    pair->p2p->round++;
    if (fill(pair, pair->from, err) < 0 ||
        (pair->kind == P2P_BOTH && fill(pair, pair->to, err) < 0) ||
        run(pair, 1, &seconds, err) < 0 || compare(pair, pair->to, pair->from, wrong, err) < 0)
        return -1;
    if (back)
        return compare(pair, pair->from, pair->from, wrong, err);
    return pair->kind == P2P_BOTH ? compare(pair, pair->from, pair->to, wrong, err) : 0;
}

int p2p_measure(struct p2p *p2p, enum p2p_kind kind, int from, int to, struct p2p_result *result,
                struct gpubind_error *err)
{
    struct pair pair = {p2p, kind, from, to, p2p->options->size};
    double seconds, copies = kind == P2P_LATENCY || kind == P2P_PING_PONG ? 2 : 1;
    int times;

    if (kind == P2P_LATENCY)
        pair.nbytes = P2P_LATENCY_NBYTES;
    /* The first copy initialises the driver, the second estimates the time of one. */
    for (int i = 0; i < 2; i++)
        if (run(&pair, 1, &seconds, err) < 0)
            return -1;
    times = repeats_that_fit(p2p->options->repeats, seconds);
    if (run(&pair, times, &seconds, err) < 0)
        return -1;
    result->nbytes = pair.nbytes;
    result->times = times;
    result->us = 1e6 * seconds / times / copies;
    result->bytes_per_s = (double)pair.nbytes * (kind == P2P_BOTH ? 2 : copies) * times / seconds;
    result->wrong = false;
    return check_contents(&pair, &result->wrong, err);
}
