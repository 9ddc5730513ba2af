#include "aware/coll/coll_nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aware/base/counts.h"
#include "aware/coll/coll_ways.h"
#include "aware/memory/copy_stream.h"
#include "aware/memory/gpu_buffer.h"
#include "aware/message/direct_memory.h"
#include "aware/reduce/reductions.h"
#include "aware/request/calls.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/pointer_query.h"

#define LIBRARY "libnccl.so.2"

/* Of nccl.h, as they are since NCCL 2.7. */
enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7 };
enum { NCCL_INT8, NCCL_UINT8, NCCL_INT32, NCCL_UINT32, NCCL_INT64, NCCL_UINT64 };
enum { NCCL_FLOAT = 7, NCCL_DOUBLE };
enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN };
struct nccl_id {
    char bytes[128];
};

struct coll_nccl {
    struct ncclComm *comm;
    gpu_context context;
    unsigned long long number; /* of the context, with which the stream goes */
    gpu_stream stream;
};

/* All but error_string return NCCL_OK or an error. */
static struct {
    int (*get_version)(int *version);
    int (*get_unique_id)(struct nccl_id *id);
    int (*comm_init_rank)(struct ncclComm **comm, int n, struct nccl_id id, int rank);
    int (*comm_destroy)(struct ncclComm *comm);
    int (*comm_abort)(struct ncclComm *comm);
    int (*async_error)(struct ncclComm *comm, int *error);
    const char *(*error_string)(int status);
    int (*all_reduce)(const void *send, void *recv, size_t count, int type, int op,
                      struct ncclComm *comm, gpu_stream stream);
    int (*reduce)(const void *send, void *recv, size_t count, int type, int op, int root,
                  struct ncclComm *comm, gpu_stream stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t count, int type, int op,
                          struct ncclComm *comm, gpu_stream stream);
} nccl;
static int version; /* 0: it is not there */

static void load(void)
{
    const struct {
        const char *name;
        void *function; /* where it goes */
    } functions[] = {
        {"ncclGetUniqueId", &nccl.get_unique_id},     {"ncclCommInitRank", &nccl.comm_init_rank},
        {"ncclCommDestroy", &nccl.comm_destroy},      {"ncclCommAbort", &nccl.comm_abort},
        {"ncclCommGetAsyncError", &nccl.async_error}, {"ncclGetErrorString", &nccl.error_string},
        {"ncclAllReduce", &nccl.all_reduce},          {"ncclReduce", &nccl.reduce},
        {"ncclReduceScatter", &nccl.reduce_scatter},  {"ncclGetVersion", &nccl.get_version},
    };
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        void *function = library ? dlsym(library, functions[i].name) : NULL;

        if (!function)
            return;
        memcpy(functions[i].function, &function, sizeof function);
    }
    if (nccl.get_version(&version) != NCCL_OK)
        version = 0;
}

static bool is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return version > 0;
}

/* ---- types and operations */

/* -1: NCCL has none. */
static int type_of(MPI_Datatype type)
{
    static const int types[REDUCE_TYPES] = {
        [REDUCE_U8] = NCCL_UINT8,   [REDUCE_U16] = -1,         [REDUCE_U32] = NCCL_UINT32,
        [REDUCE_U64] = NCCL_UINT64, [REDUCE_S8] = NCCL_INT8,   [REDUCE_S16] = -1,
        [REDUCE_S32] = NCCL_INT32,  [REDUCE_S64] = NCCL_INT64, [REDUCE_F32] = NCCL_FLOAT,
        [REDUCE_F64] = NCCL_DOUBLE, [REDUCE_C32] = -1,         [REDUCE_C64] = -1,
    };
    enum reduce_type found;

    return reduction_type_of(type, &found) ? types[found] : -1;
}

static int op_of(MPI_Op op)
{
    return op == MPI_SUM    ? NCCL_SUM
           : op == MPI_PROD ? NCCL_PROD
           : op == MPI_MAX  ? NCCL_MAX
           : op == MPI_MIN  ? NCCL_MIN
                            : -1;
}

bool nccl_knows(MPI_Datatype type, MPI_Op op)
{
    return is_there() && op_of(op) >= 0 && type_of(type) >= 0;
}

/* ---- start */

/* What ranks compare. */
struct candidate {
    int version;
    char gpu[28]; /* its PCI bus ID */
};

/* NCCL's own threads use the primary context, which is retained for good. */
static bool is_primary(gpu_context context, int device)
{
    gpu_context primary;

    return gpu_context_retain(&primary, device) == GPU_OK && primary == context;
}

/* In the context. No version: NCCL cannot be used in it. */
static void describe(gpu_context context, struct candidate *mine)
{
    int device;

    memset(mine, 0, sizeof *mine);
    if (gpu_context_device(&device) == GPU_OK && is_primary(context, device) &&
        gpu_device_pci(mine->gpu, sizeof mine->gpu - 1, device) == GPU_OK)
        mine->version = version;
}

static const char shared[] = "ranks share a GPU";

/* NULL: NCCL takes the ranks; else why not. It refuses two ranks on one GPU. */
static const char *compare(const struct candidate *all, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            if (all[i].version == 0)
                return "a rank's GPU memory is of a context that it does not use";
            else if (all[i].version != all[j].version)
                return "ranks have different versions of it";
            else if (i != j && strcmp(all[i].gpu, all[j].gpu) == 0)
                return shared;
    return NULL;
}

static bool agree(const struct coll_comm *comm, int ok)
{
    int all = 0;

    return CALL_MPI(PMPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, comm->comm)) == MPI_SUCCESS &&
           all;
}

static int connect(struct coll_comm *comm, struct coll_nccl *made)
{
    struct {
        struct nccl_id id;
        int status;
    } first;

    memset(&first, 0, sizeof first);
    if (comm->rank == 0)
        first.status = nccl.get_unique_id(&first.id);
    if (CALL_MPI(PMPI_Bcast(&first, sizeof first, MPI_BYTE, 0, comm->comm)) != MPI_SUCCESS)
        return -1;
    if (first.status != NCCL_OK)
        return first.status;
    return nccl.comm_init_rank(&made->comm, comm->size, first.id, comm->rank);
}

/* Sharing a GPU is a matter of course, unless the user has asked for NCCL. */
static void tell(const struct coll_comm *comm, const char *why)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;

    if (comm->rank == 0 && (why != shared || coll_ways().at_once) &&
        !atomic_flag_test_and_set(&told))
        fprintf(stderr, "gpubind: NCCL is not used for MPI's reductions: %s\n", why);
}

/* In the GPU's context. */
static void start(struct coll_comm *comm, struct coll_nccl *made)
{
    struct candidate mine, *all = calloc((size_t)comm->size, sizeof *all);
    const char *why = NULL;
    int status = -1;

    describe(made->context, &mine);
    if (!agree(comm, all != NULL)) {
        free(all);
        return;
    }
    if (CALL_MPI(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE,
                                comm->comm)) == MPI_SUCCESS)
        why = compare(all, comm->size);
    free(all);
    if (why) {
        tell(comm, why);
        return;
    }
    status = connect(comm, made);
    if (status != NCCL_OK)
        fprintf(stderr, "gpubind: NCCL is not used for MPI's reductions: ncclCommInitRank: %s\n",
                nccl.error_string(status));
    if (!agree(comm, status == NCCL_OK && made->stream))
        made->comm = NULL; /* not destroyed, which may wait for ranks that have none */
}

void nccl_start(struct coll_comm *comm, const void *gpu)
{
    struct coll_nccl *made = calloc(1, sizeof *made);
    struct entered entered;
    const bool entered_it = made && buffer_enter(gpu, &entered);

    if (agree(comm, entered_it)) {
        made->context = entered.context;
        made->number = context_number(entered.context);
        made->stream = copy_stream_unordered(entered.context);
        start(comm, made);
    }
    if (entered_it)
        buffer_leave(&entered);
    comm->nccl_failed = !made || !made->comm;
    if (comm->nccl_failed)
        free(made);
    else
        comm->nccl = made;
}

/* NULL: of none. */
static gpu_context context_of(const void *gpu)
{
    struct entered entered;

    if (!buffer_enter(gpu, &entered))
        return NULL;
    buffer_leave(&entered);
    return entered.context;
}

bool nccl_takes(const struct coll_comm *comm, const void *send, const void *recv)
{
    const gpu_context context = context_of(send);

    return context && (!recv || recv == send || context_of(recv) == context) &&
           (!comm->nccl ||
            (comm->nccl->context == context && comm->nccl->number == context_number(context)));
}

/* The GPU's context may be gone in MPI_Comm_free; what NCCL then says is of no use. */
void nccl_close(struct coll_nccl *made)
{
    if (made)
        nccl.comm_destroy(made->comm);
    free(made);
}

/* ---- reductions */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

bool nccl_turn_take(void)
{
    return pthread_mutex_trylock(&turn) == 0;
}

void nccl_turn_give(void)
{
    pthread_mutex_unlock(&turn);
}

static int launch(const struct coll_nccl *on, const struct nccl_reduction *r)
{
    const size_t count = (size_t)r->count;
    const int type = type_of(r->type), op = op_of(r->op);

    switch (r->kind) {
    case NCCL_ALLREDUCE:
        return nccl.all_reduce(r->send, r->recv, count, type, op, on->comm, on->stream);
    case NCCL_REDUCE:
        return nccl.reduce(r->send, r->recv, count, type, op, r->root, on->comm, on->stream);
    default:
        return nccl.reduce_scatter(r->send, r->recv, count, type, op, on->comm, on->stream);
    }
}

/* NULL: it is complete. */
static const char *wait_for(const struct coll_comm *comm)
{
    int status, error = NCCL_OK;

    for (unsigned spins = 1; (status = gpu_stream_query(comm->nccl->stream)) == GPU_NOT_READY;
         spins++) {
        progress_idle(spins);
        if (spins % 4096 != 0)
            continue;
        nccl.async_error(comm->nccl->comm, &error);
        if (error != NCCL_OK && error != NCCL_IN_PROGRESS)
            return nccl.error_string(error);
        if (!coll_all_live(comm))
            return "another rank has ended, or failed";
    }
    return status == GPU_OK ? NULL : "the GPU has reported an error";
}

int nccl_reduce(struct coll_comm *comm, const struct nccl_reduction *reduction)
{
    struct entered entered;
    const char *why;
    int status;

    if (direct_settle(reduction->send) < 0 || !buffer_enter(reduction->send, &entered)) {
        coll_give_up(comm);
        return MPI_ERR_OTHER;
    }
    status = launch(comm->nccl, reduction);
    why = status == NCCL_OK ? wait_for(comm) : nccl.error_string(status);
    if (why) {
        fprintf(stderr, "gpubind: a reduction of GPU memory by NCCL has failed: %s\n", why);
        coll_give_up(comm);
        nccl.comm_abort(comm->nccl->comm);
        free(comm->nccl);
        comm->nccl = NULL;
    }
    buffer_leave(&entered);
    if (!why)
        count_one(COUNT_REDUCED);
    return why ? MPI_ERR_OTHER : MPI_SUCCESS;
}
