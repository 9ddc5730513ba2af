/* The host's arithmetic, for machines without nvcc and for tests without a GPU: in the
 * order of the stream the rows are copied to the host, computed there and copied back. A
 * step that is ordered wrongly computes wrong numbers here as it does on a GPU. */
#include <pthread.h>
#include <stdlib.h>

#include "compute.h"
#include "relax.h"

/* A piece of work that the host does when the stream comes to it. */
struct work {
    struct rows rows;
    int change, stream;
};

static const struct strip *strip;
static char *old_rows[STREAMS], *new_rows[STREAMS];      /* each stream has a strip of both */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the next two */
static double sums[CHANGES], copied[CHANGES];

static bool start(const struct strip *of, int march, const char **why)
{
    const size_t nbytes = ((size_t)of->rows + 2) * (size_t)of->pitch * of->element;

    (void)march;
    (void)why;
    strip = of;
    for (int stream = 0; stream < STREAMS; stream++) {
        old_rows[stream] = gpu_alloc_host(nbytes);
        new_rows[stream] = gpu_alloc_host(nbytes);
    }
    return true;
}

/* Where the left edge of the row is in a stream's strip. */
static size_t row_at(int row)
{
    return (size_t)row * (size_t)strip->pitch * strip->element;
}

static double relax(const char *above, const char *here, const char *below, char *to)
{
    if (strip->element == sizeof(double))
        return relax_doubles((const double *)above + 1, (const double *)here + 1,
                             (const double *)below + 1, (double *)to + 1, strip->columns);
    return relax_floats((const float *)above + 1, (const float *)here + 1, (const float *)below + 1,
                        (float *)to + 1, strip->columns);
}

static void do_rows(void *data)
{
    struct work *work = data;
    const char *old = old_rows[work->stream];
    double squares = 0;

    for (int i = 0; i < work->rows.count; i++) {
        const int row = work->rows.first + i * work->rows.stride;

        squares += relax(old + row_at(row - 1), old + row_at(row), old + row_at(row + 1),
                         new_rows[work->stream] + row_at(row));
    }
    if (work->change >= 0) {
        pthread_mutex_lock(&lock);
        sums[work->change] += squares;
        pthread_mutex_unlock(&lock);
    }
    free(work);
}

static void do_collect(void *data)
{
    struct work *work = data;

    pthread_mutex_lock(&lock);
    copied[work->change] = sums[work->change];
    sums[work->change] = 0;
    pthread_mutex_unlock(&lock);
    free(work);
}

static struct work *new_work(struct work values)
{
    struct work *work = malloc(sizeof *work);

    if (!work)
        MPI_Abort(MPI_COMM_WORLD, 1);
    *work = values;
    return work;
}

static void rows_in(int from, struct rows rows, int change, int stream, gpu_stream in)
{
    const size_t width = ((size_t)strip->columns + 2) * strip->element;

    for (int i = 0; i < rows.count; i++) {
        const int below = rows.first + i * rows.stride + 1;

        /* Of rows that lie together the first two have been read. */
        for (int row = i > 0 && rows.stride == 1 ? below : below - 2; row <= below; row++)
            gpu_read_in(in, old_rows[stream] + row_at(row),
                        (char *)strip_row(strip, from, row) - strip->element, width);
    }
    gpu_call_in(in, do_rows, new_work((struct work){rows, change, stream}));
    for (int i = 0; i < rows.count; i++) {
        const int row = rows.first + i * rows.stride;

        gpu_write_in(in, strip_row(strip, 1 - from, row),
                     new_rows[stream] + row_at(row) + strip->element, width - 2 * strip->element);
    }
}

static void collect(int change, gpu_stream in)
{
    gpu_call_in(in, do_collect, new_work((struct work){.change = change}));
}

static double changed(int change)
{
    return copied[change];
}

static void end(void)
{
    for (int stream = 0; stream < STREAMS; stream++) {
        gpu_free_host(old_rows[stream]);
        gpu_free_host(new_rows[stream]);
    }
}

const struct compute compute_host = {"host", start, rows_in, collect, changed, end};
