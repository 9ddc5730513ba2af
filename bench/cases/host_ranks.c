/* Copies of each rank alone and of all ranks at once, which shows links that they share. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/cases/host.h"
#include "bench/lib/ranks.h"
#include "bench/lib/sysfs.h"
#include "bench/output/output.h"

/* All ranks continue or none. */
static int agree(const struct host *host, int status, struct gpubind_error *err)
{
    struct gpubind_error why;

    if (status < 0) {
        why = *err;
        error_set(err, "rank %d: %s", host->rank, why.text);
    }
    return ranks_agree(MPI_COMM_WORLD, status, err);
}

/* One rank measures per turn while the others wait; in the last turn all do. */
static int measure_turn(struct host *host, enum host_direction direction,
                        const struct host_memory *memory, int turn, struct host_result *result,
                        struct gpubind_error *err)
{
    int status = 0, times = result->times;
    double seconds;

    MPI_Barrier(MPI_COMM_WORLD);
    if (turn == host->rank) {
        status = host_measure(host, direction, memory, memory, result, err);
    } else if (turn == host->n) {
        /* Repeats as often as alone: ranks that are not slowed down finish first. */
        status = host_copy(host, direction, memory, memory, times, &seconds, err);
        if (status == 0) {
            result->ms = 1e3 * seconds / times;
            result->bytes_per_s = (double)host->options->size * times / seconds;
            status = host_check(host, direction, memory, memory, &result->wrong, err);
        }
    }
    return agree(host, status, err);
}

/* What each rank measured, and the sum. */
static int add_rows(struct host *host, enum host_direction direction, const char *when,
                    const char *sum_word, const struct host_result *mine, struct gpubind_error *err)
{
    struct host_result *all = calloc((size_t)host->n, sizeof *all), sum;
    int status = agree(host, all ? 0 : error_set(err, "out of memory"), err);

    memset(&sum, 0, sizeof sum);
    if (status == 0)
        MPI_Gather(mine, sizeof *mine, MPI_BYTE, all, sizeof *mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < host->n && status == 0 && host->rank == 0; i++) {
        host_add(host, "together", direction, &all[i]);
        table_set_number(host->table, HOST_RANK, i);
        table_set_word(host->table, HOST_WHEN, when);
        sum.bytes_per_s += all[i].bytes_per_s;
        sum.wrong |= all[i].wrong;
    }
    if (status == 0 && host->rank == 0) {
        host_add(host, "together", direction, &sum);
        table_set_word(host->table, HOST_WHEN, sum_word);
    }
    free(all);
    return status;
}

static int measure_way(struct host *host, enum host_direction direction,
                       const struct host_memory *memory, struct gpubind_error *err)
{
    struct host_result result;

    memset(&result, 0, sizeof result);
    for (int turn = 0; turn <= host->n; turn++) {
        if (host->rank == 0)
            output_progress(host->options, "copies %s, %s", host_direction_word(direction),
                            turn < host->n ? "each rank alone" : "all ranks at once");
        if (measure_turn(host, direction, memory, turn, &result, err) < 0)
            return -1;
        if (turn >= host->n - 1 &&
            add_rows(host, direction, turn < host->n ? "alone" : "all at once",
                     turn < host->n ? "alone, sum" : "all at once, sum", &result, err) < 0)
            return -1;
    }
    return 0;
}

struct place {
    char host[65], port[24];
};

/* Notes which ranks have GPUs behind the same root port, by sysfs. */
static void note_ports(const struct host *host)
{
    struct place mine = {"", ""}, *all = calloc((size_t)host->n, sizeof *all);

    if (!all)
        ranks_die("out of memory");
    gethostname(mine.host, sizeof mine.host - 1);
    sysfs_root_port(host->gpu.pci, mine.port);
    MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int i = 0; i < host->n && host->rank == 0; i++) {
        struct place first = all[i];
        struct text list = {0};

        if (!*first.port)
            continue;
        for (int j = i + 1; j < host->n; j++)
            if (memcmp(&all[j], &first, sizeof first) == 0) {
                text_add(&list, ", %d", j);
                *all[j].port = '\0';
            }
        if (list.length)
            text_add(&host->table->notes, "behind one root port, %s, are the GPUs of ranks %d%s\n",
                     first.port, i, list.bytes);
        text_clear(&list);
    }
    free(all);
}

int host_measure_together(struct host *host, struct gpubind_error *err)
{
    struct host_memory memory;
    int status;

    if (host->n == 1) {
        text_add(&host->table->notes, "one rank: whether GPUs share their way to the host is "
                                      "seen with one rank for each (mpirun -np N)\n");
        return 0;
    }
    note_ports(host);
    status = host_memory_make(host, -1, true, &memory, err);
    status = agree(host, status, err);
    for (int direction = 0; direction <= HOST_DOWN && status == 0; direction++)
        status = measure_way(host, (enum host_direction)direction, &memory, err);
    host_memory_clear(&memory);
    return status;
}
