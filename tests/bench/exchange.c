/* What exchanges between two GPUs and strided copies take:
 *     exchange [STEPS [ROWS]]
 * Starts its second process itself; each has one GPU. Rows to both neighbours, who are the
 * same GPU here: us a step, on a stream and in a graph of GRAPH_STEPS. Then copies of
 * strided data within a GPU. Data are looked at after every measurement; "WRONG" behind a
 * line says that they were not as they should be, and so does exit status 1. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpu/core/kernels.h"
#include "gpu/core/waiting_blocks.h"
#include "tests/exchange/side.h"

#define GRAPH_STEPS \
    20 /* an even number: channels without handshakes alternate between two sets of flags */
#define WARM 5
#define STRIDE 512u

struct CUgraph_st;
struct CUgraphExec_st;

static struct {
    int (*begin)(struct CUstream_st *, int);
    int (*end)(struct CUstream_st *, struct CUgraph_st **);
    int (*instantiate)(struct CUgraphExec_st **, struct CUgraph_st *, unsigned long long);
    int (*launch)(struct CUgraphExec_st *, struct CUstream_st *);
    int (*destroy_executable)(struct CUgraphExec_st *);
    int (*destroy)(struct CUgraph_st *);
} graphs;

static int failures;

static void find_graphs(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);

    *(void **)&graphs.begin = dlsym(driver, "cuStreamBeginCapture_v2");
    *(void **)&graphs.end = dlsym(driver, "cuStreamEndCapture");
    *(void **)&graphs.instantiate = dlsym(driver, "cuGraphInstantiateWithFlags");
    *(void **)&graphs.launch = dlsym(driver, "cuGraphLaunch");
    *(void **)&graphs.destroy_executable = dlsym(driver, "cuGraphExecDestroy");
    *(void **)&graphs.destroy = dlsym(driver, "cuGraphDestroy");
}

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void wait_for(const struct side *side)
{
    must(gpu_driver()->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
}

struct way {
    const char *name;
    bool kernel, no_handshake;
};

/* One step: a row to either neighbour, and one from either. Steps with and without sure
 * pairs take turns with two sets of words and buffers. */
static void step(const struct side *side, const struct way *way, size_t nbytes, int number)
{
    struct exchange_send sends[2];
    struct exchange_receive receives[2];
    struct gpubind_error err;

    for (int i = 0; i < 2; i++) {
        const int message = i + 2 * (number % 2);
        const cuda_address skip = (unsigned)message * nbytes;
        const unsigned parts = way->kernel ? exchange_parts(nbytes) : 1;
        struct strided_buffer from = {side->own.out + skip, nbytes, {1, 1, 1}, {0, 0, 0}};
        struct strided_buffer to = from;

        to.address = side->other.in + skip;
        sends[i] = (struct exchange_send){.from = from,
                                          .to = to,
                                          .nbytes = nbytes,
                                          .parts = parts,
                                          .no_handshake = way->no_handshake,
                                          .ready = ready_words(&side->own, message),
                                          .done = done_words(&side->other, message)};
        receives[i] = (struct exchange_receive){.ready = ready_words(&side->other, message),
                                                .done = done_words(&side->own, message),
                                                .parts = parts,
                                                .no_handshake = way->no_handshake};
    }
    if (exchange_start(side->gpu, side->stream, sends, 2, receives, 2,
                       waiting_blocks_of_some(side->gpu), &err) == 0)
        return;
    fprintf(stderr, "%s\n", err.text);
    abort();
}

static double on_stream(const struct side *side, const struct way *way, size_t nbytes, int steps)
{
    double start = 0;

    for (int i = -2 * WARM; i < steps; i++) {
        if (i == 0) {
            wait_for(side);
            side_meet(side);
            start = now_us();
        }
        step(side, way, nbytes, i + 2 * WARM);
    }
    wait_for(side);
    return (now_us() - start) / steps;
}

/* Negative: the driver has no graphs, or takes this into none. */
static double in_graph(const struct side *side, const struct way *way, size_t nbytes, int steps)
{
    const int launches = steps / GRAPH_STEPS + 1;
    struct CUgraphExec_st *executable;
    struct CUgraph_st *graph;
    double start = 0;

    if (!graphs.instantiate)
        return -1;
    must(graphs.begin(side->stream, CUDA_CAPTURE_RELAXED), "cuStreamBeginCapture");
    for (int i = 0; i < GRAPH_STEPS; i++)
        step(side, way, nbytes, i);
    must(graphs.end(side->stream, &graph), "cuStreamEndCapture");
    must(graphs.instantiate(&executable, graph, 0), "cuGraphInstantiate");
    side_meet(side);
    for (int i = -WARM; i < launches; i++) {
        if (i == 0) {
            wait_for(side);
            side_meet(side);
            start = now_us();
        }
        must(graphs.launch(executable, side->stream), "cuGraphLaunch");
    }
    wait_for(side);
    start = (now_us() - start) / (launches * GRAPH_STEPS);
    must(graphs.destroy_executable(executable), "cuGraphExecDestroy");
    must(graphs.destroy(graph), "cuGraphDestroy");
    return start;
}

/* The senders' value of this measurement in all of what they send, nothing at the other end. */
static void prepare(const struct side *side, size_t nbytes, unsigned char value)
{
    const struct cuda_driver *cuda = gpu_driver();

    must(cuda->cuMemsetD8Async(side->own.out, (unsigned char)(value + side->rank), nbytes,
                               side->stream),
         "cuMemsetD8Async");
    must(cuda->cuMemsetD8Async(side->own.in, 0, nbytes, side->stream), "cuMemsetD8Async");
    wait_for(side);
    side_meet(side);
}

static bool came(const struct side *side, size_t nbytes, unsigned char value)
{
    unsigned char *bytes = malloc(nbytes);
    bool good = true;

    if (!bytes)
        abort();
    must(gpu_driver()->cuMemcpyDtoHAsync_v2(bytes, side->own.in, nbytes, side->stream),
         "cuMemcpyDtoHAsync");
    wait_for(side);
    for (size_t i = 0; i < nbytes; i++)
        good &= bytes[i] == value;
    free(bytes);
    side_meet(side);
    return good;
}

static double measure(const struct side *side, const struct way *way, size_t nbytes, int steps,
                      double (*how)(const struct side *, const struct way *, size_t, int),
                      bool *good)
{
    static unsigned char value = 1;
    double us;

    value = (unsigned char)(value % 200 + 2);
    prepare(side, 4 * nbytes, value);
    us = how(side, way, nbytes, steps);
    if (us >= 0)
        *good &= came(side, 4 * nbytes, (unsigned char)(value + !side->rank));
    return us;
}

static void exchanges(const struct side *side, int steps)
{
    static const struct way ways[] = {
        {"kernel", true, false},
        {"kernel, no handshake", true, true},
        {"operations", false, false},
        {"operations, no handshake", false, true},
    };
    static const size_t sizes[] = {8, 64 << 10, 256 << 10, 1 << 20, 4 << 20};

    if (!side->rank)
        printf("%-20s %10s %10s %10s\n", "us a step", "bytes", "stream", "graph");
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
        kernels_allow(ways[w].kernel);
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            bool good = true;
            double stream, graph;

            if (ways[w].kernel && !exchange_has_kernel(side->gpu))
                break;
            stream = measure(side, &ways[w], sizes[s], steps, on_stream, &good);
            graph = measure(side, &ways[w], sizes[s], steps, in_graph, &good);
            failures += !good;
            if (!side->rank)
                printf("%-20s %10zu %10.1f %10.1f%s\n", ways[w].name, sizes[s], stream, graph,
                       good ? "" : "  WRONG");
            fflush(stdout);
        }
    }
}

/* ---- strided copies within the GPU */

struct stride_case {
    const char *name;
    bool to, from; /* is it strided? else packed */
};

static struct strided_buffer rows_of(cuda_address address, uint32_t rows, uint64_t run,
                                     bool strided)
{
    return (struct strided_buffer){
        address, run, {rows, 1, 1}, {strided ? STRIDE : (int64_t)run, 0, 0}};
}

/* Only the rows' bytes, and all of them, were written: each with its number's low byte. */
static bool rows_came(const struct side *side, cuda_address to, uint32_t rows, uint64_t run,
                      bool strided)
{
    const size_t step = strided ? STRIDE : run, nbytes = (size_t)rows * step;
    unsigned char *bytes = malloc(nbytes);
    bool good = true;

    if (!bytes)
        abort();
    must(gpu_driver()->cuMemcpyDtoHAsync_v2(bytes, to, nbytes, side->stream), "cuMemcpyDtoHAsync");
    wait_for(side);
    for (size_t i = 0; i < nbytes; i++)
        good &= bytes[i] == (i % step < run ? (unsigned char)(i / step * 7 + i % step) : 0xEE);
    free(bytes);
    return good;
}

static void fill_rows(const struct side *side, cuda_address from, uint32_t rows, uint64_t run,
                      bool strided)
{
    const size_t step = strided ? STRIDE : run, nbytes = (size_t)rows * step;
    unsigned char *bytes = malloc(nbytes);

    if (!bytes)
        abort();
    for (size_t i = 0; i < nbytes; i++)
        bytes[i] = i % step < run ? (unsigned char)(i / step * 7 + i % step) : 0;
    must(gpu_driver()->cuMemcpyHtoDAsync_v2(from, bytes, nbytes, side->stream),
         "cuMemcpyHtoDAsync");
    wait_for(side);
    free(bytes);
}

static double copy_rows(const struct side *side, const struct strided_buffer *to,
                        const struct strided_buffer *from, uint64_t nbytes, int steps)
{
    struct gpubind_error err;
    double start = 0;

    for (int i = -WARM; i < steps; i++) {
        if (i == 0) {
            wait_for(side);
            start = now_us();
        }
        if (strided_copy(side->gpu, side->stream, to, from, nbytes, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            abort();
        }
    }
    wait_for(side);
    return (now_us() - start) / steps;
}

static void copies(const struct side *side, uint32_t most, int steps)
{
    static const struct stride_case kinds[] = {
        {"strided to strided", true, true},
        {"strided to packed", false, true},
        {"packed to strided", true, false},
    };
    static const uint64_t runs[] = {8, 64, 256};
    const struct cuda_driver *cuda = gpu_driver();
    const size_t nbytes = (size_t)most * STRIDE;
    cuda_address to, from;

    must(cuda->cuMemAlloc_v2(&to, nbytes), "cuMemAlloc");
    must(cuda->cuMemAlloc_v2(&from, nbytes), "cuMemAlloc");
    printf("\n%-20s %10s %10s %10s %10s %10s\n", "us a copy", "rows", "bytes", "kernel", "driver",
           "GB/s");
    for (size_t k = 0; k < 9; k++) {
        const struct stride_case *kind = &kinds[k % 3];
        const uint64_t run = runs[k / 3];
        const uint32_t rows = most * 8 / (uint32_t)run;
        const struct strided_buffer there = rows_of(to, rows, run, kind->to);
        const struct strided_buffer here = rows_of(from, rows, run, kind->from);
        double us[2];
        bool good = true;

        fill_rows(side, from, rows, run, kind->from);
        for (int driver = 0; driver < 2; driver++) {
            kernels_allow(!driver);
            must(cuda->cuMemsetD8Async(to, 0xEE, nbytes, side->stream), "cuMemsetD8Async");
            us[driver] = copy_rows(side, &there, &here, rows * run, steps);
            good &= rows_came(side, to, rows, run, kind->to);
        }
        failures += !good;
        printf("%-20s %10u %10llu %10.1f %10.1f %10.1f%s\n", kind->name, rows,
               (unsigned long long)run, us[0], us[1], (double)(rows * run) / us[0] / 1e3,
               good ? "" : "  WRONG");
        fflush(stdout);
    }
    must(cuda->cuMemFree_v2(to), "cuMemFree");
    must(cuda->cuMemFree_v2(from), "cuMemFree");
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 400;
    const uint32_t rows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1u << 20;
    struct side side;
    int status = 0, flush = 0;

    side_fork(&side);
    if (steps < 1 || rows < 32 || side_start(&side, 16u << 20) < 0) {
        fprintf(stderr, "exchange: needs a GPU, 1 step or more and 32 rows or more\n");
        return 2;
    }
    find_graphs();
    must(gpu_driver()->cuDeviceGetAttribute(&flush, CUDA_ATTRIBUTE_FLUSH_REMOTE_WRITES,
                                            side.gpu->ordinal),
         "cuDeviceGetAttribute");
    if (!side.rank)
        printf("waits flush remote writes: %s\n", flush ? "yes" : "no");
    exchanges(&side, steps);
    side_meet(&side);
    if (!side.rank)
        copies(&side, rows, steps / 10 + 1);
    side_end(&side);
    if (!side.rank)
        wait(&status);
    return failures || status ? 1 : 0;
}
