#include "bench/cases/host.h"

#include <mpi.h>

#include "bench/cases/cases.h"
#include "bench/lib/machine.h"
#include "bench/lib/ranks.h"

void host_add(struct host *host, const char *measure, enum host_direction direction,
              const struct host_result *result)
{
    struct table *table = host->table;

    table_add_row(table);
    table_set_word(table, HOST_MEASURE, measure);
    table_set_word(table, HOST_WAY, host_direction_word(direction));
    table_set_number(table, HOST_BYTES, (double)host->options->size);
    if (result->times)
        table_set_number(table, HOST_REPEATS, result->times);
    if (result->ms > 0)
        table_set_number(table, HOST_MS, result->ms);
    table_set_number(table, HOST_GB_PER_S, 1e-9 * result->bytes_per_s);
    table_set_word(table, HOST_DATA, result->wrong ? "wrong" : "right");
    table->wrong |= result->wrong;
}

static int open_gpu(struct host *host, struct gpubind_error *err)
{
    size_t nbytes = host->options->size;
    struct gpubind_error why;

    if (gpu_open(&host->gpu, ranks_local(), &why) < 0 ||
        buffer_alloc(&host->in, &host->gpu, nbytes, &why) < 0 ||
        buffer_alloc(&host->out, &host->gpu, nbytes, &why) < 0)
        return error_set(err, "rank %d: %s", host->rank, why.text);
    return 0;
}

/* The measurements of rank 0, while the others wait. */
static int measure_alone(struct host *host, struct gpubind_error *err)
{
    static int (*const measures[])(struct host *, struct gpubind_error *) = {
        [HOST_COPIES] = host_measure_copies,
        [HOST_CHUNKS] = host_measure_chunks,
        [HOST_NUMA] = host_measure_numa,
    };

    for (int i = HOST_COPIES; i <= HOST_NUMA; i++)
        if (host->options->host_measures & 1u << i && measures[i](host, err) < 0)
            return -1;
    return 0;
}

static int measure_all(struct host *host, struct gpubind_error *err)
{
    int status = host->rank == 0 ? measure_alone(host, err) : 0;

    if (ranks_agree(MPI_COMM_WORLD, status, err) < 0)
        return -1;
    if (!(host->options->host_measures & 1u << HOST_TOGETHER))
        return 0;
    return host_measure_together(host, err);
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct host host = {.options = options, .table = table};
    int status;

    MPI_Comm_rank(MPI_COMM_WORLD, &host.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &host.n);
    status = ranks_agree(MPI_COMM_WORLD, open_gpu(&host, err), err);
    if (status == 0) {
        machine_add_job("host", host.n, &table->machine);
        machine_add_host(&table->machine);
        machine_add_ranks(&host.gpu, MPI_COMM_WORLD, &table->machine);
        status = measure_all(&host, err);
    }
    buffer_free(&host.in);
    buffer_free(&host.out);
    gpu_close(&host.gpu);
    return status;
}

const struct benchmark host_benchmark = {&host_schema, fill, false};
