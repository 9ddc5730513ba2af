/* The subcommand put: kernels that put to, and get from, another rank's window, and
 * signals between two kernels. Rank 0 measures; the other rank only checks. */
#include <string.h>

#include "bench/cases/cases.h"
#include "bench/cases/put_schema.h"
#include "bench/lib/kernel_launch.h"
#include "bench/lib/kernels.h"
#include "bench/lib/machine.h"
#include "bench/lib/ranks.h"
#include "bench/output/output.h"
#include "bench/output/runner.h"
#include "mpi/gpubind.h"

#define PING_WARM 1000
#define PING_TURNS 20000

struct run {
    const struct bench_options *options;
    MPI_Comm comm;      /* of the first two ranks, or of one; MPI_COMM_NULL on others */
    int rank, n, other; /* ranks in comm; a single rank is its own peer */
    struct bench_gpu gpu;
    struct kernels kernels;
    gpubind_win win;
    const struct gpubind_device_win *device;
    void *window, *theirs; /* of this rank, and of the peer */
    void *here;            /* memory outside the window, as large */
    uint64_t seed, turns;
    bool one_gpu; /* the two ranks share it */
    struct table *table;
};

static void must(int status, const struct gpubind_error *err)
{
    if (status < 0)
        ranks_die("%s", err->text);
}

/* ---- puts and gets */

static double move(const struct run *run, bool put, int by, unsigned blocks, unsigned warps)
{
    static const char *const names[][BY_KINDS] = {
        {"bench_get_thread", "bench_get_warp", "bench_get_block", "bench_bulk"},
        {"bench_put_thread", "bench_put_warp", "bench_put_block", "bench_bulk"},
    };
    uint64_t nbytes = run->options->size;
    void *to = put ? run->theirs : run->here, *from = put ? run->here : run->theirs;
    void *words[] = {(void *)&run->device, (void *)&run->other, (void *)&run->here, &nbytes};
    void *bulk[] = {&to, &from, &nbytes};
    const struct launch launch = {names[put][by], blocks, 32 * warps, by == BY_BULK ? bulk : words};
    struct gpubind_error err;
    double seconds = 0;

    must(kernels_time(&run->kernels, &launch, run->options->time_ms, &seconds, &err), &err);
    return seconds;
}

/* Rank 0 moves its source; the receiver compares the contents. */
static void measure_move(struct run *run, bool put, int by, unsigned blocks, unsigned warps)
{
    const size_t nbytes = run->options->size;
    const int source = put ? 0 : run->n - 1, sink = put ? run->n - 1 : 0;
    struct gpubind_error err;
    uint64_t wrong = 0, all;
    double seconds = 1;

    run->seed++;
    if (run->rank == source)
        must(kernels_fill(&run->kernels, put ? run->here : run->window, nbytes, run->seed, &err),
             &err);
    MPI_Barrier(run->comm);
    if (run->rank == 0)
        seconds = move(run, put, by, blocks, warps);
    MPI_Barrier(run->comm);
    if (run->rank == sink)
        must(kernels_compare(&run->kernels, put ? run->window : run->here, nbytes, run->seed,
                             &wrong, &err),
             &err);
    MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, run->comm);
    run->table->wrong |= all > 0;
    put_add_move(run->table, put, by, (int)blocks, (int)warps, (double)nbytes / seconds / 1e9,
                 all > 0);
}

static void measure_warps(struct run *run, bool put, int by, unsigned blocks)
{
    if (by == BY_BULK) {
        measure_move(run, put, by, blocks, 1);
        return;
    }
    for (unsigned warps = 4; warps <= 32; warps *= 2)
        measure_move(run, put, by, blocks, warps);
}

/* Powers of 2, and all multiprocessors. */
static void measure_moves(struct run *run, bool put, int by)
{
    const unsigned most = (unsigned)run->kernels.processors;

    if (run->rank == 0)
        output_progress(run->options, "%s by %s", put ? "put" : "get", put_by_word(by));
    for (unsigned blocks = 1; blocks < most; blocks *= 2)
        measure_warps(run, put, by, blocks);
    measure_warps(run, put, by, most);
    put_note_enough(run->table, put, by);
}

/* ---- signals */

static void measure_ping(struct run *run, int how)
{
    uint64_t begin = run->turns, warm = PING_WARM, n = PING_TURNS, wrong = 0, all, ns;
    char *at = run->here;
    void *times = at, *bad = at + sizeof ns;
    int first = run->rank == 0;
    const struct launch launch = {"bench_ping", 1, 1,
                                  (void *[]){(void *)&run->device, &run->other, &first, &begin,
                                             &warm, &n, &how, &times, &bad}};
    struct gpubind_error err;

    MPI_Barrier(run->comm);
    must(kernels_run(&run->kernels, &launch, 1, NULL, &err), &err);
    must(gpu_download(&run->gpu, &ns, times, sizeof ns, &err), &err);
    must(gpu_download(&run->gpu, &wrong, bad, sizeof wrong, &err), &err);
    run->turns += warm + n;
    MPI_Allreduce(&wrong, &all, 1, MPI_UINT64_T, MPI_SUM, run->comm);
    run->table->wrong |= all > 0;
    put_add_ping(run->table, how, (double)ns / 2e3 / (double)n, all > 0);
}

static void measure(struct run *run)
{
    for (int put = 1; put >= 0; put--)
        for (int by = 0; by < BY_KINDS; by++)
            if (by != BY_BULK || run->kernels.major == 9)
                measure_moves(run, put, by);
    if (run->kernels.major != 9)
        text_add(&run->table->notes, "bulk copies are not measured: they are for GPUs of compute "
                                     "capability 9.0\n");
    for (int how = 0; run->n == 2 && !run->one_gpu && how < PINGS; how++)
        measure_ping(run, how);
    if (run->n == 1)
        text_add(&run->table->notes, "one rank: all is within its own GPU; mpirun -np 2 measures "
                                     "between two, and their signals\n");
    if (run->one_gpu)
        text_add(&run->table->notes,
                 "the two ranks share a GPU, whose kernels take turns: no signals "
                 "are measured\n");
}

/* ---- begin and end */

static int open_gpu(struct run *run, int local, struct gpubind_error *err)
{
    int status;

    if (run->options->size % 16)
        return error_set(err, "--size: %zu bytes are no multiple of 16", run->options->size);
    if (!bench_kernel_image) /* before a GPU is opened */
        return kernels_open(NULL, &run->kernels, err);
    if (gpu_open(&run->gpu, local, err) < 0)
        return -1;
    status = kernels_open(&run->gpu, &run->kernels, err);
    if (status)
        return status;
    return gpu_alloc(run->options->size, &run->here, err);
}

static int open_window(struct run *run, struct gpubind_error *err)
{
    if (gpubind_win_allocate(run->comm, run->options->size, 1, &run->win) != MPI_SUCCESS ||
        gpubind_win_device(run->win, &run->device) != MPI_SUCCESS ||
        gpubind_win_pointer(run->win, run->rank, &run->window, NULL) != MPI_SUCCESS ||
        gpubind_win_pointer(run->win, run->other, &run->theirs, NULL) != MPI_SUCCESS)
        return error_set(err, "%s", gpubind_error_text());
    if (run->theirs)
        return 0;
    error_set(err, "kernels of rank %d do not reach the GPU of rank %d", run->rank, run->other);
    return BENCH_CANNOT;
}

/* Lines about the machine, on rank 0. */
static void describe(struct run *run)
{
    struct text *text = &run->table->machine;
    char theirs[sizeof run->gpu.pci];

    machine_add_job("put", run->n, text);
    machine_add_host(text);
    machine_add_ranks(&run->gpu, run->comm, text);
    machine_add_mpi(text);
    MPI_Sendrecv(run->gpu.pci, sizeof theirs, MPI_CHAR, run->other, 0, theirs, sizeof theirs,
                 MPI_CHAR, run->other, 0, run->comm, MPI_STATUS_IGNORE);
    run->one_gpu = run->n == 2 && strcmp(run->gpu.pci, theirs) == 0;
}

static void close_all(struct run *run)
{
    ranks_need(gpubind_win_free(&run->win));
    if (run->here)
        gpu_free(run->here);
    kernels_close(&run->kernels);
    if (run->gpu.context)
        gpu_close(&run->gpu);
}

/* On the ranks of run->comm. */
static int fill_here(struct run *run, int local, struct gpubind_error *err)
{
    int status;

    MPI_Comm_rank(run->comm, &run->rank);
    MPI_Comm_size(run->comm, &run->n);
    run->other = run->n == 2 ? !run->rank : 0;
    status = ranks_agree(run->comm, open_gpu(run, local, err), err);
    if (status == 0)
        status = ranks_agree(run->comm, open_window(run, err), err);
    if (status == 0) {
        describe(run);
        measure(run);
    }
    close_all(run);
    return status;
}

static int fill(const struct bench_options *options, struct table *table, struct gpubind_error *err)
{
    struct run run = {.options = options, .table = table};
    int rank, n, status = 0, local = ranks_local();

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, rank, &run.comm) !=
        MPI_SUCCESS)
        ranks_die("MPI_Comm_split failed");
    if (n > 2)
        text_add(&table->notes, "of %d ranks the first two measure\n", n);
    if (rank < 2) {
        status = fill_here(&run, local, err);
        MPI_Comm_free(&run.comm);
    }
    return ranks_agree(MPI_COMM_WORLD, status, err);
}

const struct benchmark put_benchmark = {&put_schema, fill, true};
