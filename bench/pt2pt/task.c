#include "bench/pt2pt/task.h"

/* Messages share no cache line. */
#define STRIDE 512
/* Rotating over more memory than caches hold is enough. */
#define ROTATED ((size_t)1 << 30)
#define RATE_NBYTES 8

static int sets_within(size_t memory, size_t set, int most)
{
    size_t n = (memory < ROTATED ? memory : ROTATED) / set;

    return n < 1 ? 1 : n > (size_t)most ? most : (int)n;
}

int task_make(const struct pt2pt *pt2pt, enum measure measure, size_t nbytes, struct task *task,
              struct gpubind_error *err)
{
    size_t fits;

    task->measure = measure;
    task->nbytes = measure == MEASURE_RATE ? RATE_NBYTES : nbytes;
    task->stride = (task->nbytes + STRIDE - 1) / STRIDE * STRIDE;
    fits = pt2pt->memory / task->stride;
    if (!fits)
        return error_set(err, "--memory: messages of %zu bytes do not fit into two buffers of %zu",
                         nbytes, pt2pt->memory);
    task->window = 1;
    if (measure == MEASURE_LATENCY) {
        task->nsets = sets_within(pt2pt->memory, task->stride, 16);
        return 0;
    }
    task->window = pt2pt->options->window  ? pt2pt->options->window
                   : task->nbytes <= 65536 ? 64
                                           : 16;
    if ((size_t)task->window > fits)
        task->window = (int)fits;
    task->nsets = sets_within(pt2pt->memory, task->stride * (size_t)task->window, 4);
    return 0;
}

int tasks_memory(const struct pt2pt *pt2pt, size_t *nbytes, struct gpubind_error *err)
{
    const struct bench_options *options = pt2pt->options;
    struct task task = {0};

    *nbytes = 0;
    for (int measure = MEASURE_LATENCY; measure < MEASURES; measure++)
        for (int i = 0; i < options->nsizes; i++) {
            size_t needed;

            if (task_make(pt2pt, measure, options->sizes[i], &task, err) < 0)
                return -1;
            needed = task.stride * (size_t)task.window * (size_t)task.nsets;
            if (needed > *nbytes)
                *nbytes = needed;
        }
    return 0;
}

/* ---- contents */

void fill_slots(struct pt2pt *pt2pt, const struct task *task, int n)
{
    struct gpubind_error err;

    pt2pt->round++;
    if (!pt2pt->ranks.lower && !is_two_way(task->measure))
        return;
    for (int slot = 0; slot < n; slot++)
        if (buffer_fill(&pt2pt->out, (size_t)slot * task->stride, task->nbytes,
                        pattern_seed(pt2pt->round, pt2pt->ranks.rank, slot), &err) < 0)
            ranks_die("%s", err.text);
}

bool check_slots(struct pt2pt *pt2pt, const struct task *task, int n)
{
    struct gpubind_error err;
    int wrong = 0;

    for (int slot = 0; slot < n; slot++) {
        int status;

        if (pt2pt->ranks.lower && !is_two_way(task->measure))
            break;
        status = buffer_check(&pt2pt->in, (size_t)slot * task->stride, task->nbytes,
                              pattern_seed(pt2pt->round, pt2pt->ranks.peer, slot), &err);
        if (status < 0)
            ranks_die("%s", err.text);
        wrong |= status;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, pt2pt->ranks.working);
    return !wrong;
}

/* ---- messages */

static void ping_pong(const struct api *api, const void *out, void *in, size_t nbytes,
                      const struct ranks *ranks)
{
    if (ranks->lower) {
        api->send(out, nbytes, ranks->peer);
        api->recv(in, nbytes, ranks->peer);
    } else {
        api->recv(in, nbytes, ranks->peer);
        api->send(out, nbytes, ranks->peer);
    }
}

/* The receiver acknowledges a window. By plain MPI for all methods, so that it costs the same; no
 * message of the library is in flight then. */
static void reply(const struct ranks *ranks, bool both)
{
    char byte = 0, other;

    if (both)
        MPI_Sendrecv(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, &other, 1, MPI_BYTE, ranks->peer,
                     BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (ranks->lower)
        MPI_Recv(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD);
}

bool message_once(struct pt2pt *pt2pt, const struct api *api, const struct task *task,
                  int iteration)
{
    const struct ranks *ranks = &pt2pt->ranks;
    bool both = is_two_way(task->measure);

    if (task->measure == MEASURE_LATENCY) {
        size_t offset = task_offset(task, iteration, 0);

        ping_pong(api, pt2pt->out.at + offset, pt2pt->in.at + offset, task->nbytes, ranks);
        return ranks->lower;
    }
    for (int i = 0; i < task->window && (both || !ranks->lower); i++)
        api->irecv(pt2pt->in.at + task_offset(task, iteration, i), task->nbytes, ranks->peer,
                   &pt2pt->requests);
    for (int i = 0; i < task->window && (both || ranks->lower); i++)
        api->isend(pt2pt->out.at + task_offset(task, iteration, i), task->nbytes, ranks->peer,
                   &pt2pt->requests);
    api->waitall(&pt2pt->requests);
    reply(ranks, both);
    return ranks->lower;
}
