/* Copies up and down, and their host memory. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/cases/host.h"
#include "bench/lib/stats.h"
#include "bench/output/output.h"

#define BIND 2 /* MPOL_BIND of mbind(2), whose header is libnuma's */

const char *host_direction_word(enum host_direction direction)
{
    static const char *const words[] = {"up", "down", "both"};

    return words[direction];
}

/* Memory touched from now on is allocated on that node. */
static int bind_to_node(void *at, size_t nbytes, int node, struct gpubind_error *err)
{
    unsigned long mask[16] = {0}, bits = 8 * sizeof mask[0];

    if ((size_t)node >= 8 * sizeof mask)
        return error_set(err, "NUMA node %d is beyond what can be bound to", node);
    mask[(unsigned long)node / bits] = 1ul << (unsigned long)node % bits;
    if (syscall(SYS_mbind, at, nbytes, BIND, mask, 8 * sizeof mask, 0) < 0)
        return error_set(err, "memory cannot be bound to NUMA node %d: %s", node, strerror(errno));
    return 0;
}

static int lock(struct host_memory *memory, struct gpubind_error *err)
{
    int status = gpu_host_register(memory->buffer.at, memory->buffer.nbytes, GPU_REGISTER_PORTABLE);

    memory->locked = status == GPU_OK;
    return gpu_check(status, "host memory cannot be page-locked", err);
}

int host_memory_make(const struct host *host, int node, bool locked, struct host_memory *memory,
                     struct gpubind_error *err)
{
    memset(memory, 0, sizeof *memory);
    if (buffer_alloc(&memory->buffer, NULL, host->options->size, err) < 0)
        return -1;
    if ((node >= 0 && bind_to_node(memory->buffer.at, memory->buffer.nbytes, node, err) < 0) ||
        buffer_fill(&memory->buffer, 0, memory->buffer.nbytes, 0, err) < 0 ||
        (locked && lock(memory, err) < 0)) {
        host_memory_clear(memory);
        return -1;
    }
    return 0;
}

void host_memory_clear(struct host_memory *memory)
{
    if (memory->locked)
        gpu_host_unregister(memory->buffer.at);
    buffer_free(&memory->buffer);
    memory->locked = false;
}

static int begin_copy(const struct host *host, enum host_direction direction,
                      const struct host_memory *up, const struct host_memory *down)
{
    size_t nbytes = host->options->size;
    int status = GPU_OK;

    if (direction != HOST_DOWN)
        status = gpu_upload_async(address_of(host->in.at), up->buffer.at, nbytes,
                                  host->gpu.stream[0]);
    if (direction != HOST_UP && status == GPU_OK)
        status = gpu_download_async(down->buffer.at, address_of(host->out.at), nbytes,
                                    host->gpu.stream[1]);
    return status;
}

int host_copy(const struct host *host, enum host_direction direction, const struct host_memory *up,
              const struct host_memory *down, int times, double *seconds, struct gpubind_error *err)
{
    static const char *const failures[] = {"a copy to the GPU failed", "a copy from the GPU failed",
                                           "a copy to or from the GPU failed"};
    double from = seconds_now();
    int status = GPU_OK;

    for (int i = 0; i < times && status == GPU_OK; i++)
        status = begin_copy(host, direction, up, down);
    for (int i = 0; i < 2 && status == GPU_OK; i++)
        status = gpu_stream_synchronize(host->gpu.stream[i]);
    *seconds = seconds_now() - from;
    return gpu_check(status, failures[direction], err);
}

/* Sets *wrong if the buffer does not hold the pattern. */
static int compare(const struct buffer *buffer, uint64_t seed, bool *wrong,
                   struct gpubind_error *err)
{
    int status = buffer_check(buffer, 0, buffer->nbytes, seed, err);

    *wrong |= status > 0;
    return status < 0 ? -1 : 0;
}

int host_check(struct host *host, enum host_direction direction, const struct host_memory *up,
               const struct host_memory *down, bool *wrong, struct gpubind_error *err)
{
    uint64_t above = pattern_seed(++host->round, host->rank, HOST_UP);
    uint64_t below = pattern_seed(host->round, host->rank, HOST_DOWN);
    double seconds;

    if (direction != HOST_DOWN && buffer_fill(&up->buffer, 0, up->buffer.nbytes, above, err) < 0)
        return -1;
    if (direction != HOST_UP && buffer_fill(&host->out, 0, host->out.nbytes, below, err) < 0)
        return -1;
    if (host_copy(host, direction, up, down, 1, &seconds, err) < 0)
        return -1;
    if (direction != HOST_DOWN && compare(&host->in, above, wrong, err) < 0)
        return -1;
    return direction != HOST_UP ? compare(&down->buffer, below, wrong, err) : 0;
}

int host_measure(struct host *host, enum host_direction direction, const struct host_memory *up,
                 const struct host_memory *down, struct host_result *result,
                 struct gpubind_error *err)
{
    double seconds, directions = direction == HOST_BOTH ? 2 : 1;

    memset(result, 0, sizeof *result);
    /* The first copy sets up page tables, the second estimates the time of one. */
    for (int i = 0; i < 2; i++)
        if (host_copy(host, direction, up, down, 1, &seconds, err) < 0)
            return -1;
    result->times = repeats_that_fit(host->options->repeats, seconds);
    if (host_copy(host, direction, up, down, result->times, &seconds, err) < 0)
        return -1;
    result->ms = 1e3 * seconds / result->times;
    result->bytes_per_s = directions * (double)host->options->size * result->times / seconds;
    return host_check(host, direction, up, down, &result->wrong, err);
}

int host_measure_copies(struct host *host, struct gpubind_error *err)
{
    static const char *const words[] = {"pageable", "page-locked"};
    struct host_memory up, down;
    struct host_result result;
    int status = 0;

    for (int locked = 0; locked < 2 && status == 0; locked++) {
        if (host_memory_make(host, -1, locked, &up, err) < 0)
            return -1;
        status = host_memory_make(host, -1, locked, &down, err);
        /* A copy of pageable memory is complete when its call returns, so both directions cannot
         * overlap. */
        for (int direction = 0; status == 0 && direction <= (locked ? HOST_BOTH : HOST_DOWN);
             direction++) {
            output_progress(host->options, "copies %s, %s memory", host_direction_word(direction),
                            words[locked]);
            status = host_measure(host, (enum host_direction)direction, &up, &down, &result, err);
            if (status < 0)
                break;
            host_add(host, "copies", (enum host_direction)direction, &result);
            table_set_word(host->table, HOST_MEMORY, words[locked]);
        }
        host_memory_clear(&up);
        host_memory_clear(&down);
    }
    return status;
}
