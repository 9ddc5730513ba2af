/* Set-up of pt2pt: ranks, methods, GPUs, buffers, and their description. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/machine.h"
#include "bench/pt2pt/pt2pt.h"
#include "bench/pt2pt/task.h"
#include "core/base/json.h"

#define MEMORY ((size_t)8 << 30)

const char *pt2pt_method_word(const struct pt2pt *pt2pt, enum method method)
{
    static const char *const words[] = {"gpubind", "mpi"};

    if (method != METHOD_COPY)
        return words[method];
    return pt2pt->copier.kind == COPY_STAGED ? "staged" : "copy";
}

void pt2pt_find_methods(struct pt2pt *pt2pt)
{
    const struct bench_options *options = pt2pt->options;

    pt2pt->use[METHOD_GPUBIND] = options->compare || options->api == API_GPUBIND;
    pt2pt->use[METHOD_MPI] = options->compare || options->api == API_MPI;
    pt2pt->use[METHOD_COPY] = pt2pt->copier.kind != COPY_NONE;
}

/* An eighth of the memory of the GPU, or of the rank's share of the host's, 8 GiB at most. */
static size_t default_memory(const struct pt2pt *pt2pt)
{
    size_t there = pt2pt->gpu.memory;

    if (!pt2pt->has_gpu)
        there = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) /
                (size_t)pt2pt->ranks.n;
    return there / 8 < MEMORY ? there / 8 : MEMORY;
}

static void choose_memory(struct pt2pt *pt2pt)
{
    unsigned long long nbytes = pt2pt->options->memory;

    if (!nbytes)
        nbytes = pt2pt->ranks.pair < 0 ? MEMORY : default_memory(pt2pt);
    /* Windows depend on it, so all ranks use the minimum. */
    MPI_Allreduce(MPI_IN_PLACE, &nbytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    pt2pt->memory = (size_t)nbytes / 2;
}

static int check_awareness(const struct pt2pt *pt2pt, struct gpubind_error *err)
{
    const struct bench_options *options = pt2pt->options;

    if (!pt2pt->use[METHOD_MPI] || options->buffers == BUFFERS_HH || options->force ||
        machine_mpi_is_cuda_aware())
        return 0;
    return error_set(err,
                     "this MPI does not say that it is CUDA-aware: plain MPI is measured under "
                     "gpubind --gpu-aware, with --buffers hh, or on device memory with --force");
}

static int open_gpu(struct pt2pt *pt2pt, struct gpubind_error *err)
{
    const char *word = bench_buffers_word(pt2pt->options->buffers);
    double from = seconds_now();
    struct gpubind_error why;

    if (pt2pt->ranks.pair >= 0 && word[pt2pt->ranks.lower ? 0 : 1] == 'd') {
        if (gpu_open(&pt2pt->gpu, pt2pt->ranks.local, &why) < 0)
            return error_set(err, "rank %d: %s (--buffers hh measures host memory)",
                             pt2pt->ranks.rank, why.text);
        pt2pt->has_gpu = true;
        pt2pt->gpu_ms = 1e3 * (seconds_now() - from);
    }
    return 0;
}

static int alloc_buffers(struct pt2pt *pt2pt, struct gpubind_error *err)
{
    const struct bench_gpu *gpu = pt2pt->has_gpu ? &pt2pt->gpu : NULL;
    size_t nbytes;

    if (tasks_memory(pt2pt, &nbytes, err) < 0)
        return -1;
    if (pt2pt->ranks.pair < 0)
        return 0;
    if (buffer_alloc(&pt2pt->out, gpu, nbytes, err) < 0)
        return -1;
    return buffer_alloc(&pt2pt->in, gpu, nbytes, err);
}

int pt2pt_open(struct pt2pt *pt2pt, struct gpubind_error *err)
{
    if (ranks_pair(pt2pt->options->pairs, &pt2pt->ranks, err) < 0)
        return -1;
    pt2pt_find_methods(pt2pt);
    if (check_awareness(pt2pt, err) < 0 ||
        ranks_agree(MPI_COMM_WORLD, open_gpu(pt2pt, err), err) < 0)
        return -1;
    MPI_Allreduce(MPI_IN_PLACE, &pt2pt->gpu_ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    choose_memory(pt2pt);
    return ranks_agree(MPI_COMM_WORLD, alloc_buffers(pt2pt, err), err);
}

void pt2pt_clear(struct pt2pt *pt2pt)
{
    buffer_free(&pt2pt->out);
    buffer_free(&pt2pt->in);
    gpu_close(&pt2pt->gpu);
    ranks_clear(&pt2pt->ranks);
}

/* ---- description */

static void add_run(const struct pt2pt *pt2pt, struct text *text)
{
    static const char *const buffers[] = {"device to device", "device to host", "host to device",
                                          "host to host"};
    const struct bench_options *options = pt2pt->options;

    text_add(text, "gpubind-bench %s pt2pt: %d ranks, %d pair%s, %s\n", PACKAGE_VERSION,
             pt2pt->ranks.n, pt2pt->ranks.npairs, pt2pt->ranks.npairs == 1 ? "" : "s",
             buffers[options->buffers]);
    text_add(text, "calls: %s%s%s, path: %s, compared with: %s\n",
             pt2pt->use[METHOD_GPUBIND] ? "gpubind" : "", options->compare ? " and " : "",
             pt2pt->use[METHOD_MPI] ? "plain MPI" : "",
             !pt2pt->use[METHOD_GPUBIND] ? "MPI's"
             : options->path             ? options->path
                                         : "chosen by the library",
             pt2pt->use[METHOD_COPY] ? pt2pt_method_word(pt2pt, METHOD_COPY) : "no bare copy");
}

/* The line of this rank: its host and GPU. */
static void rank_line(const struct pt2pt *pt2pt, char line[MACHINE_LINE])
{
    struct text text = {0};
    char host[65] = "";

    *line = '\0';
    if (pt2pt->ranks.pair < 0)
        return;
    gethostname(host, sizeof host - 1);
    text_add(&text, "rank %d: %s, ", pt2pt->ranks.rank, host);
    if (pt2pt->has_gpu) {
        machine_add_gpu("", &pt2pt->gpu, &text);
    } else {
        text_add(&text, "host memory");
    }
    snprintf(line, MACHINE_LINE, "%s\n", text.bytes ? text.bytes : "");
    text_clear(&text);
}

static void add_start(const struct pt2pt *pt2pt, struct table *table)
{
    struct json json = {.text = &table->properties, .spaced = true, .comma = true};

    text_add(&table->start, "start: MPI_Init %.1f ms, then the GPU's context %.1f ms\n",
             table->start_ms, pt2pt->gpu_ms);
    json_newline(&json, 1);
    json_value(&json, "ranks", "%d", pt2pt->ranks.n);
    json_value(&json, "pairs", "%d", pt2pt->ranks.npairs);
    json_string(&json, "buffers", bench_buffers_word(pt2pt->options->buffers));
    json_string(&json, "path", pt2pt->options->path);
    json_newline(&json, 1);
    json_value(&json, "start_ms", "%.3f", table->start_ms);
    json_value(&json, "gpu_ms", "%.3f", pt2pt->gpu_ms);
}

void pt2pt_describe(const struct pt2pt *pt2pt, struct table *table)
{
    char mine[MACHINE_LINE];

    rank_line(pt2pt, mine);
    if (pt2pt->ranks.rank == 0) {
        add_start(pt2pt, table);
        add_run(pt2pt, &table->machine);
        machine_add_host(&table->machine);
    }
    machine_gather_lines(mine, MPI_COMM_WORLD, &table->machine);
    if (pt2pt->ranks.rank == 0)
        machine_add_mpi(&table->machine);
}
