/* The subcommand pt2pt: runs its tasks and fills its table. */
#include "bench/pt2pt/pt2pt.h"

#include <stdlib.h>

#include "bench/lib/ranks.h"
#include "bench/output/output.h"
#include "bench/pt2pt/task.h"

static const char *measure_word(enum measure measure)
{
    static const char *const words[] = {
        [MEASURE_FIRST] = "first",         [MEASURE_LATENCY] = "latency",
        [MEASURE_BANDWIDTH] = "bandwidth", [MEASURE_BIDIRECTIONAL] = "bidirectional",
        [MEASURE_RATE] = "rate",           [MEASURE_RENEWED] = "first-new",
    };

    return words[measure];
}

static void say_progress(const struct pt2pt *pt2pt, const struct task *task)
{
    struct text size = {0};

    if (pt2pt->ranks.rank > 0)
        return;
    text_add_size(&size, task->nbytes);
    output_progress(pt2pt->options, "%s %s", measure_word(task->measure),
                    size.bytes ? size.bytes : "");
    text_clear(&size);
}

/* ---- rows */

/* How many times as long as the other method it took; empty if one was not measured. */
static void set_ratio(struct table *table, int column, const struct method_result *by,
                      const struct method_result *other)
{
    if (by->us.median > 0 && other->us.median > 0)
        table_set_number(table, column, by->us.median / other->us.median);
}

static void add_row(const struct pt2pt *pt2pt, const struct result *result, enum method method,
                    struct table *table)
{
    const struct method_result *by = &result->by[method];

    table_add_row(table);
    table_set_word(table, PT2PT_MEASURE, measure_word(result->measure));
    table_set_word(table, PT2PT_METHOD, pt2pt_method_word(pt2pt, method));
    table_set_word(table, PT2PT_BUFFERS, bench_buffers_word(pt2pt->options->buffers));
    table_set_number(table, PT2PT_PAIRS, pt2pt->ranks.npairs);
    table_set_number(table, PT2PT_BYTES, (double)result->nbytes);
    table_set_number(table, PT2PT_WINDOW, result->window);
    table_set_number(table, PT2PT_ITERATIONS, by->iterations);
    table_set_number(table, PT2PT_US, by->us.median);
    table_set_number(table, PT2PT_US_MIN, by->us.min);
    table_set_number(table, PT2PT_US_P99, by->us.p99);
    table_set_number(table, PT2PT_GB_PER_S, 1e-9 * by->bytes_per_s);
    table_set_number(table, PT2PT_MESSAGES, by->messages_per_s);
    set_ratio(table, PT2PT_X_COPY, by, &result->by[METHOD_COPY]);
    set_ratio(table, PT2PT_X_MPI, by, &result->by[METHOD_MPI]);
    table_set_word(table, PT2PT_DATA, !by->checked ? "unchecked" : by->wrong ? "wrong" : "right");
    table->wrong |= by->wrong;
}

/* A row for each method, printed at once; results are valid on rank 0 alone. */
static void add_rows(const struct pt2pt *pt2pt, const struct result *result, struct table *table)
{
    for (int method = 0; method < METHODS && pt2pt->ranks.rank == 0; method++)
        if (result->by[method].measured)
            add_row(pt2pt, result, (enum method)method, table);
    output_rows(pt2pt->options, table);
}

/* ---- a run */

static bool wants(const struct pt2pt *pt2pt, enum measure measure)
{
    return pt2pt->options->measures & 1u << measure;
}

static void run_tasks(struct pt2pt *pt2pt, struct table *table)
{
    const struct bench_options *options = pt2pt->options;
    struct gpubind_error err;
    struct result result;
    struct task task;

    for (int measure = MEASURE_LATENCY; measure < MEASURES; measure++) {
        if (!wants(pt2pt, (enum measure)measure))
            continue;
        for (int i = 0; i < (measure == MEASURE_RATE ? 1 : options->nsizes); i++) {
            task_make(pt2pt, (enum measure)measure, options->sizes[i], &task, &err);
            say_progress(pt2pt, &task);
            task_run(pt2pt, &task, &result);
            add_rows(pt2pt, &result, table);
        }
    }
}

/* The copier's mapping of the peer's memory must not speed up the first message, so it comes
 * second. */
static void measure_all(struct pt2pt *pt2pt, struct table *table)
{
    bool works = pt2pt->ranks.pair >= 0, first = works && wants(pt2pt, MEASURE_FIRST);
    struct result results[2];

    if (first)
        first_run(pt2pt, &results[0], &results[1]);
    if (works)
        copier_open(pt2pt);
    pt2pt_find_methods(pt2pt);
    pt2pt_describe(pt2pt, table);
    output_rows(pt2pt->options, table);
    for (int i = 0; first && i < 2; i++)
        add_rows(pt2pt, &results[i], table);
    if (works)
        run_tasks(pt2pt, table);
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct pt2pt *pt2pt = calloc(1, sizeof *pt2pt);
    int status = ranks_agree(MPI_COMM_WORLD, pt2pt ? 0 : error_set(err, "out of memory"), err);

    if (status == 0) {
        pt2pt->options = options;
        status = pt2pt_open(pt2pt, err);
        if (status == 0) {
            struct buffer buffers[2] = {pt2pt->out, pt2pt->in};

            measure_all(pt2pt, table);
            copier_close(pt2pt);
            buffers_release(pt2pt, buffers, 2);
        }
        pt2pt_clear(pt2pt);
    }
    free(pt2pt);
    return status;
}

const struct benchmark pt2pt_benchmark = {&pt2pt_schema, fill, true};

int pt2pt_main(const struct bench_options *options)
{
    static const struct benchmark started = {&pt2pt_schema, fill, false};
    bool plain = options->api == API_MPI && !options->compare;

    if (options->path)
        setenv("GPUBIND_PATH", options->path, 1);
    return benchmark_run(options, &started, plain);
}
