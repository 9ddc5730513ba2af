#include "bench/lib/nccl.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/lib/program.h"
#include "bench/lib/ranks.h"

#define LIBRARY "libnccl.so.2"
/* Many nodes need some; a rank that fails alone leaves the others in ncclCommInitRank. */
#define START_SECONDS 300

static int load(struct nccl *nccl, struct gpubind_error *why)
{
    const struct {
        const char *name;
        void *function; /* where it goes */
    } functions[] = {
        {"ncclGetVersion", &nccl->get_version},
        {"ncclGetUniqueId", &nccl->get_unique_id},
        {"ncclCommInitRank", &nccl->comm_init_rank},
        {"ncclCommDestroy", &nccl->comm_destroy},
        {"ncclGetErrorString", &nccl->error_string},
        {"ncclGroupStart", &nccl->group_start},
        {"ncclGroupEnd", &nccl->group_end},
        {"ncclSend", &nccl->send},
        {"ncclRecv", &nccl->recv},
        {"ncclBroadcast", &nccl->broadcast},
        {"ncclReduce", &nccl->reduce},
        {"ncclAllReduce", &nccl->all_reduce},
        {"ncclAllGather", &nccl->all_gather},
        {"ncclReduceScatter", &nccl->reduce_scatter},
    };

    nccl->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!nccl->library)
        return error_set(why, "%s", dlerror());
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = dlsym(nccl->library, functions[i].name);

        if (!function)
            return error_set(why, "%s has no %s", LIBRARY, functions[i].name);
        memcpy(functions[i].function, &function, sizeof function);
    }
    return 0;
}

/* ---- one GPU a rank */

struct gpu_name {
    char host[65], pci[24];
};

static int find_shared(const struct gpu_name *names, int n, struct gpubind_error *why)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            if (memcmp(&names[i], &names[j], sizeof *names) == 0)
                return error_set(why, "ranks %d and %d share the GPU %s", j, i, names[i].pci);
    return 0;
}

static int check_gpus(const struct bench_gpu *gpu, int n, struct gpubind_error *why)
{
    struct gpu_name mine, *names = calloc((size_t)n, sizeof *names);
    int status;

    if (!names)
        ranks_die("out of memory");
    memset(&mine, 0, sizeof mine);
    gethostname(mine.host, sizeof mine.host - 1);
    memcpy(mine.pci, gpu->pci, strnlen(gpu->pci, sizeof mine.pci - 1));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, names, sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    status = find_shared(names, n, why);
    free(names);
    return status;
}

/* ---- its communicator */

static int failed(const struct nccl *nccl, const char *call, int status, struct gpubind_error *why)
{
    return status == NCCL_OK ? 0 : error_set(why, "%s: %s", call, nccl->error_string(status));
}

/* In a signal handler: another rank may have failed, and NCCL waits for it without an end. */
static void give_up(int signal)
{
    static const char text[] = "gpubind-bench: ncclCommInitRank has not returned: another rank has "
                               "failed in it, or cannot be reached\n";

    (void)signal;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(EXIT_OWN);
    _exit(EXIT_OWN);
}

static int connect(struct nccl *nccl, int rank, int n, struct gpubind_error *why)
{
    struct sigaction action = {.sa_handler = give_up}, before;
    struct nccl_id id;
    int status = 0;

    memset(&id, 0, sizeof id);
    if (rank == 0)
        status = failed(nccl, "ncclGetUniqueId", nccl->get_unique_id(&id), why);
    if (ranks_agree(MPI_COMM_WORLD, status, why) < 0)
        return -1;
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    sigaction(SIGALRM, &action, &before);
    alarm(START_SECONDS);
    status = nccl->comm_init_rank(&nccl->comm, n, id, rank);
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    status = failed(nccl, "ncclCommInitRank", status, why);
    if (ranks_agree(MPI_COMM_WORLD, status, why) < 0) {
        nccl->comm = NULL; /* not destroyed, which would wait for the ranks that have none */
        return -1;
    }
    return 0;
}

int nccl_open(struct nccl *nccl, const struct bench_gpu *gpu, struct gpubind_error *why)
{
    int rank, n, status;

    memset(nccl, 0, sizeof *nccl);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    nccl->stream = gpu->stream[0];
    status = ranks_agree(MPI_COMM_WORLD, load(nccl, why), why);
    if (status == 0)
        status = check_gpus(gpu, n, why);
    if (status == 0)
        status = connect(nccl, rank, n, why);
    if (status < 0)
        nccl_close(nccl);
    return status;
}

/* The library stays open: it has threads. */
void nccl_close(struct nccl *nccl)
{
    if (nccl->comm)
        nccl->comm_destroy(nccl->comm);
    memset(nccl, 0, sizeof *nccl);
}

/* 2708 was 2.7.8; since 2.9 it is 20908. */
/* As of 2.9 has it: 20906 is 2.9.6. */
static int version_of(const struct nccl *nccl)
{
    int version = 0;

    nccl->get_version(&version);
    return version < 10000 ? version / 1000 * 10000 + version % 1000 : version;
}

bool nccl_can_be_captured(const struct nccl *nccl)
{
    return version_of(nccl) >= 20906; /* NCCL's user guide, "Using NCCL with CUDA Graphs" */
}

void nccl_add_version(const struct nccl *nccl, struct text *text)
{
    const int version = version_of(nccl);

    text_add(text, "%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}
