/* Makes a domain: its communicator, the memory that its ranks on a node share, and where each rank is. */
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/base/trace_part.h"
#include "mpi/core/context.h"
#include "mpi/core/domain.h"
#include "mpi/core/peer_alive.h"
#include "mpi/shm/oversubscribed.h"

/* The ranks of my node that share memory with me. A forced network path pretends that there is
 * no other. Settings may differ, as those of processes that MPI_Comm_spawn has started do: what
 * all ranks of the node call here depends on what is the same for all of them. */
static MPI_Comm find_sharers(const struct domain *domain, const struct settings *settings)
{
    const int alone = !(settings->transports & 1u << TRANSPORT_SHM);
    MPI_Comm node, sharers;
    int me, any;

    PMPI_Comm_split_type(domain->shadow, MPI_COMM_TYPE_SHARED, domain->rank, MPI_INFO_NULL, &node);
    if (!domain_first()) /* the first is that of MPI_COMM_WORLD */
        oversubscribed_detect(node);
    PMPI_Allreduce(&alone, &any, 1, MPI_INT, MPI_MAX, node);
    if (!any)
        return node;
    PMPI_Comm_rank(node, &me);
    PMPI_Comm_split(node, alone ? 1 + me : 0, me, &sharers);
    PMPI_Comm_free(&node);
    return sharers;
}

static int make_segment(struct domain *domain, const struct settings *settings)
{
    struct gpubind_error err = {{0}};
    MPI_Comm sharers = find_sharers(domain, settings);
    const int status = segment_make(sharers, &domain->segment, &err);

    PMPI_Comm_free(&sharers);
    if (status < 0 && domain->segment.me == 0)
        warn_once(WARN_SEGMENT, "%s; the ranks of this node talk through MPI", err.text);
    if (status == 0 && err.text[0])
        warn_once(WARN_SHM, "%s", err.text);
    return status;
}

struct place {
    int local, lead; /* in its segment, and the rank that leads it */
    int level;       /* of threads that MPI provides */
    struct process process;
};

/* Tells all where each rank is. */
static void exchange(struct domain *domain, struct place *all)
{
    const bool shared = domain->segment.base;
    struct place mine = {.local = shared ? domain->segment.me : -1};
    int lead = domain->rank;

    if (shared) { /* the leader writes its rank where all of the segment read it */
        _Atomic uint64_t *place = segment_ring(&domain->segment, 0, 0);

        if (domain->segment.me == 0)
            atomic_store(place, (uint64_t)domain->rank + 1);
        PMPI_Barrier(domain->shadow);
        lead = (int)atomic_load(place) - 1;
        PMPI_Barrier(domain->shadow);
        if (domain->segment.me == 0)
            atomic_store(place, 0);
    } else {
        PMPI_Barrier(domain->shadow);
        PMPI_Barrier(domain->shadow);
    }
    mine.lead = lead;
    process_describe(&mine.process);
    PMPI_Query_thread(&mine.level);
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, domain->shadow);
    for (int i = 0; i < domain->size; i++) {
        struct peer *peer = &domain->peers[i];

        peer->domain_rank = i;
        peer->local = shared && all[i].lead == lead ? all[i].local : -1;
        peer->pid = process_pid(&mine.process, &all[i].process);
        domain->nremote += peer->local < 0;
        domain->single |= all[i].level != MPI_THREAD_MULTIPLE;
        if (peer->local >= 0)
            domain->of_local[peer->local] = i;
    }
}

static void find_world_ranks(struct domain *domain)
{
    int *ranks = malloc((size_t)domain->size * sizeof *ranks);
    MPI_Group own, all;

    domain->world = malloc((size_t)domain->size * sizeof *domain->world);
    for (int i = 0; ranks && domain->world && i < domain->size; i++) {
        ranks[i] = i;
        domain->world[i] = MPI_UNDEFINED;
    }
    if (ranks && domain->world) {
        PMPI_Comm_group(domain->shadow, &own);
        PMPI_Comm_group(MPI_COMM_WORLD, &all);
        PMPI_Group_translate_ranks(own, domain->size, ranks, all, domain->world);
        PMPI_Group_free(&own);
        PMPI_Group_free(&all);
    }
    free(ranks);
}

static int allocate(struct domain *domain)
{
    const struct segment *segment = &domain->segment;
    size_t n = (size_t)domain->size;

    domain->peers = calloc(n, sizeof *domain->peers);
    domain->of_local = calloc(n, sizeof *domain->of_local);
    domain->owed = domain_share(domain) * segment->n;
    domain->pinned = calloc(n, sizeof *domain->pinned);
    domain->unlocked = calloc(n, sizeof *domain->unlocked);
    domain->pin_wanted = calloc(n, sizeof *domain->pin_wanted);
    domain->free_eager = calloc((size_t)segment->neager + 1, sizeof(int));
    domain->free_plain = calloc((size_t)segment->ndescriptors + 1, sizeof(int));
    if (!domain->peers || !domain->of_local || !domain->pinned || !domain->unlocked ||
        !domain->pin_wanted || !domain->free_eager || !domain->free_plain)
        return -1;
    domain->nreserved = segment->base ? segment->neager : 0;
    for (int i = domain->nreserved; i > 0; i--)
        domain_give_descriptor(domain, i - 1);
    return 0;
}

static uint64_t make_name(const struct domain *domain)
{
    uint64_t name = 0;

    while (domain->rank == 0 && name == 0)
        if (getrandom(&name, sizeof name, 0) != sizeof name)
            name = (uint64_t)getpid() << 32 | (uint32_t)clock();
    PMPI_Bcast(&name, 1, MPI_UINT64_T, 0, domain->shadow);
    return name;
}

/* All ranks have the memory that they need, or none goes on. */
static int fill(struct domain *domain, int **ranks)
{
    struct place *all = calloc((size_t)domain->size, sizeof *all);
    int mine, everyones = 0;

    *ranks = calloc((size_t)domain->size, sizeof **ranks);
    mine = allocate(domain) == 0 && all && *ranks;
    PMPI_Allreduce(&mine, &everyones, 1, MPI_INT, MPI_MIN, domain->shadow);
    if (everyones)
        exchange(domain, all);
    for (int i = 0; everyones && i < domain->size; i++)
        (*ranks)[i] = i;
    free(all);
    return everyones ? 0 : -1;
}

/* Collective, and without the lock. */
static int set_up(struct domain *domain, int **ranks, const struct settings *settings)
{
    PMPI_Comm_set_errhandler(domain->shadow, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(domain->shadow, &domain->rank);
    PMPI_Comm_size(domain->shadow, &domain->size);
    make_segment(domain, settings);
    if (fill(domain, ranks) < 0)
        return -1;
    domain->name = make_name(domain);
    return 0;
}

struct domain *domain_make(MPI_Comm comm, int **ranks, const struct settings *settings,
                           struct gpubind_error *err)
{
    struct domain *domain = calloc(1, sizeof *domain);
    bool made, complete;

    *ranks = NULL;
    library_unlock(); /* two threads may attach, in another order elsewhere */
    made = domain && PMPI_Comm_dup(comm, &domain->shadow) == MPI_SUCCESS;
    if (made && trace_part_is_on)
        PMPI_Comm_set_name(domain->shadow, TRACE_OWN_COMM);
    complete = made && set_up(domain, ranks, settings) == 0;
    library_lock();
    if (!made) {
        free(domain);
        error_set(err, "a communicator for the library's messages cannot be made");
        return NULL;
    }
    if (!complete) {
        error_set(err, "out of memory");
        domain_free(domain, false);
        free(*ranks);
        return NULL;
    }
    if (trace_part_is_on)
        find_world_ranks(domain);
    trace_debug(TRACE_CORE, "domain of %d ranks, %d of them share memory with this one",
                domain->size, domain->size - domain->nremote);
    domain->users = 1;
    domain_add(domain);
    return domain;
}
