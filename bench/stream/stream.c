/* The subcommand stream: runs its measures and fills its table. */
#include "bench/stream/stream.h"

#include "bench/lib/machine.h"
#include "bench/lib/ranks.h"
#include "bench/output/output.h"
#include "bench/stream/schema.h"

static void add_row(enum stream_measure measure, size_t nbytes, enum stream_method method,
                    const struct stream_result results[STREAM_METHODS], struct table *table)
{
    const struct stream_result *by = &results[method];
    const int window = stream_window(measure, nbytes);
    const double copy_us = results[STREAM_COPY].us.median, nccl_us = results[STREAM_NCCL].us.median;
    const double ways = measure == STREAM_EXCHANGE ? 2 : 1;

    table_add_row(table);
    table_set_word(table, STREAM_COLUMN_MEASURE, stream_measure_word(measure));
    table_set_word(table, STREAM_COLUMN_METHOD, stream_ways[method].word);
    table_set_number(table, STREAM_COLUMN_BYTES, (double)nbytes);
    table_set_number(table, STREAM_COLUMN_WINDOW, window);
    table_set_number(table, STREAM_COLUMN_QUEUED, by->queued);
    table_set_number(table, STREAM_COLUMN_ITERATIONS, by->iterations);
    table_set_number(table, STREAM_COLUMN_US, by->us.median);
    table_set_number(table, STREAM_COLUMN_US_MIN, by->us.min);
    table_set_number(table, STREAM_COLUMN_US_P99, by->us.p99);
    if (measure == STREAM_EXCHANGE || measure == STREAM_WINDOW)
        table_set_number(table, STREAM_COLUMN_GB_PER_S,
                         ways * window * (double)nbytes / by->us.median / 1e3);
    if (copy_us > 0)
        table_set_number(table, STREAM_COLUMN_X_COPY, by->us.median / copy_us);
    if (nccl_us > 0)
        table_set_number(table, STREAM_COLUMN_X_NCCL, by->us.median / nccl_us);
    table_set_word(table, STREAM_COLUMN_DATA, by->wrong ? "wrong" : "right");
    table->wrong |= by->wrong;
}

static void say_progress(const struct stream_bench *bench, enum stream_measure measure,
                         size_t nbytes)
{
    struct text size = {0};

    if (bench->rank > 0)
        return;
    text_add_size(&size, nbytes);
    output_progress(bench->options, "%s %s", stream_measure_word(measure),
                    size.bytes ? size.bytes : "");
    text_clear(&size);
}

/* A row for each method, printed at once; results are valid on rank 0 alone. */
static void run_measure(struct stream_bench *bench, enum stream_measure measure,
                        struct table *table)
{
    struct stream_result results[STREAM_METHODS];

    for (int i = 0; i < bench->options->nsizes; i++) {
        const size_t nbytes = bench->options->sizes[i];

        say_progress(bench, measure, nbytes);
        stream_task_run(bench, measure, nbytes, results);
        for (int method = 0; method < STREAM_METHODS && bench->rank == 0; method++)
            if (results[method].measured)
                add_row(measure, nbytes, (enum stream_method)method, results, table);
        output_rows(bench->options, table);
    }
}

static void describe(const struct stream_bench *bench, const struct gpubind_error *why_no_nccl,
                     struct table *table)
{
    struct text *text = &table->machine;

    machine_add_job("stream", bench->n, text);
    machine_add_host(text);
    machine_add_ranks(&bench->gpu, MPI_COMM_WORLD, text);
    machine_add_mpi(text);
    if (bench->n > 2)
        text_add(&table->notes, "of %d ranks the first two measure\n", bench->n);
    if (bench->use[STREAM_NCCL]) {
        text_add(text, "NCCL: ");
        nccl_add_version(&bench->nccl, text);
        text_add(text, "\n");
    } else {
        text_add(&table->notes, "NCCL is not measured: %s\n", why_no_nccl->text);
    }
    if (!bench->use[STREAM_COPY])
        text_add(&table->notes, "bare copies are not measured: the memory of ranks 0 and 1 cannot "
                                "be mapped by the other\n");
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct stream_bench bench = {.options = options, .pair = MPI_COMM_NULL};
    struct gpubind_error why_no_nccl;
    int status = stream_open(&bench, &why_no_nccl, err);

    if (status == 0) {
        describe(&bench, &why_no_nccl, table);
        output_rows(options, table);
        for (int i = 0; i < STREAM_MEASURES && bench.pair != MPI_COMM_NULL; i++)
            if (options->stream_measures >> i & 1)
                run_measure(&bench, (enum stream_measure)i, table);
    }
    stream_clear(&bench);
    return ranks_agree(MPI_COMM_WORLD, status, err);
}

const struct benchmark stream_benchmark = {&stream_schema, fill, true};
