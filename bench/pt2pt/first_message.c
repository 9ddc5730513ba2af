/* First messages: of a run, and from new allocations; and the release of buffers. */
#include <string.h>

#include "bench/pt2pt/task.h"

#define ALLOCATIONS 8
#define ALLOCATED ((size_t)4 << 20) /* larger than what the driver suballocates */
#define NBYTES 8

static const struct api *api_of(enum method method)
{
    return method == METHOD_GPUBIND ? &api_gpubind : &api_mpi;
}

/* Times from the call of send to the receiver's reply. */
static void one_message(struct pt2pt *pt2pt, const struct api *api, const void *out,
                        struct samples *samples)
{
    const struct ranks *ranks = &pt2pt->ranks;
    double from;
    char byte = 0;

    MPI_Barrier(ranks->working);
    if (!ranks->lower) {
        api->recv(pt2pt->in.at, NBYTES, ranks->peer);
        MPI_Send(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD);
        return;
    }
    from = seconds_now();
    api->send(out, NBYTES, ranks->peer);
    MPI_Recv(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    samples_add(samples, seconds_now() - from);
}

void buffers_release(const struct pt2pt *pt2pt, const struct buffer *buffers, int n)
{
    const struct ranks *ranks = &pt2pt->ranks;
    char byte = 0;

    if (!pt2pt->use[METHOD_GPUBIND] || ranks->pair < 0)
        return;
    /* The peer waits in the library meanwhile, where it can close its mapping. */
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) != ranks->lower) {
            api_gpubind.recv(&byte, 1, ranks->peer);
            continue;
        }
        for (int i = 0; i < n; i++)
            if (buffers[i].gpu)
                ranks_need(gpubind_release(buffers[i].at));
        api_gpubind.send(&byte, 1, ranks->peer);
    }
}

static void run_first(struct pt2pt *pt2pt, const struct task *task, enum method method,
                      struct method_result *result)
{
    struct samples samples = {0};

    fill_slots(pt2pt, task, 1);
    if (samples_reserve(&samples, 1) < 0)
        ranks_die("out of memory");
    one_message(pt2pt, api_of(method), pt2pt->out.at, &samples);
    result->checked = true;
    result->wrong = !check_slots(pt2pt, task, 1);
    result->iterations = 1;
    gather_samples(pt2pt, &samples, 1, NBYTES, result);
    samples_clear(&samples);
}

static void alloc_buffers(struct pt2pt *pt2pt, struct buffer *buffers)
{
    struct gpubind_error err;

    for (int i = 0; i < ALLOCATIONS; i++)
        if (buffer_alloc(&buffers[i], pt2pt->has_gpu ? &pt2pt->gpu : NULL, ALLOCATED, &err) < 0)
            ranks_die("%s", err.text);
}

static void send_buffer(struct pt2pt *pt2pt, const struct task *task, enum method method,
                        const struct buffer *buffer, struct samples *samples,
                        struct method_result *result)
{
    struct gpubind_error err;

    pt2pt->round++;
    if (buffer_fill(buffer, 0, NBYTES, pattern_seed(pt2pt->round, pt2pt->ranks.rank, 0), &err) < 0)
        ranks_die("%s", err.text);
    one_message(pt2pt, api_of(method), buffer->at, samples);
    result->wrong |= !check_slots(pt2pt, task, 1);
}

static void run_renewed(struct pt2pt *pt2pt, const struct task *task, enum method method,
                        struct method_result *result)
{
    struct buffer buffers[ALLOCATIONS];
    struct samples samples = {0};

    alloc_buffers(pt2pt, buffers);
    if (samples_reserve(&samples, ALLOCATIONS) < 0)
        ranks_die("out of memory");
    for (int i = 0; i < ALLOCATIONS; i++)
        send_buffer(pt2pt, task, method, &buffers[i], &samples, result);
    result->checked = true;
    result->iterations = ALLOCATIONS;
    gather_samples(pt2pt, &samples, 1, NBYTES, result);
    samples_clear(&samples);
    buffers_release(pt2pt, buffers, ALLOCATIONS);
    for (int i = 0; i < ALLOCATIONS; i++)
        buffer_free(&buffers[i]);
}

void first_run(struct pt2pt *pt2pt, struct result *first, struct result *renewed)
{
    struct task task;
    struct gpubind_error err;

    /* Cannot fail: larger messages fit. */
    task_make(pt2pt, MEASURE_FIRST, NBYTES, &task, &err);
    task.window = task.nsets = 1;
    memset(first, 0, sizeof *first);
    first->measure = MEASURE_FIRST;
    first->nbytes = NBYTES;
    first->window = 1;
    *renewed = *first;
    renewed->measure = MEASURE_RENEWED;
    for (int method = 0; method < METHOD_COPY; method++)
        if (pt2pt->use[method])
            run_first(pt2pt, &task, (enum method)method, &first->by[method]);
    for (int method = 0; method < METHOD_COPY; method++)
        if (pt2pt->use[method])
            run_renewed(pt2pt, &task, (enum method)method, &renewed->by[method]);
}
