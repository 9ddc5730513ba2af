#include <stdlib.h>
#include <string.h>

#include "bench/cases/halo.h"
#include "bench/lib/stats.h"

static int failed(int status, struct gpubind_error *err)
{
    return status == MPI_SUCCESS ? 0 : error_set(err, "%s", gpubind_error_text());
}

static int length(const struct gpubind_halo_grid *grid, int d)
{
    return d < grid->ndims ? grid->cells[d] + 2 * grid->width[d] : 1;
}

static int fill(struct halo_case *one, struct gpubind_error *err)
{
    const size_t n = one->nbytes / sizeof(double);
    double *numbers = malloc(one->nbytes);
    int rank, status = 0;

    if (!numbers)
        return error_set(err, "out of memory");
    MPI_Comm_rank(one->comm, &rank);
    for (size_t i = 0; i < n; i++)
        numbers[i] = rank;
    for (int i = 0; i < 2 && status == 0; i++)
        status = gpu_upload(one->gpu, one->arrays[i], numbers, one->nbytes, err);
    free(numbers);
    return status;
}

int halo_case_make(struct halo_case *one, struct gpubind_error *err)
{
    one->nbytes = sizeof(double);
    for (int d = 0; d < one->grid.ndims; d++)
        one->nbytes *= (size_t)length(&one->grid, d);
    for (int i = 0; i < 2; i++)
        if (gpu_alloc(one->nbytes, &one->arrays[i], err) < 0)
            return -1;
    if (fill(one, err) < 0)
        return -1;
    return failed(gpubind_halo_create(one->comm, &one->grid, 2, one->arrays, &one->halo), err);
}

void halo_case_clear(struct halo_case *one)
{
    gpubind_halo_free(&one->halo);
    for (int i = 0; i < 2; i++)
        gpu_free(one->arrays[i]);
}

/* ---- the ways */

static int exchange(const struct halo_case *one, enum halo_method method, int array,
                    struct gpubind_error *err)
{
    if (method == HALO_HOST) {
        if (failed(gpubind_halo_start(one->halo, array), err) < 0)
            return -1;
        return failed(gpubind_halo_wait(one->halo), err);
    }
    return failed(gpubind_halo_exchange_on_stream(one->halo, array, one->gpu->stream[0]), err);
}

static int synchronize(const struct halo_case *one, struct gpubind_error *err)
{
    return gpu_check(gpu_stream_synchronize(one->gpu->stream[0]), "an exchange failed", err);
}

static int some_failed(const struct halo_case *one, int status)
{
    int bad = status < 0, any;

    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, one->comm);
    return any;
}

/* Exchanges each array once. A rank that cannot use the requested method exchanges on the host, so
 * that the others do not wait for it. */
static int try(const struct halo_case *one, enum halo_method method, struct gpubind_error *err)
{
    struct gpubind_error ignored;
    int status = 0;

    for (int array = 0; array < 2; array++)
        if (exchange(one, method, array, err) < 0) {
            status = -1;
            exchange(one, HALO_HOST, array, &ignored);
        }
    synchronize(one, &ignored);
    return status;
}

/* Captures a batch as a graph. Returns NULL with err on failure; always ends the capture. */
static gpu_graph_exec capture(const struct halo_case *one, struct gpubind_error *err)
{
    gpu_stream stream = one->gpu->stream[0];
    gpu_graph_exec exec = NULL;
    gpu_graph graph = NULL;
    int status, done = 0;

    if (!gpu_has_graphs()) {
        error_set(err, "the driver has no graphs");
        return NULL;
    }
    status = gpu_capture_begin(stream, GPU_CAPTURE_RELAXED);
    for (int i = 0; i < HALO_BATCH && status == GPU_OK && done == 0; i++)
        done = exchange(one, HALO_STREAM, i % 2, err);
    if (status == GPU_OK)
        status = gpu_capture_end(stream, &graph);
    if (status == GPU_OK && done == 0)
        status = gpu_graph_instantiate(&exec, graph, 0);
    if (graph)
        gpu_graph_destroy(graph);
    if (done == 0)
        gpu_check(status, "the exchange cannot be captured", err);
    return exec;
}

static int batch(const struct halo_case *one, enum halo_method method, gpu_graph_exec graph,
                 struct gpubind_error *err)
{
    if (method == HALO_GRAPH &&
        gpu_check(gpu_graph_launch(graph, one->gpu->stream[0]), "cuGraphLaunch", err) < 0)
        return -1;
    for (int i = 0; method != HALO_GRAPH && i < HALO_BATCH; i++)
        if (exchange(one, method, i % 2, err) < 0)
            return -1;
    return synchronize(one, err);
}

static int run(const struct halo_case *one, enum halo_method method, gpu_graph_exec graph,
               struct halo_result *result, struct gpubind_error *err)
{
    struct samples samples = {0};
    int status = samples_reserve(&samples, (size_t)one->batches);

    if (status < 0)
        return error_set(err, "out of memory");
    for (int i = -1; i < one->batches && status == 0; i++) { /* the first does not count */
        double from, took, slowest;

        MPI_Barrier(one->comm);
        from = seconds_now();
        status = batch(one, method, graph, err);
        took = seconds_now() - from;
        if (status < 0)
            break; /* the caller ends the job */
        MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, one->comm);
        if (i >= 0)
            samples_add(&samples, slowest / HALO_BATCH);
    }
    result->times = one->batches * HALO_BATCH;
    result->us = samples_stats(&samples).median;
    samples_clear(&samples);
    return status;
}

int halo_case_run(struct halo_case *one, enum halo_method method, struct halo_result *result,
                  struct gpubind_error *err)
{
    gpu_graph_exec graph = NULL;
    int status = 0;

    if (method != HALO_GRAPH) {
        error_set(err, "it is not possible on another rank");
        status = try(one, method, err);
    } else {
        error_set(err, "another rank cannot capture it");
        graph = capture(one, err);
        status = graph ? 0 : -1;
    }
    if (some_failed(one, status))
        status = 1;
    else
        status = run(one, method, graph, result, err);
    if (graph)
        gpu_graph_exec_destroy(graph);
    return status;
}

/* ---- contents of sent and of ghost cells */

/* The next of the 27 offsets; false after the last. */
static bool next_offset(int offset[3])
{
    for (int d = 2; d >= 0; d--) {
        if (++offset[d] <= 1)
            return true;
        offset[d] = -1;
    }
    return false;
}

/* Number of elements that go to the neighbour at that offset, whose rank is stored in *rank; 0:
 * none. */
static double elements_at(const struct halo_case *one, const int offset[3], int *rank)
{
    const struct gpubind_halo_grid *grid = &one->grid;
    double elements = 1;
    int sides = 0;

    for (int d = 0; d < 3; d++) {
        if (d >= grid->ndims && offset[d] != 0)
            return 0;
        sides += offset[d] != 0;
        elements *= d >= grid->ndims ? 1 : offset[d] ? grid->width[d] : grid->cells[d];
    }
    if (sides == 0 || (sides > 1 && !grid->corners) ||
        gpubind_halo_neighbor(one->halo, offset, rank) != MPI_SUCCESS || *rank == MPI_PROC_NULL)
        return 0;
    return elements;
}

double halo_case_bytes(const struct halo_case *one)
{
    int offset[3] = {-1, -1, -1}, rank;
    double elements = 0;

    do
        elements += elements_at(one, offset, &rank);
    while (next_offset(offset));
    return elements * sizeof(double);
}

/* The range along a dimension: the ghost cells on that side, or the interior. */
static int first_of(const struct gpubind_halo_grid *grid, int d, int side)
{
    if (d >= grid->ndims)
        return 0;
    return side < 0 ? 0 : side == 0 ? grid->width[d] : grid->width[d] + grid->cells[d];
}

static int end_of(const struct gpubind_halo_grid *grid, int d, int side)
{
    return side < 1 && d < grid->ndims ? first_of(grid, d, side + 1) : length(grid, d);
}

static bool box_is(const struct gpubind_halo_grid *grid, const double *array, const int offset[3],
                   double number)
{
    for (int i = first_of(grid, 0, offset[0]); i < end_of(grid, 0, offset[0]); i++)
        for (int j = first_of(grid, 1, offset[1]); j < end_of(grid, 1, offset[1]); j++)
            for (int k = first_of(grid, 2, offset[2]); k < end_of(grid, 2, offset[2]); k++)
                if (array[((size_t)i * (size_t)length(grid, 1) + (size_t)j) *
                              (size_t)length(grid, 2) +
                          (size_t)k] < number ||
                    array[((size_t)i * (size_t)length(grid, 1) + (size_t)j) *
                              (size_t)length(grid, 2) +
                          (size_t)k] > number)
                    return false;
    return true;
}

int halo_case_check(struct halo_case *one, struct gpubind_error *err)
{
    double *array = malloc(one->nbytes);
    bool wrong = false;
    int status = 0, rank;

    if (!array)
        return error_set(err, "out of memory");
    for (int i = 0; i < 2 && status == 0; i++) {
        int offset[3] = {-1, -1, -1};

        status = gpu_download(one->gpu, array, one->arrays[i], one->nbytes, err);
        do
            if (status == 0 && elements_at(one, offset, &rank) > 0)
                wrong |= !box_is(&one->grid, array, offset, rank);
        while (next_offset(offset));
    }
    free(array);
    return status < 0 ? -1 : wrong;
}
