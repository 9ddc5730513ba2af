#include "bench/output/runner.h"

#include "bench/lib/program.h"
#include "bench/lib/ranks.h"
#include "bench/output/output.h"
#include "mpi/gpubind.h"

static int finish(const struct bench_options *options, struct table *table)
{
    struct gpubind_error err;
    int status;

    output_progress_end();
    status = output_table(options, table);
    if (status || !table->wrong)
        return status;
    error_set(&err, "data arrived wrong, in the rows that say so");
    bench_fail(&err);
    return EXIT_WRONG_DATA;
}

int benchmark_fill_on_rank0(benchmark_fill *fill, const struct bench_options *options,
                            struct table *table, struct gpubind_error *err)
{
    int rank, n, status = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (rank == 0)
        status = fill(options, table, err);
    if (n > 1)
        text_add(&table->notes, "rank 0 alone measures, with the GPUs that it sees\n");
    return ranks_agree(MPI_COMM_WORLD, status, err);
}

int bench_library_start(struct gpubind_error *err)
{
    int status = 0;

    if (gpubind_init() != MPI_SUCCESS)
        status = error_set(err, "%s", gpubind_error_text());
    return ranks_agree(MPI_COMM_WORLD, status, err);
}

void bench_library_end(void)
{
    gpubind_finalize();
}

static int measure(const struct benchmark *benchmark, const struct bench_options *options,
                   struct table *table, struct gpubind_error *err)
{
    int status;

    if (benchmark->library && bench_library_start(err) < 0)
        return -1;
    status = benchmark->fill(options, table, err);
    if (benchmark->library)
        bench_library_end();
    return status;
}

int benchmark_run(const struct bench_options *options, const struct benchmark *benchmark,
                  bool plain)
{
    struct table table = {.schema = benchmark->schema};
    struct gpubind_error err;
    int rank, status;

    table.start_ms = ranks_start(plain);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    table.streams = rank == 0;
    if (measure(benchmark, options, &table, &err) != 0) {
        status = rank == 0 ? bench_fail(&err) : EXIT_OWN;
    } else {
        status = rank == 0 ? finish(options, &table) : 0;
        MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    table_clear(&table);
    ranks_end(plain);
    return status;
}
