#include "mpi/core/comm.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/list.h"
#include "mpi/base/modules.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/peer_alive.h"
#include "mpi/core/rank_map.h"

static int key = MPI_KEYVAL_INVALID;
static QUEUE_OF(struct comm) comms;
static bool announces;      /* one of them is, or was */
static struct comm *latest; /* most calls name the communicator of the call before */

static void comm_free(struct comm *comm)
{
    QUEUE_REMOVE(&comms, comm, next);
    if (latest == comm)
        latest = NULL;
    for_each_module (at)
        if ((*at)->comm_removed)
            (*at)->comm_removed(comm);
    free(comm->companion->told);
    free(comm->companion);
    rank_map_clear(comm->rank_map);
    domain_leave(comm->domain);
    free(comm->told);
    free(comm->domain_ranks);
    free(comm);
}

/* A duplicate that no call has named yet: nothing knows of it but MPI's attribute. */
static bool is_listed(const struct comm *comm)
{
    return comm->user != MPI_COMM_NULL;
}

static void discard(struct comm *comm)
{
    domain_leave(comm->domain);
    free(comm->companion);
    free(comm->domain_ranks);
    free(comm);
}

/* MPI_Comm_free of the application's communicator ends here. What is under way on it
 * comes to its end, as MPI has it. */
static int forget(MPI_Comm user, int unused_key, void *value, void *unused)
{
    struct comm *comm = value;

    (void)user, (void)unused_key, (void)unused;
    library_lock();
    if (!is_listed(comm)) {
        discard(comm);
        library_unlock();
        return MPI_SUCCESS;
    }
    comm->freed = true;
    comm->user = MPI_COMM_WORLD; /* whose handler hears of errors from now on */
    if (latest == comm)
        latest = NULL;
    if (comm->operations == 0)
        comm_free(comm);
    library_unlock();
    return MPI_SUCCESS;
}

void comm_leave(struct comm *comm)
{
    comm = comm->of ? comm->of : comm;
    comm->operations--;
    if (comm->freed && comm->operations == 0)
        comm_free(comm);
}

/* Messages that came for it before are taken over in their order. */
static void enlist(struct comm *comm)
{
    QUEUE_PUSH_FRONT(&comms, comm, next);
    for_each_module (at)
        if ((*at)->comm_added)
            (*at)->comm_added();
}

struct comm *comm_of(MPI_Comm user)
{
    struct comm *comm = NULL;
    int found = 0;

    if (latest && latest->user == user)
        return latest;
    if (key == MPI_KEYVAL_INVALID || user == MPI_COMM_NULL)
        return NULL;
    PMPI_Comm_get_attr(user, key, &comm, &found);
    if (!found)
        return NULL;
    if (!is_listed(comm)) {
        comm->user = user;
        enlist(comm);
    }
    latest = comm;
    return comm;
}

struct comm *comm_first(void)
{
    return comms.first;
}

struct comm *comm_with(uint64_t context)
{
    for (struct comm *comm = comms.first; comm; comm = comm->next)
        if (comm->context == (context & ~(uint64_t)1))
            return context & 1 ? comm->companion : comm;
    return NULL;
}

/* Rank 0 gives out numbers: its place in the world, and how many it gave before. Odd
 * ones are the companions'. */
static uint64_t agree_on_context(struct comm *comm)
{
    static uint32_t given;
    int world;
    uint64_t context = 0;

    PMPI_Comm_rank(MPI_COMM_WORLD, &world);
    if (comm->rank == 0)
        context = (uint64_t)(uint32_t)getpid() << 44 | (uint64_t)(uint32_t)(world & 0xffff) << 28 |
                  (++given & 0x7ffffff) << 1;
    library_unlock(); /* two threads may attach, in another order elsewhere */
    PMPI_Bcast(&context, 1, MPI_UINT64_T, 0, comm->user);
    library_lock();
    return context;
}

static void read_tag_most(struct comm *comm)
{
    int *most = NULL, found = 0;

    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &found);
    comm->tag_most = found ? *most : 32767;
}

bool comms_announce(void)
{
    return announces;
}

static bool needs_announcements(const struct comm *comm)
{
    for (int i = 0; i < comm->size && comm->domain->single; i++)
        if (comm->domain->peers[comm->domain_ranks[i]].local < 0)
            return true;
    return false;
}

static struct comm *companion_make(struct comm *of)
{
    struct comm *comm = calloc(1, sizeof *comm);

    if (!comm)
        return NULL;
    *comm = *of;
    comm->of = of;
    return comm;
}

/* The context of a duplicate, without communication: all ranks of a communicator duplicate
 * it in the same order. A mixture of 63 bits of the original's context and the number of the
 * duplicate; even, and never one of agree_on_context's in practice. */
static uint64_t context_of_dup(uint64_t original, uint32_t number)
{
    uint64_t mixed = original + 0x9e3779b97f4a7c15u * ((uint64_t)number + 1);

    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return (mixed ^ (mixed >> 31)) & ~(uint64_t)1;
}

static struct comm *comm_dup(struct comm *original)
{
    const size_t nbytes = (size_t)original->size * sizeof *original->domain_ranks;
    struct comm *comm = calloc(1, sizeof *comm);

    if (!comm)
        return NULL;
    comm->user = MPI_COMM_NULL;
    comm->context = context_of_dup(original->context, original->ndups++);
    comm->domain = original->domain;
    comm->domain->users++;
    comm->announcement = MPI_REQUEST_NULL;
    comm->announces = original->announces;
    comm->rank = original->rank;
    comm->size = original->size;
    comm->tag_most = original->tag_most;
    comm->domain_ranks = malloc(nbytes);
    if (comm->domain_ranks)
        memcpy(comm->domain_ranks, original->domain_ranks, nbytes);
    comm->companion = companion_make(comm);
    if (comm->companion && comm->domain_ranks) {
        comm->companion->context = comm->context + 1;
        return comm;
    }
    discard(comm);
    return NULL;
}

/* MPI calls this on all ranks when it duplicates an attached communicator, also where the
 * duplicate is complete only later (MPI_Comm_idup). The duplicate has no handle yet. */
static int duplicate(MPI_Comm user, int unused_key, void *unused, void *value, void *copy,
                     int *wanted)
{
    struct comm *comm;

    (void)user, (void)unused_key, (void)unused;
    library_lock();
    comm = comm_dup(value);
    library_unlock();
    *(struct comm **)copy = comm;
    *wanted = comm != NULL;
    return comm ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static struct comm *comm_make(MPI_Comm user, const struct settings *settings,
                              struct gpubind_error *err)
{
    struct comm *comm = calloc(1, sizeof *comm);

    if (!comm) {
        error_set(err, "out of memory");
        return NULL;
    }
    comm->user = user;
    PMPI_Comm_rank(user, &comm->rank);
    PMPI_Comm_size(user, &comm->size);
    comm->domain = domain_around(user, &comm->domain_ranks);
    if (!comm->domain)
        comm->domain = domain_make(user, &comm->domain_ranks, settings, err);
    if (!comm->domain) {
        free(comm);
        return NULL;
    }
    read_tag_most(comm);
    comm->announcement = MPI_REQUEST_NULL;
    comm->announces = needs_announcements(comm);
    announces |= comm->announces;
    comm->companion = companion_make(comm);
    if (comm->companion)
        return comm;
    error_set(err, "out of memory");
    domain_leave(comm->domain);
    free(comm->domain_ranks);
    free(comm);
    return NULL;
}

int comm_attach(MPI_Comm user, const struct settings *settings, struct gpubind_error *err)
{
    struct comm *comm;
    int inter;

    if (user == MPI_COMM_NULL) {
        error_set(err, "the communicator is MPI_COMM_NULL");
        return MPI_ERR_COMM;
    }
    PMPI_Comm_test_inter(user, &inter);
    if (inter) {
        error_set(err, "an intercommunicator cannot be used: merge it with MPI_Intercomm_merge");
        return MPI_ERR_COMM;
    }
    if (comm_of(user))
        return MPI_SUCCESS;
    comm = comm_make(user, settings, err);
    if (!comm)
        return MPI_ERR_OTHER;
    if (key == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(duplicate, forget, &key, NULL);
    comm->context = agree_on_context(comm);
    comm->companion->context = comm->context + 1;
    PMPI_Comm_set_attr(user, key, comm);
    trace_debug(TRACE_CORE, "communicator %016llx attached: rank %d of %d",
                (unsigned long long)comm->context, comm->rank, comm->size);
    enlist(comm);
    return MPI_SUCCESS;
}

static struct comm *with_gate(void)
{
    for (struct comm *comm = comms.first; comm; comm = comm->next)
        if (comm->announcement != MPI_REQUEST_NULL)
            return comm;
    return NULL;
}

/* All ranks have come to the calls that were announced, or else one of them is gone: MPI ends
 * with no request under way. Processes that were spawned may come late. */
static void end_gates(void)
{
    struct comm *comm;

    while ((comm = with_gate())) {
        MPI_Request announcement = comm->announcement;
        int over = 0;

        comm->announcement = MPI_REQUEST_NULL; /* others may have the lock below */
        while (!over && any_lost_rank() < 0 &&
               PMPI_Test(&announcement, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS)
            library_yield(true);
    }
}

/* The attributes stay: MPI_COMM_WORLD's is deleted in MPI_Finalize, when the key is
 * gone already. */
void comms_clear(void)
{
    announces = false;
    end_gates();
    while (!QUEUE_EMPTY(&comms)) {
        struct comm *comm = comms.first;

        if (comm->freed || PMPI_Comm_delete_attr(comm->user, key) != MPI_SUCCESS)
            comm_free(comm);
    }
    if (key != MPI_KEYVAL_INVALID)
        PMPI_Comm_free_keyval(&key);
}
