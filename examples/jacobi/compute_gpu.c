/* The kernels of kernels.cu. */
#include "compute.h"
#include "kernels.h"

static const struct strip *strip;
static gpu_function plain, with_change;
static int march;      /* rows of a chunk */
static double *sums;   /* CHANGES of them, on the GPU */
static double *copied; /* on the host */

enum { CHUNK_MOST = 64, CHUNK_LEAST = 8, ROUNDS = 4 };

static int divide_up(int n, int by)
{
    return (n + by - 1) / by;
}

/* Warps side by side in a block: as many as a narrow grid fills. */
static int warps_across(void)
{
    const int cells = 32 * THREAD_BYTES / (int)strip->element;
    int warps = BLOCK_WARPS;

    while (warps > 1 && (warps / 2) * cells >= strip->columns)
        warps /= 2;
    return warps;
}

static int blocks_across(void)
{
    const int cells = 32 * THREAD_BYTES / (int)strip->element;

    return divide_up(strip->columns, cells * warps_across());
}

/* Short chunks read more ghost rows of their own, long ones leave multiprocessors idle at
 * the end: some rounds of blocks, all of them full. */
static int choose_march(void)
{
    const int at_once = gpu_multiprocessors() * gpu_blocks_at_once(plain, BLOCK_THREADS);
    const int deep = BLOCK_WARPS / warps_across();

    for (int rounds = ROUNDS;; rounds++) {
        int blocks = at_once * rounds / blocks_across();
        int rows = divide_up(strip->rows, (blocks > 0 ? blocks : 1) * deep);

        if (rows <= CHUNK_LEAST)
            return CHUNK_LEAST;
        if (rows <= CHUNK_MOST)
            return rows;
    }
}

static bool start(const struct strip *of, int rows, const char **why)
{
    const bool doubles = of->element == sizeof(double);

    strip = of;
    if (!kernels_image) {
        *why = "the program was built without nvcc";
        return false;
    }
    if (!gpu_load(kernels_image)) {
        *why = "the driver does not load the kernels";
        return false;
    }
    plain = gpu_find_function(doubles ? "rows_double" : "rows_float");
    with_change = gpu_find_function(doubles ? "rows_double_change" : "rows_float_change");
    march = rows ? rows : choose_march();
    sums = gpu_alloc(CHANGES * sizeof *sums);
    copied = gpu_alloc_host(CHANGES * sizeof *copied);
    return true;
}

static void rows_in(int from, struct rows rows, int change, int stream, gpu_stream in)
{
    const bool together = rows.stride == 1 && rows.count > 1;
    const int across = warps_across(), deep = BLOCK_WARPS / across;
    struct kernel_job job = {
        .from = strip_row(strip, from, 0),
        .to = strip_row(strip, 1 - from, 0),
        .change = change < 0 ? NULL : sums + change,
        .pitch = strip->pitch,
        .columns = strip->columns,
        .first = rows.first,
        .last = rows.first + (rows.count - 1) * rows.stride,
        .chunk = together ? march : 1,
        .stride = together ? march : rows.stride,
        .nchunks = together ? divide_up(rows.count, march) : rows.count,
        .warps_across = across,
    };

    (void)stream;
    gpu_launch(change < 0 ? plain : with_change, blocks_across(), divide_up(job.nchunks, deep),
               BLOCK_THREADS, in, &job);
}

static void collect(int change, gpu_stream in)
{
    gpu_read_in(in, &copied[change], sums + change, sizeof *sums);
    gpu_zero_in(in, sums + change, sizeof *sums);
}

static double changed(int change)
{
    return copied[change];
}

static void end(void)
{
    gpu_free(sums);
    gpu_free_host(copied);
}

const struct compute compute_gpu = {"gpu", start, rows_in, collect, changed, end};
