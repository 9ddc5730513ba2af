#include "mpi/domain.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/gpu.h"
#include "mpi/notice.h"
#include "mpi/pieces.h"

static struct domain *domains;

struct domain *domain_first(void)
{
    return domains;
}

/* The ranks that share memory with me. A forced network path pretends that there is
 * none. */
static int make_segment(struct domain *domain, const struct settings *settings)
{
    struct gpubind_error err = {{0}};
    MPI_Comm node;
    const bool alone = settings->path == PATH_NETWORK || settings->path == PATH_DIRECT;
    int status;

    PMPI_Comm_split_type(domain->shadow, MPI_COMM_TYPE_SHARED, domain->rank, MPI_INFO_NULL, &node);
    if (alone) {
        PMPI_Comm_free(&node);
        PMPI_Comm_dup(MPI_COMM_SELF, &node);
    }
    status = segment_make(node, &domain->segment, &err);
    PMPI_Comm_free(&node);
    if (status < 0)
        notice_once(NOTICE_SEGMENT, "%s; the ranks of this node talk through MPI", err.text);
    return status;
}

/* Tells all where each rank is: its place in its segment, and who leads it. */
static int exchange(struct domain *domain)
{
    const bool shared = domain->segment.base;
    int mine[3] = {shared ? domain->segment.me : -1, 0, 0};
    int (*all)[3] = calloc((size_t)domain->size, sizeof *all);
    int lead = domain->rank;

    if (!all)
        return -1;
    if (shared) { /* the leader writes its rank where all of the segment read it */
        _Atomic uint64_t *place = segment_inbox(&domain->segment, 0);

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
    mine[1] = lead;
    PMPI_Query_thread(&mine[2]);
    PMPI_Allgather(mine, 3, MPI_INT, all, 3, MPI_INT, domain->shadow);
    for (int i = 0; i < domain->size; i++) {
        struct peer *peer = &domain->peers[i];

        peer->domain_rank = i;
        peer->local = shared && all[i][1] == lead ? all[i][0] : -1;
        domain->nremote += peer->local < 0;
        domain->single |= all[i][2] != MPI_THREAD_MULTIPLE;
        if (peer->local >= 0)
            domain->of_local[peer->local] = i;
    }
    free(all);
    return 0;
}

void domain_give_descriptor(struct domain *domain, int descriptor)
{
    if (descriptor < domain->segment.nslots)
        domain->free_slotted[domain->nslotted++] = descriptor;
    else
        domain->free_plain[domain->nplain++] = descriptor;
}

int domain_take_descriptor(struct domain *domain, bool slotted)
{
    if (domain->nslotted > 0 && (slotted || domain->nplain == 0))
        return domain->free_slotted[--domain->nslotted];
    return domain->nplain > 0 ? domain->free_plain[--domain->nplain] : -1;
}

static int allocate(struct domain *domain)
{
    const struct segment *segment = &domain->segment;
    size_t n = (size_t)domain->size;

    domain->peers = calloc(n, sizeof *domain->peers);
    domain->of_local = calloc(n, sizeof *domain->of_local);
    domain->pinned = calloc(n, sizeof *domain->pinned);
    domain->free_slotted = calloc((size_t)segment->nslots + 1, sizeof(int));
    domain->free_plain = calloc((size_t)segment->ndescriptors + 1, sizeof(int));
    domain->queued_end = &domain->queued;
    if (!domain->peers || !domain->of_local || !domain->pinned || !domain->free_slotted ||
        !domain->free_plain)
        return -1;
    for (int i = segment->base ? segment->ndescriptors : 0; i > 0; i--)
        domain_give_descriptor(domain, i - 1);
    return 0;
}

struct domain *domain_make(MPI_Comm comm, const struct settings *settings,
                           struct gpubind_error *err)
{
    struct domain *domain = calloc(1, sizeof *domain);

    if (!domain || PMPI_Comm_dup(comm, &domain->shadow) != MPI_SUCCESS) {
        free(domain);
        error_set(err, "a communicator for the library's messages cannot be made");
        return NULL;
    }
    PMPI_Comm_set_errhandler(domain->shadow, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(domain->shadow, &domain->rank);
    PMPI_Comm_size(domain->shadow, &domain->size);
    make_segment(domain, settings);
    if (allocate(domain) < 0 || exchange(domain) < 0) {
        error_set(err, "out of memory");
        domain_free(domain, false);
        return NULL;
    }
    domain->next = domains;
    domains = domain;
    return domain;
}

static void unpin(struct domain *domain)
{
    const struct gpu *gpu = gpu_any();
    size_t nbytes;
    bool entered;

    if (!gpu || !domain->pinned)
        return;
    entered = gpu_enter(gpu);
    for (int i = 0; i < domain->segment.n; i++)
        if (domain->pinned[i])
            gpu_driver()->cuMemHostUnregister(segment_data(&domain->segment, i, &nbytes));
    gpu_leave(entered);
}

void domain_free(struct domain *domain, bool mpi)
{
    for (struct domain **link = &domains; *link; link = &(*link)->next)
        if (*link == domain) {
            *link = domain->next;
            break;
        }
    unpin(domain);
    pieces_forget(domain);
    segment_clear(&domain->segment);
    if (mpi)
        PMPI_Comm_free(&domain->shadow);
    free(domain->peers);
    free(domain->of_local);
    free(domain->pinned);
    free(domain->free_slotted);
    free(domain->free_plain);
    free(domain);
}

static bool covers(const struct domain *domain, MPI_Group group, int n, int *own, int *ranks)
{
    MPI_Group around;

    for (int i = 0; i < n; i++)
        own[i] = i;
    PMPI_Comm_group(domain->shadow, &around);
    PMPI_Group_translate_ranks(group, n, own, around, ranks);
    PMPI_Group_free(&around);
    for (int i = 0; i < n; i++)
        if (ranks[i] == MPI_UNDEFINED)
            return false;
    return true;
}

struct domain *domain_around(MPI_Comm comm, int **ranks)
{
    struct domain *domain = NULL;
    MPI_Group group;
    int n, *own;

    PMPI_Comm_size(comm, &n);
    PMPI_Comm_group(comm, &group);
    own = calloc((size_t)n, sizeof *own);
    *ranks = calloc((size_t)n, sizeof **ranks);
    if (own && *ranks)
        for (domain = domains; domain; domain = domain->next)
            if (covers(domain, group, n, own, *ranks))
                break;
    PMPI_Group_free(&group);
    free(own);
    if (!domain) {
        free(*ranks);
        *ranks = NULL;
    }
    return domain;
}

void domain_pin(struct domain *domain, int local)
{
    const struct gpu *gpu = gpu_any();
    size_t nbytes;
    char *data;
    bool entered;

    if (domain->pinned[local] || !gpu)
        return;
    domain->pinned[local] = true;
    data = segment_data(&domain->segment, local, &nbytes);
    entered = gpu_enter(gpu);
    /* Copies work without, only slower, so a refusal is no error. */
    if (gpu_driver()->cuMemHostRegister_v2(data, nbytes, CUDA_REGISTER_PORTABLE) != CUDA_OK)
        notice_once(NOTICE_PINNING, "shared memory cannot be page-locked (ulimit -l?); copies "
                    "through host memory are slower");
    gpu_leave(entered);
}
