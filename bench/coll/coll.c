/* The subcommand coll: runs its operations and fills its table. */
#include "bench/coll/coll.h"

#include "bench/coll/schema.h"
#include "bench/lib/machine.h"
#include "bench/output/output.h"

static void add_row(const struct coll *coll, const struct coll_operation *op, size_t nbytes,
                    enum coll_method method, const struct coll_result results[COLL_METHODS],
                    struct table *table)
{
    const struct coll_result *by = &results[method];
    const double nccl_us = results[COLL_NCCL].us.median;

    table_add_row(table);
    table_set_word(table, COLL_OPERATION, op->name);
    table_set_word(table, COLL_METHOD, coll_method_word(method));
    table_set_word(table, COLL_BUFFERS, coll->options->host ? "host" : "gpu");
    table_set_number(table, COLL_RANKS, coll->n);
    table_set_number(table, COLL_BYTES, (double)nbytes);
    table_set_word(table, COLL_BYTES_OF, op->size_is_block ? "block" : "buffer");
    table_set_number(table, COLL_ITERATIONS, by->iterations);
    table_set_number(table, COLL_US, by->us.median);
    table_set_number(table, COLL_US_MIN, by->us.min);
    table_set_number(table, COLL_US_P99, by->us.p99);
    if (nccl_us > 0)
        table_set_number(table, COLL_X_NCCL, by->us.median / nccl_us);
    table_set_word(table, COLL_DATA, by->wrong ? "wrong" : "right");
    table->wrong |= by->wrong;
}

static void say_progress(const struct coll *coll, const struct coll_operation *op, size_t nbytes)
{
    struct text size = {0};

    if (coll->rank > 0)
        return;
    text_add_size(&size, nbytes);
    output_progress(coll->options, "%s %s", op->name, size.bytes ? size.bytes : "");
    text_clear(&size);
}

/* A row for each method, printed at once; results are valid on rank 0 alone. */
static void run_operation(struct coll *coll, const struct coll_operation *op, struct table *table)
{
    struct coll_result results[COLL_METHODS];

    for (int i = 0; i < coll->options->nsizes; i++) {
        const size_t nbytes = coll->options->sizes[i];

        say_progress(coll, op, nbytes);
        coll_measure(coll, op, nbytes, results);
        for (int method = 0; method < COLL_METHODS && coll->rank == 0; method++)
            if (coll->use[method])
                add_row(coll, op, nbytes, (enum coll_method)method, results, table);
        output_rows(coll->options, table);
    }
}

static void describe(const struct coll *coll, const struct gpubind_error *why_no_nccl,
                     struct table *table)
{
    struct text *text = &table->machine;

    machine_add_job("coll", coll->n, text);
    machine_add_host(text);
    if (coll->options->host)
        text_add(text, "buffers: host memory\n");
    else
        machine_add_ranks(&coll->gpu, MPI_COMM_WORLD, text);
    machine_add_mpi(text);
    if (coll->use[COLL_NCCL]) {
        text_add(text, "NCCL: ");
        nccl_add_version(&coll->nccl, text);
        text_add(text, "\n");
    } else {
        text_add(&table->notes, "NCCL is not measured: %s\n", why_no_nccl->text);
    }
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct coll coll = {.options = options, .neighbours = MPI_COMM_NULL};
    struct gpubind_error why_no_nccl;
    int status = coll_open(&coll, &why_no_nccl, err);

    if (status == 0) {
        describe(&coll, &why_no_nccl, table);
        output_rows(options, table);
        for (int i = 0; i < COLL_OPERATIONS; i++)
            if (options->operations >> i & 1)
                run_operation(&coll, &coll_operations[i], table);
    }
    coll_clear(&coll);
    return status;
}

const struct benchmark coll_benchmark = {&coll_schema, fill, false};
