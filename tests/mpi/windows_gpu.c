/* The calls for kernels, on real GPUs: `ranks windows_gpu FILE`, FILE made of
 * windows_kernels.cu. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

enum { BYTES = 100000, ROUNDS = 60, THREADS = 96, WORDS = 20000 };

static const char *const who[] = {"a thread", "a warp", "a block"};
static struct CUmod_st *module;
static struct CUstream_st *stream;

static char *read_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    char *bytes = malloc(64 << 20);
    size_t nbytes = file && bytes ? fread(bytes, 1, 64 << 20, file) : 0;

    if (file)
        fclose(file);
    if (nbytes == 0) {
        fprintf(stderr, "%s: no kernels\n", name);
        abort();
    }
    return bytes;
}

static void load(void)
{
    char *image = read_file(nargs ? arguments[0] : "");
    int status = cuda.cuModuleLoadData(&module, image);

    free(image);
    if (status != CUDA_OK) {
        fprintf(stderr, "the kernels cannot be loaded: CUDA error %d\n", status);
        abort();
    }
    cuda.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING);
}

/* One block. Returns what the driver says at the end. */
static int launch(const char *name, unsigned threads, void **parameters)
{
    struct CUfunc_st *kernel;
    int status = cuda.cuModuleGetFunction(&kernel, module, name);

    if (status == CUDA_OK)
        status = cuda.cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 0, stream, parameters, NULL);
    return status == CUDA_OK ? cuda.cuStreamSynchronize(stream) : status;
}

static void run(const char *name, unsigned threads, void **parameters)
{
    is_int(launch(name, threads, parameters), CUDA_OK, name);
}

static gpubind_win make(size_t nbytes, int nsignals, const struct gpubind_device_win **device)
{
    gpubind_win win = GPUBIND_WIN_NULL;

    succeeds(gpubind_win_allocate(MPI_COMM_WORLD, nbytes, nsignals, &win), "win_allocate");
    if (win == GPUBIND_WIN_NULL || gpubind_win_device(win, device) != MPI_SUCCESS)
        abort();
    return win;
}

/* Sizes from nothing to much, most of them small. */
static size_t any_size(uint64_t *state)
{
    static const size_t below[] = {2, 20, 70, 600, 9000, 60000};

    return random_next(state) % below[random_next(state) % 6];
}

/* The window of the other is what puts at random should have made of it; then gets of it
 * at random are right. */
static void moves(int by)
{
    const struct gpubind_device_win *device;
    gpubind_win win = make(BYTES, 0, &device);
    uint64_t state = 7 + (uint64_t)job.rank;
    int other = (job.rank + 1) % job.size, put = 1;
    char *model = calloc(1, BYTES), *got = malloc(BYTES);
    struct buffer here;
    void *there = NULL;

    job_test("puts and gets of odd sizes at odd places by %s", who[by]);
    need_buffer(&here, MEMORY_DEVICE, BYTES);
    gpubind_win_pointer(win, other, &there, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t nbytes = any_size(&state), offset = random_next(&state) % (BYTES - nbytes);
        size_t at = random_next(&state) % 40;
        char *from = here.at + at;
        void *parameters[] = {&device, &other, &offset, &from, &nbytes, &by, &put};

        if (round % 3 == 0) /* as aligned as can be */
            at = 0, offset &= ~(uint64_t)15;
        from = here.at + at;
        bytes_of_seed(model + offset, nbytes, (uint64_t)round);
        gpu_put(from, model + offset, nbytes);
        run("move", THREADS, parameters);
    }
    gpu_get(got, there, BYTES);
    expect(memcmp(got, model, BYTES) == 0, "the window is not as it was put");
    put = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t nbytes = any_size(&state), offset = random_next(&state) % (BYTES - nbytes);
        size_t at = random_next(&state) % 40;
        char *to = here.at + at;
        void *parameters[] = {&device, &other, &offset, &to, &nbytes, &by, &put};

        buffer_reset(&here);
        run("move", THREADS, parameters);
        gpu_get(got, to, nbytes);
        expect(memcmp(got, model + offset, nbytes) == 0, "got %llu bytes at %llu wrong",
               (unsigned long long)nbytes, (unsigned long long)offset);
        expect(buffer_untouched(&here, at + nbytes), "got more than %llu bytes",
               (unsigned long long)nbytes);
    }
    job_barrier();
    succeeds(gpubind_win_free(&win), "win_free");
    buffer_clear(&here);
    free(model);
    free(got);
    job_result();
}

/* Pairs of neighbours; the last of an odd number is its own other. */
static void signals(int by)
{
    const struct gpubind_device_win *device;
    gpubind_win win = make(4 * WORDS, 2, &device);
    unsigned n = WORDS, wrong = 0;
    int other = job.rank ^ 1, nturns = 30;
    struct buffer from, count;

    job_test("put_signal by %s: the data are there when the signal is", who[by]);
    if (other == job.size)
        other = job.rank;
    need_buffer(&from, MEMORY_DEVICE, 4 * WORDS);
    need_buffer(&count, MEMORY_DEVICE, sizeof wrong);
    gpu_put(count.at, &wrong, sizeof wrong);
    job_barrier();
    run("turns", 512, (void *[]){&device, &other, &from.at, &n, &nturns, &by, &count.at});
    gpu_get(&wrong, count.at, sizeof wrong);
    is_int(wrong, 0, "words that came behind their signal");
    job_barrier();
    succeeds(gpubind_win_free(&win), "win_free");
    buffer_clear(&from);
    buffer_clear(&count);
    job_result();
}

static void sums(void)
{
    const struct gpubind_device_win *device;
    gpubind_win win = make(0, 3, &device);
    struct buffer seen;
    int signal = 2;

    job_test("signals are added up, and streams wait for the sum");
    need_buffer(&seen, MEMORY_DEVICE, 8);
    job_barrier();
    run("add", THREADS, (void *[]){&device, &signal});
    succeeds(gpubind_wait_signal_on_stream(signal, (unsigned)(THREADS * job.size), win, stream),
             "wait_signal");
    is_int(cuda.cuStreamSynchronize(stream), CUDA_OK, "the stream");
    job_barrier();
    succeeds(gpubind_win_free(&win), "win_free");
    buffer_clear(&seen);
    job_result();
}

void test_windows_gpu(void)
{
    load();
    for (int by = 0; by < 3; by++)
        moves(by);
    for (int by = 0; by < 3; by++)
        signals(by);
    sums();
    cuda.cuStreamDestroy_v2(stream);
}

/* `ranks windows_trap FILE CASE`: the kernel ends with an error, but for the last case.
 * The context is lost then: the program ends here. One rank. */
void test_windows_trap(void)
{
    int what = nargs > 1 ? atoi(arguments[1]) : 0, status;
    const struct gpubind_device_win *device;
    gpubind_win win;
    struct buffer here;

    load();
    win = make(1000, 2, &device);
    need_buffer(&here, MEMORY_DEVICE, 8);
    status = launch("leave", what == 5 ? 32 : 1, (void *[]){&device, &what, &here.at});
    printf("1..1\n%sok 1 - case %d: CUDA error %d\n",
           (status != CUDA_OK) == (what < 6) ? "" : "not ", what, status);
    fflush(stdout);
    (void)win;
    PMPI_Finalize();
    exit(0);
}
