/* MPI_Win_allocate with GPU memory: who gets it, and what is refused. Rank 0 prints the results.
 *
 *     allocate_kinds PART [far] */
#include "tests/aware/allocate.h"

/* ---- the key */

static void kinds(void)
{
    static const struct {
        const char *key, *kinds;
        bool gpu;
    } all[] = {
        {KINDS, "cuda", true},
        {KINDS, "CUDA:device", true},
        {KINDS, "cuda:device,cuda:managed", true},
        {KINDS, " cuda:device , cuda:device ", true},
        {KINDS, "mpi,system,cuda:device", false},
        {KINDS, "cuda:device,system", false},
        {KINDS, "system", false},
        {KINDS, "cuda:host", false},
        {KINDS, "cuda:device:here", false},
        {KINDS, "rocm:device", false},
        {"mpi_assert_memory_alloc_kinds", "cuda:device", false},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        MPI_Info info = info_of(all[i].key, all[i].kinds);
        char *base;
        MPI_Win win;

        MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &win);
        expect(is_on_gpu(base) == all[i].gpu, all[i].kinds);
        MPI_Info_free(&info);
        MPI_Win_free(&win);
    }
    result("lists of kinds");
}

static void shared(void)
{
    MPI_Info info = info_of(KINDS, "cuda:device");
    MPI_Comm node;
    char *base;
    MPI_Win win;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(64, 1, info, node, &base, &win);
    base[0] = (char)rank;
    expect(!is_on_gpu(base), "the memory is the host's");
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    MPI_Info_free(&info);
    result("MPI_Win_allocate_shared gives host memory");
}

/* ---- refusals */

/* kinds: of this rank. Within reach all ranks are told, elsewhere each whose memory it is. */
static void refused(MPI_Aint nbytes, const char *asked, bool mine, int class, const char *what)
{
    MPI_Win win = MPI_WIN_NULL;
    char *base;
    int error;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = allocate(nbytes, 1, asked, &base, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (far && error != MPI_ERR_WIN) {
        expect(mine ? error != MPI_SUCCESS && class_of(error) == class : error == MPI_SUCCESS,
               what);
        MPI_Win_free(&win);
    } else {
        expect(error != MPI_SUCCESS && class_of(error) == class, what);
    }
    result(what);
}

static void refusals(void)
{
    const MPI_Aint huge = (MPI_Aint)1 << 50;

    refused(huge, "cuda:device", true, MPI_ERR_NO_MEM, "more memory than there is");
    refused(rank == 0 ? huge : 64, "cuda:device", rank == 0, MPI_ERR_NO_MEM,
            "more memory than there is, on one rank");
    refused(64, "cuda:managed", true, MPI_ERR_INFO_VALUE, "managed memory");
    refused(64, rank == 0 ? "cuda:managed" : "cuda:device", rank == 0, MPI_ERR_INFO_VALUE,
            "managed memory, on one rank");
}

/* MPICH puts one rank's memory directly behind another's. */
static void odd_beside(void)
{
    MPI_Win win;
    char *base;
    int error;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = allocate(rank == 0 ? 1003 : 64, 1, rank == 0 ? NULL : "cuda:device", &base, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    expect(error == MPI_SUCCESS ? rank == 0 || is_on_gpu(base)
                                : rank > 0 && class_of(error) == MPI_ERR_OTHER,
           "it works, or is refused");
    MPI_Win_free(&win);
    result("beside a rank whose memory ends within a word");
}

static void no_gpu(void)
{
    refused(64, "cuda:device", true, MPI_ERR_NO_MEM, "no GPU");
}

/* ---- without the key */

static bool all_on_gpu(bool mine)
{
    int gpu = mine, all;

    MPI_Allreduce(&gpu, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* GPUBIND_WIN_MEMORY=cuda. gpu: there are some. */
static void environment(bool gpu)
{
    MPI_Win win;
    double *memory = allocate_doubles(NULL, &win), value = 4 + rank;
    bool on_gpu = gpu && is_on_gpu(memory);

    expect(all_on_gpu(on_gpu) == gpu, "whose memory it is");
    if (gpu)
        expect(says_gpu(win), "MPI_Win_get_info");
    on_gpu ? write_doubles(memory, 0, 0) : (void)memset(memory, 0, N * 8);
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, next, 3, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    expect(on_gpu ? has_doubles(memory, 3, 1, 4 + before, 0) : memory[3] == 4 + before, "a put");
    MPI_Win_free(&win);
    result("without a key");
    if (!gpu)
        return;
    memory = allocate_doubles("system", &win);
    expect(!is_on_gpu(memory), "the memory is the host's");
    MPI_Win_free(&win);
    result("with a key of host memory");
}

/* No rank has started CUDA, or has a current context. */
static void without_context(void)
{
    MPI_Win win;
    double *memory = allocate_doubles("cuda:device", &win), value = 4 + rank;

    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, next, 3, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    device_start(); /* the primary context, as CUDA's runtime takes it */
    expect(is_on_gpu(memory) && has_doubles(memory, 3, 1, 4 + before, 0), "a put");
    MPI_Win_free(&win);
    result("without a context");
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";

    start(&argc, &argv);
    if (strcmp(part, "no_gpu") == 0) {
        no_gpu();
    } else if (strcmp(part, "no_gpu_environment") == 0) {
        environment(false);
    } else if (strcmp(part, "without_context") == 0) {
        without_context();
    } else {
        device_start();
        if (strcmp(part, "environment") == 0) {
            environment(true);
        } else {
            kinds();
            shared();
            refusals();
            odd_beside();
        }
    }
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
