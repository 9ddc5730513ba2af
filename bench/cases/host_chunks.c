/* A computation that processes its data in chunks: copy up, work on the GPU, copy down, with
 * overlap. The work is a copy within the GPU. */
#include <stdio.h>

#include "bench/cases/host.h"
#include "bench/lib/stats.h"
#include "bench/output/output.h"

enum order { ONE_STREAM, DEPTH_FIRST, BREADTH_FIRST, ORDERS };

static const char *const order_words[] = {"one stream", "depth first", "breadth first"};

struct chunks {
    struct host *host;
    const struct host_memory *up, *down;
    size_t chunk;
    enum order order;
};

enum stage { STAGE_UP, STAGE_WORK, STAGE_DOWN, STAGES };

/* One stage of the chunk that begins at offset, in one of the streams. */
static int begin_stage(const struct chunks *chunks, enum stage stage, size_t offset, int stream)
{
    const struct host *host = chunks->host;
    gpu_stream in_stream = host->gpu.stream[stream];
    size_t left = host->options->size - offset;
    size_t nbytes = left < chunks->chunk ? left : chunks->chunk;
    gpu_address in = address_of(host->in.at + offset), out = address_of(host->out.at + offset);

    if (stage == STAGE_UP)
        return gpu_upload_async(in, chunks->up->buffer.at + offset, nbytes, in_stream);
    if (stage == STAGE_WORK)
        return gpu_copy_device_async(out, in, nbytes, in_stream);
    return gpu_download_async(chunks->down->buffer.at + offset, out, nbytes, in_stream);
}

/* The stages of two neighbouring chunks: first all of one, or stage by stage of both. */
static int begin_two(const struct chunks *chunks, size_t offset)
{
    bool breadth = chunks->order == BREADTH_FIRST;
    int status = GPU_OK;

    for (int i = 0; i < 2 * STAGES && status == GPU_OK; i++) {
        int which = breadth ? i % 2 : i / STAGES, stage = breadth ? i / 2 : i % STAGES;
        size_t at = offset + (size_t)which * chunks->chunk;

        if (at < chunks->host->options->size)
            status = begin_stage(chunks, (enum stage)stage, at,
                                 chunks->order == ONE_STREAM ? 0 : which);
    }
    return status;
}

static int run(const struct chunks *chunks, int times, double *seconds, struct gpubind_error *err)
{
    const struct host *host = chunks->host;
    double from = seconds_now();
    int status = GPU_OK;

    for (int i = 0; i < times && status == GPU_OK; i++)
        for (size_t at = 0; at < host->options->size && status == GPU_OK; at += 2 * chunks->chunk)
            status = begin_two(chunks, at);
    for (int i = 0; i < 2 && status == GPU_OK; i++)
        status = gpu_stream_synchronize(host->gpu.stream[i]);
    *seconds = seconds_now() - from;
    return gpu_check(status, "a copy in chunks failed", err);
}

static int check(const struct chunks *chunks, bool *wrong, struct gpubind_error *err)
{
    const struct buffer *up = &chunks->up->buffer, *down = &chunks->down->buffer;
    uint64_t seed = pattern_seed(++chunks->host->round, chunks->host->rank, HOST_BOTH);
    double seconds;
    int status;

    if (buffer_fill(up, 0, up->nbytes, seed, err) < 0 || run(chunks, 1, &seconds, err) < 0)
        return -1;
    status = buffer_check(down, 0, down->nbytes, seed, err);
    *wrong = status > 0;
    return status < 0 ? -1 : 0;
}

static int measure(const struct chunks *chunks, struct gpubind_error *err)
{
    struct host *host = chunks->host;
    struct host_result result = {0};
    double seconds;

    for (int i = 0; i < 2; i++)
        if (run(chunks, 1, &seconds, err) < 0)
            return -1;
    result.times = repeats_that_fit(host->options->repeats, seconds);
    if (run(chunks, result.times, &seconds, err) < 0 || check(chunks, &result.wrong, err) < 0)
        return -1;
    result.ms = 1e3 * seconds / result.times;
    result.bytes_per_s = (double)host->options->size * result.times / seconds;
    host_add(host, "chunks", HOST_BOTH, &result);
    table_set_word(host->table, HOST_MEMORY, "page-locked");
    table_set_word(host->table, HOST_ORDER, order_words[chunks->order]);
    table_set_number(host->table, HOST_CHUNK, (double)chunks->chunk);
    return 0;
}

static int measure_sizes(struct chunks *chunks, struct gpubind_error *err)
{
    const struct bench_options *options = chunks->host->options;

    for (int i = 0; i < options->nsizes; i++)
        for (int order = 0; order < ORDERS && options->sizes[i] <= options->size; order++) {
            struct text size = {0};

            chunks->chunk = options->sizes[i];
            chunks->order = (enum order)order;
            text_add_size(&size, chunks->chunk);
            output_progress(options, "chunks of %s, %s", size.bytes ? size.bytes : "",
                            order_words[order]);
            text_clear(&size);
            if (measure(chunks, err) < 0)
                return -1;
        }
    return 0;
}

int host_measure_chunks(struct host *host, struct gpubind_error *err)
{
    struct host_memory up, down;
    struct chunks chunks = {.host = host, .up = &up, .down = &down};
    int status;

    if (host_memory_make(host, -1, true, &up, err) < 0)
        return -1;
    status = host_memory_make(host, -1, true, &down, err);
    if (status == 0)
        status = measure_sizes(&chunks, err);
    host_memory_clear(&up);
    host_memory_clear(&down);
    return status;
}
