/* Messages that the library sees for the first time, and letting go of memory. */
#include <string.h>

#include "bench/pt2pt/task.h"

#define ALLOCATIONS 8
#define ALLOCATED ((size_t)4 << 20) /* more than what the driver gives several from */
#define NBYTES 8

static const struct api *api_of(enum method method)
{
    return method == METHOD_GPUBIND ? &api_gpubind : &api_mpi;
}

/* From the call of send until the receiver has said that it has the message. */
static void one_message(struct bench *bench, const struct api *api, const void *out,
                        struct series *series)
{
    const struct ranks *ranks = &bench->ranks;
    double from;
    char byte = 0;

    MPI_Barrier(ranks->working);
    if (!ranks->lower) {
        api->recv(bench->in.at, NBYTES, ranks->peer);
        MPI_Send(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD);
        return;
    }
    from = seconds_now();
    api->send(out, NBYTES, ranks->peer);
    MPI_Recv(&byte, 1, MPI_BYTE, ranks->peer, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    series_add(series, seconds_now() - from);
}

void areas_release(const struct bench *bench, const struct area *areas, int n)
{
    const struct ranks *ranks = &bench->ranks;
    char byte = 0;

    if (!bench->use[METHOD_GPUBIND] || ranks->pair < 0)
        return;
    /* The other waits in the library meanwhile, where it can let go. */
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) != ranks->lower) {
            api_gpubind.recv(&byte, 1, ranks->peer);
            continue;
        }
        for (int i = 0; i < n; i++)
            if (areas[i].gpu && gpubind_release(areas[i].at) != MPI_SUCCESS)
                ranks_die("gpubind_release: %s", gpubind_error_text());
        api_gpubind.send(&byte, 1, ranks->peer);
    }
}

static void run_first(struct bench *bench, const struct task *task, enum method method,
                      struct method_result *result)
{
    struct series series = {0};

    fill_slots(bench, task, 1);
    if (series_reserve(&series, 1) < 0)
        ranks_die("out of memory");
    one_message(bench, api_of(method), bench->out.at, &series);
    result->checked = true;
    result->wrong = !check_slots(bench, task, 1);
    result->iterations = 1;
    gather_samples(bench, &series, 1, NBYTES, result);
    series_clear(&series);
}

static void make_areas(struct bench *bench, struct area *areas)
{
    struct gpubind_error err;

    for (int i = 0; i < ALLOCATIONS; i++)
        if (area_make(&areas[i], bench->has_gpu ? &bench->gpu : NULL, ALLOCATED, &err) < 0)
            ranks_die("%s", err.text);
}

static void send_area(struct bench *bench, const struct task *task, enum method method,
                      const struct area *area, struct series *series,
                      struct method_result *result)
{
    struct gpubind_error err;

    bench->round++;
    if (area_fill(area, 0, NBYTES, pattern_seed(bench->round, bench->ranks.rank, 0), &err) < 0)
        ranks_die("%s", err.text);
    one_message(bench, api_of(method), area->at, series);
    result->wrong |= !check_slots(bench, task, 1);
}

static void run_renewed(struct bench *bench, const struct task *task, enum method method,
                        struct method_result *result)
{
    struct area areas[ALLOCATIONS];
    struct series series = {0};

    make_areas(bench, areas);
    if (series_reserve(&series, ALLOCATIONS) < 0)
        ranks_die("out of memory");
    for (int i = 0; i < ALLOCATIONS; i++)
        send_area(bench, task, method, &areas[i], &series, result);
    result->checked = true;
    result->iterations = ALLOCATIONS;
    gather_samples(bench, &series, 1, NBYTES, result);
    series_clear(&series);
    areas_release(bench, areas, ALLOCATIONS);
    for (int i = 0; i < ALLOCATIONS; i++)
        area_clear(&areas[i]);
}

void first_run(struct bench *bench, struct result *first, struct result *renewed)
{
    struct task task;
    struct gpubind_error err;

    /* Larger ones were found to fit. */
    task_make(bench, MEASURE_FIRST, NBYTES, &task, &err);
    task.window = task.nsets = 1;
    memset(first, 0, sizeof *first);
    first->measure = MEASURE_FIRST;
    first->nbytes = NBYTES;
    first->window = 1;
    *renewed = *first;
    renewed->measure = MEASURE_RENEWED;
    for (int method = 0; method < METHOD_COPY; method++)
        if (bench->use[method])
            run_first(bench, &task, (enum method)method, &first->by[method]);
    for (int method = 0; method < METHOD_COPY; method++)
        if (bench->use[method])
            run_renewed(bench, &task, (enum method)method, &renewed->by[method]);
}
