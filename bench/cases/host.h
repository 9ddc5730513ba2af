/* The subcommand host: copies between a GPU and the memory of its host. */
#ifndef GPUBIND_BENCH_CASES_HOST_H
#define GPUBIND_BENCH_CASES_HOST_H

#include "bench/lib/buffer.h"
#include "bench/output/runner.h"

/* In the order in which they are measured. */
enum host_measure { HOST_COPIES, HOST_CHUNKS, HOST_NUMA, HOST_TOGETHER };

enum host_direction { HOST_UP, HOST_DOWN, HOST_BOTH };
const char *host_direction_word(enum host_direction direction);

struct host {
    const struct bench_options *options;
    struct table *table;
    int rank, n;
    struct bench_gpu gpu;
    struct buffer in, out; /* of the GPU: uploads go to in, downloads come from out */
    int round;             /* number of the contents, so that no pattern is used twice */
};

/* Memory of the host, of options->size. */
struct host_memory {
    struct buffer buffer;
    bool locked;
};

/* node: the NUMA node to allocate on, or -1 for any. On failure memory is empty. */
int host_memory_make(const struct host *host, int node, bool locked, struct host_memory *memory,
                     struct gpubind_error *err);
void host_memory_clear(struct host_memory *memory);

struct host_result {
    int times;
    double ms;          /* of one copy, or of two at once */
    double bytes_per_s; /* both ways together */
    bool wrong;
};

/* Copies options->size bytes up from one, down to the other, `times` times, and stores the
 * duration. Contents are not checked. A memory that the direction does not need may be NULL. */
int host_copy(const struct host *host, enum host_direction direction, const struct host_memory *up,
              const struct host_memory *down, int times, double *seconds,
              struct gpubind_error *err);
/* Copies new contents once and compares them. */
int host_check(struct host *host, enum host_direction direction, const struct host_memory *up,
               const struct host_memory *down, bool *wrong, struct gpubind_error *err);
int host_measure(struct host *host, enum host_direction direction, const struct host_memory *up,
                 const struct host_memory *down, struct host_result *result,
                 struct gpubind_error *err);

/* The schema of the table. */
extern const struct table_schema host_schema;
enum host_column {
    HOST_MEASURE,
    HOST_MEMORY,
    HOST_WAY,
    HOST_ORDER,
    HOST_CHUNK,
    HOST_NODE,
    HOST_NEAR,
    HOST_RANK,
    HOST_WHEN,
    HOST_BYTES,
    HOST_REPEATS,
    HOST_MS,
    HOST_GB_PER_S,
    HOST_DATA,
    HOST_COLUMNS
};
/* Adds a row with the cells that all rows have; the caller sets the others. */
void host_add(struct host *host, const char *measure, enum host_direction direction,
              const struct host_result *result);

/* The measurements. Rank 0 alone: */
int host_measure_copies(struct host *host, struct gpubind_error *err);
int host_measure_chunks(struct host *host, struct gpubind_error *err);
int host_measure_numa(struct host *host, struct gpubind_error *err);
/* Collective; returns the same on all ranks. */
int host_measure_together(struct host *host, struct gpubind_error *err);

#endif
