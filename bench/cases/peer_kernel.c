/* The subcommand peer-kernel: a kernel of the first GPU accesses its own memory and that of each
 * GPU it has peer access to. */
#include <string.h>

#include "bench/cases/cases.h"
#include "bench/cases/p2p.h"
#include "bench/cases/peer_kernel_schema.h"
#include "bench/lib/kernel_launch.h"
#include "bench/lib/kernels.h"
#include "bench/output/output.h"

#define CHAIN_STEPS 10000

struct peer_run {
    struct p2p p2p;
    struct kernels kernels; /* on the first GPU */
};

static unsigned many_blocks(const struct peer_run *run)
{
    return 8 * (unsigned)run->kernels.processors;
}

/* Writes numbers, doubles them repeatedly for the measurement, writes them again, doubles them once
 * and compares. */
static int measure_doubling(struct peer_run *run, int pattern, int memory, void *at,
                            struct gpubind_error *err)
{
    uint64_t n = run->p2p.options->size / 8, wrong;
    double factor = 2, seconds;
    void *count = run->kernels.count;
    const struct launch number = {"bench_number", many_blocks(run), 256, (void *[]){&at, &n}};
    const struct launch twice = {"bench_double", many_blocks(run), 256,
                                 (void *[]){&at, &n, &pattern}};
    const struct launch compare = {"bench_numbered", many_blocks(run), 256,
                                   (void *[]){&at, &n, &factor, &count}};

    if (kernels_run(&run->kernels, &number, 1, NULL, err) < 0 ||
        kernels_time(&run->kernels, &twice, run->p2p.options->time_ms, &seconds, err) < 0 ||
        kernels_run(&run->kernels, &number, 1, NULL, err) < 0 ||
        kernels_run(&run->kernels, &twice, 1, NULL, err) < 0 ||
        kernels_count(&run->kernels, &compare, &wrong, err) < 0)
        return -1;
    peer_kernel_add_row(run->p2p.table, pattern, memory, (double)n, 16, seconds, wrong > 0);
    return 0;
}

static int measure_chain(struct peer_run *run, int memory, void *at, struct gpubind_error *err)
{
    uint64_t n = run->p2p.options->size / 8, steps = CHAIN_STEPS, end;
    void *count = run->kernels.count;
    double seconds;
    const struct launch link = {"bench_link", many_blocks(run), 256, (void *[]){&at, &n}};
    const struct launch chain = {"bench_chain", 1, 1, (void *[]){&at, &steps, &count}};

    if (kernels_run(&run->kernels, &link, 1, NULL, err) < 0 ||
        kernels_time(&run->kernels, &chain, run->p2p.options->time_ms, &seconds, err) < 0 ||
        kernels_count(&run->kernels, &chain, &end, err) < 0)
        return -1;
    peer_kernel_add_row(run->p2p.table, PATTERN_CHAIN, memory, (double)steps, 8, seconds,
                        end != (steps * CHAIN_STRIDE & (n - 1)));
    return 0;
}

static int measure_memory(struct peer_run *run, int memory, struct gpubind_error *err)
{
    struct p2p *p2p = &run->p2p;
    void *at = p2p->gpus[memory].in.at;

    if (memory > 0 && !p2p_reaches(p2p, 0, memory)) {
        text_add(&p2p->table->notes, "GPU 0 cannot access GPU %d\n", memory);
        return 0;
    }
    if (memory > 0 && p2p_access(p2p, 0, memory, true, err) < 0)
        return -1;
    if (gpu_use(&p2p->gpus[0].gpu, err) < 0)
        return -1;
    for (int pattern = 0; pattern < PATTERN_CHAIN; pattern++) {
        output_progress(p2p->options, "%s, memory of GPU %d", peer_kernel_pattern(pattern), memory);
        if (measure_doubling(run, pattern, memory, at, err) < 0)
            return -1;
    }
    return measure_chain(run, memory, at, err);
}

static int measure_all(struct peer_run *run, struct gpubind_error *err)
{
    struct p2p *p2p = &run->p2p;
    const size_t size = p2p->options->size;
    int status;

    if (size < 4096 || (size & (size - 1)))
        return error_set(err, "--size: %zu bytes are no power of 2 from 4K on", size);
    if (!bench_kernel_image) /* before the GPUs are opened, which takes seconds */
        return kernels_open(NULL, &run->kernels, err);
    if (p2p_open(p2p, size, err) < 0)
        return -1;
    if (!p2p->n)
        return error_set(err, "no GPU is visible: there is nothing to measure");
    status = gpu_use(&p2p->gpus[0].gpu, err);
    if (status == 0)
        status = kernels_open(&p2p->gpus[0].gpu, &run->kernels, err);
    if (status)
        return status;
    p2p_describe(p2p, "peer-kernel",
                 "one GPU is visible: its own memory is all there is to measure");
    for (int memory = 0; memory < p2p->n; memory++)
        if (measure_memory(run, memory, err) < 0)
            return -1;
    return 0;
}

static int fill_here(const struct bench_options *options, struct table *table,
                     struct gpubind_error *err)
{
    struct peer_run run = {.p2p = {.options = options, .table = table}};
    int status = measure_all(&run, err);

    if (run.kernels.gpu && gpu_use(run.kernels.gpu, NULL) == 0)
        kernels_close(&run.kernels);
    p2p_close(&run.p2p);
    return status;
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    return benchmark_fill_on_rank0(fill_here, options, table, err);
}

const struct benchmark peer_kernel_benchmark = {&peer_kernel_schema, fill, false};
