/* Who works with what: ranks, GPUs, buffers. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/machine.h"
#include "bench/pt2pt/task.h"

#define MEMORY ((size_t)8 << 30)

void bench_find_methods(struct bench *bench)
{
    const struct bench_options *options = bench->options;

    bench->use[METHOD_GPUBIND] = options->compare || options->api == API_GPUBIND;
    bench->use[METHOD_MPI] = options->compare || options->api == API_MPI;
    bench->use[METHOD_COPY] = bench->copier.way != COPY_NONE;
}

/* Of a rank: an eighth of what its GPU has, or its share of the host, 8 GiB at most. */
static size_t default_memory(const struct bench *bench)
{
    size_t there = bench->gpu.memory;

    if (!bench->has_gpu)
        there = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) /
                (size_t)bench->ranks.n;
    return there / 8 < MEMORY ? there / 8 : MEMORY;
}

static void choose_memory(struct bench *bench)
{
    unsigned long long nbytes = bench->options->memory;

    if (!nbytes)
        nbytes = bench->ranks.pair < 0 ? MEMORY : default_memory(bench);
    /* Windows depend on it: all have the same. */
    MPI_Allreduce(MPI_IN_PLACE, &nbytes, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
    bench->memory = (size_t)nbytes / 2;
}

static int check_awareness(const struct bench *bench, struct gpubind_error *err)
{
    const struct bench_options *options = bench->options;

    if (!bench->use[METHOD_MPI] || options->buffers == BUFFERS_HH || options->force ||
        api_is_cuda_aware())
        return 0;
    return error_set(err, "this MPI does not say that it is CUDA-aware: plain MPI is measured "
                          "with --buffers hh, or on device memory with --force");
}

static int open_gpu(struct bench *bench, double *gpu_ms, struct gpubind_error *err)
{
    const char *word = bench_buffers_word(bench->options->buffers);
    double took = 0, from = seconds_now();
    struct gpubind_error why;

    if (bench->ranks.pair >= 0 && word[bench->ranks.lower ? 0 : 1] == 'd') {
        if (gpu_open(&bench->gpu, bench->ranks.local, &why) < 0)
            return error_set(err, "rank %d: %s (--buffers hh measures host memory)",
                             bench->ranks.rank, why.text);
        bench->has_gpu = true;
        took = 1e3 * (seconds_now() - from);
    }
    *gpu_ms = took;
    return 0;
}

static int make_areas(struct bench *bench, struct gpubind_error *err)
{
    const struct bench_gpu *gpu = bench->has_gpu ? &bench->gpu : NULL;
    size_t nbytes;

    if (tasks_memory(bench, &nbytes, err) < 0)
        return -1;
    if (bench->ranks.pair < 0)
        return 0;
    if (area_make(&bench->out, gpu, nbytes, err) < 0)
        return -1;
    return area_make(&bench->in, gpu, nbytes, err);
}

int bench_make(struct bench *bench, double *gpu_ms, struct gpubind_error *err)
{
    if (ranks_pair(bench->options->pairs, &bench->ranks, err) < 0)
        return -1;
    bench_find_methods(bench);
    if (check_awareness(bench, err) < 0 ||
        ranks_agree(MPI_COMM_WORLD, open_gpu(bench, gpu_ms, err), err) < 0)
        return -1;
    MPI_Allreduce(MPI_IN_PLACE, gpu_ms, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    choose_memory(bench);
    return ranks_agree(MPI_COMM_WORLD, make_areas(bench, err), err);
}

void bench_clear(struct bench *bench)
{
    area_clear(&bench->out);
    area_clear(&bench->in);
    gpu_close(&bench->gpu);
    ranks_clear(&bench->ranks);
}

/* ---- for the reader of the results */

static void add_run(const struct bench *bench, const char *copy_name, struct text *text)
{
    static const char *const buffers[] = {"device to device", "device to host", "host to device",
                                          "host to host"};
    const struct bench_options *options = bench->options;

    text_add(text, "gpubind-bench %s pt2pt: %d ranks, %d pair%s, %s\n", PACKAGE_VERSION,
             bench->ranks.n, bench->ranks.npairs, bench->ranks.npairs == 1 ? "" : "s",
             buffers[options->buffers]);
    text_add(text, "calls: %s%s%s, path: %s, compared with: %s\n",
             bench->use[METHOD_GPUBIND] ? "gpubind" : "",
             options->compare ? " and " : "", bench->use[METHOD_MPI] ? "plain MPI" : "",
             !bench->use[METHOD_GPUBIND] ? "MPI's"
             : options->path             ? options->path
                                         : "chosen by the library",
             copy_name ? copy_name : "no bare copy");
}

/* What this rank works with, as its line. */
static void rank_line(const struct bench *bench, char line[MACHINE_LINE])
{
    struct text text = {0};
    char host[65] = "";

    *line = '\0';
    if (bench->ranks.pair < 0)
        return;
    gethostname(host, sizeof host - 1);
    text_add(&text, "rank %d: %s, ", bench->ranks.rank, host);
    if (bench->has_gpu) {
        machine_add_gpu("", &bench->gpu, &text);
    } else {
        text_add(&text, "host memory");
    }
    snprintf(line, MACHINE_LINE, "%s\n", text.bytes ? text.bytes : "");
    text_clear(&text);
}

void bench_describe(const struct bench *bench, const char *copy_name, struct text *text)
{
    char mine[MACHINE_LINE];

    rank_line(bench, mine);
    if (bench->ranks.rank == 0) {
        add_run(bench, copy_name, text);
        machine_add_host(text);
    }
    machine_gather_lines(mine, MPI_COMM_WORLD, text);
    if (bench->ranks.rank == 0)
        machine_add_mpi(text);
}
