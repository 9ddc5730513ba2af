#include "mpi/core/domain.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_context.h"
#include "gpu/core/ipc_cache.h"
#include "mpi/base/log.h"
#include "mpi/base/modules.h"
#include "mpi/base/trace_part.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"

#define RESERVED_EACH 512 /* descriptors without an eager buffer, when there are none left */

static QUEUE_OF(struct domain) domains;
static int abandoned; /* domains without a communicator */

struct domain *domain_first(void)
{
    return domains.first;
}

struct domain *domain_oldest(void)
{
    struct domain *domain = domains.first;

    while (domain && domain->next)
        domain = domain->next;
    return domain;
}

bool domain_test_and_set_warned(uint32_t bit)
{
    return domains.first && domains.first->segment.base &&
           atomic_fetch_or(&segment_rank_ctrl(&domains.first->segment, 0)->warned, bit) & bit;
}

void domain_add(struct domain *domain)
{
    QUEUE_PUSH_FRONT(&domains, domain, next);
}

int domain_world_rank(const struct domain *domain, int rank)
{
    return domain->world ? trace_part_peer(domain->world[rank]) : TRACE_NOBODY;
}

int domain_share(const struct domain *domain)
{
    return domain->segment.ndescriptors / (4 * domain->segment.n);
}

void domain_give_descriptor(struct domain *domain, int descriptor)
{
    if (descriptor < domain->segment.neager)
        domain->free_eager[domain->nfree_eager++] = descriptor;
    else
        domain->free_plain[domain->nplain++] = descriptor;
}

/* Memory for some more descriptors, while there are any. */
static void reserve_more(struct domain *domain)
{
    const int all = domain->segment.ndescriptors, first = domain->nreserved;
    const int end = first + RESERVED_EACH < all ? first + RESERVED_EACH : all;

    if (first == end)
        return;
    domain->nreserved = segment_allocate_descriptors(&domain->segment, first, end) ? end : all;
    for (int i = end; i > first && domain->nreserved == end; i--)
        domain_give_descriptor(domain, i - 1);
}

int domain_take_descriptor(struct domain *domain, bool with_eager)
{
    if (domain->nplain == 0 && (!with_eager || domain->nfree_eager == 0))
        reserve_more(domain);
    if (domain->nfree_eager > 0 && (with_eager || domain->nplain == 0))
        return domain->free_eager[--domain->nfree_eager];
    return domain->nplain > 0 ? domain->free_plain[--domain->nplain] : -1;
}

static void unpin(struct domain *domain)
{
    for (int i = 0; domain->pinned && i < domain->segment.n; i++)
        for (int data = 0; data < SEGMENT_DATA; data++) {
            const struct gpu *gpu = domain->pinned[i][data];
            size_t nbytes;
            bool entered;

            if (!gpu || gpu_is_dead(gpu) || gpu_is_lost(gpu))
                continue;
            entered = gpu_enter(gpu);
            gpu_host_unregister(segment_data(&domain->segment, i, data, &nbytes));
            gpu_leave(entered);
        }
}

void domain_free(struct domain *domain, bool mpi)
{
    QUEUE_REMOVE(&domains, domain, next);
    unpin(domain);
    for_each_module (at)
        if ((*at)->domain_removed)
            (*at)->domain_removed(domain);
    ipc_refs_forget(domain);
    if (domain->segment.base)
        segment_leave(&domain->segment);
    segment_clear(&domain->segment);
    if (mpi)
        PMPI_Comm_free(&domain->shadow);
    for (int i = 0; domain->peers && i < domain->size; i++)
        free(domain->peers[i].unexpected);
    free(domain->peers);
    free(domain->world);
    free(domain->of_local);
    free(domain->pinned);
    free(domain->unlocked);
    free(domain->pin_wanted);
    free(domain->free_eager);
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

/* The oldest one in use, so that ranks agree where they can. */
static struct domain *find_around(MPI_Group group, int n, int *own, int *ranks)
{
    struct domain *found = NULL;

    for (struct domain *domain = domains.first; domain; domain = domain->next)
        if (!domain->abandoned && covers(domain, group, n, own, ranks))
            found = domain;
    if (found) /* the others have written their own */
        covers(found, group, n, own, ranks);
    return found;
}

/* Have all found the same one? A rank may have given up a domain that others still use. */
static bool agree_on(MPI_Comm comm, const struct domain *domain)
{
    const uint64_t name = domain ? domain->name : 0;
    uint64_t mine[2] = {name, ~name}, most[2];

    PMPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, comm);
    return name != 0 && most[0] == ~most[1];
}

struct domain *domain_around(MPI_Comm comm, int **ranks)
{
    struct domain *domain = NULL;
    MPI_Group group;
    int n, *own;
    bool agreed;

    PMPI_Comm_size(comm, &n);
    PMPI_Comm_group(comm, &group);
    own = calloc((size_t)n, sizeof *own);
    *ranks = calloc((size_t)n, sizeof **ranks);
    if (own && *ranks)
        domain = find_around(group, n, own, *ranks);
    PMPI_Group_free(&group);
    free(own);
    if (domain)
        domain->users++;
    library_unlock(); /* two threads may attach, in another order elsewhere */
    agreed = agree_on(comm, domain);
    library_lock();
    if (agreed)
        return domain;
    if (domain)
        domain_leave(domain);
    free(*ranks);
    *ranks = NULL;
    return NULL;
}

/* ---- the end of one that no communicator uses */

void domain_leave(struct domain *domain)
{
    if (--domain->users > 0)
        return;
    domain->abandoned = true;
    abandoned++;
}

/* Other ranks' memory that was mapped here is closed first. */
static bool maps_any(struct domain *domain)
{
    bool any = false;

    for (int i = 0; i < domain->size; i++)
        any |= mappings_drop_owner(&domain->peers[i]);
    return any;
}

static bool is_busy(struct domain *domain)
{
    if (domain->sends || domain->queued || domain->unacked || maps_any(domain) || !gpu_may_wait())
        return true;
    for_each_module (at)
        if ((*at)->domain_busy && (*at)->domain_busy(domain))
            return true;
    for (int i = 0; i < domain->size; i++)
        if (domain->peers[i].awaited > 0)
            return true;
    return false;
}

void domains_sweep(void)
{
    struct domain *next;

    if (abandoned == 0)
        return;
    for (struct domain *domain = domains.first; domain; domain = next) {
        next = domain->next;
        if (!domain->abandoned)
            continue;
        for_each_module (at)
            if ((*at)->domain_given_up)
                (*at)->domain_given_up(domain);
        if (is_busy(domain))
            continue;
        abandoned--;
        domain_free(domain, true);
    }
}

void domains_unpinned(const struct gpu *gpu)
{
    for (struct domain *domain = domains.first; domain; domain = domain->next)
        for (int i = 0; i < domain->size; i++)
            for (int data = 0; data < SEGMENT_DATA; data++)
                if (domain->pinned[i][data] == gpu)
                    domain->pinned[i][data] = NULL;
}

void domain_pin_now(struct domain *domain, int local, enum segment_data data)
{
    const struct gpu *gpu = gpu_first();
    size_t nbytes;
    char *at;
    bool entered;

    if (!domain->segment.base || domain->pinned[local][data] || !gpu)
        return;
    domain->pinned[local][data] = gpu;
    domain->pin_wanted[local][data] = false;
    at = segment_data(&domain->segment, local, data, &nbytes);
    entered = gpu_enter(gpu);
    gpu_agents_leave();
    domain->unlocked[local][data] = gpu_host_register(at, nbytes, GPU_REGISTER_PORTABLE) != GPU_OK;
    if (domain->unlocked[local][data])
        warn_once(WARN_PINNING, "shared memory cannot be page-locked (ulimit -l?); copies "
                                "through host memory are slower");
    gpu_leave(entered);
}

void domain_pin(struct domain *domain, int local, enum segment_data data)
{
    if (!gpu_is_guarded())
        domain_pin_now(domain, local, data);
    else if (!domain->pinned[local][data])
        domain->pin_wanted[local][data] = true;
}

void domain_pin_wanted(struct domain *domain, int local)
{
    for (int data = 0; data < SEGMENT_DATA; data++)
        if (domain->pin_wanted[local][data])
            domain_pin_now(domain, local, (enum segment_data)data);
}

bool domain_is_pinned(const struct domain *domain, int local, enum segment_data data)
{
    return domain->pinned[local][data] && !domain->unlocked[local][data];
}
