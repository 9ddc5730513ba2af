#include "mpi/core/ipc_refs.h"

#include <stdlib.h>

#include "gpu/core/mem_query.h"
#include "mpi/core/request.h"

struct share {
    struct share *next;
    struct domain *domain;
    uint64_t id;
    int nlocal;
    bool told[]; /* by local rank */
};

struct release {
    uint64_t id;
    int pending;
    bool forgotten; /* nobody asks for it any more */
    unsigned long long memory;
    struct gpu *gpu;
};

static struct share *shares;
static void (*send)(struct gpubind_operation *release);
static int waiting; /* releases with memory to free */

static struct share *find(const struct domain *domain, uint64_t id)
{
    struct share **link = &shares, *share;

    while (*link && ((*link)->id != id || (*link)->domain != domain))
        link = &(*link)->next;
    share = *link;
    if (!share || link == &shares)
        return share;
    *link = share->next; /* the latest first: messages come from few buffers */
    share->next = shares;
    shares = share;
    return share;
}

void ipc_refs_note(struct domain *domain, uint64_t id, int local)
{
    struct share *share = find(domain, id);

    if (!share) {
        share = calloc(1, sizeof *share + (size_t)domain->segment.n * sizeof *share->told);
        if (!share) /* then nobody could be told to close it */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        share->next = shares;
        share->domain = domain;
        share->id = id;
        share->nlocal = domain->segment.n;
        shares = share;
    }
    share->told[local] = true;
}

static void settle(struct release *release)
{
    if (release->pending > 0)
        return;
    if (release->memory) {
        gpu_free_deferred(release->gpu, release->memory);
        release->memory = 0;
        waiting--;
    }
    if (release->forgotten)
        free(release);
}

static void ask(struct release *release, const struct share *share)
{
    for (int local = 0; local < share->nlocal; local++) {
        struct gpubind_operation *operation;

        if (!share->told[local] || segment_has_left(&share->domain->segment, local))
            continue;
        operation = request_make(REQUEST_SEND);
        if (!operation)
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        operation->domain = share->domain;
        operation->peer = &share->domain->peers[share->domain->of_local[local]];
        operation->release = release;
        operation->forgotten = true;
        release->pending++;
        send(operation);
    }
}

void ipc_refs_send_by(void (*sends)(struct gpubind_operation *release))
{
    send = sends;
}

struct release *ipc_refs_release(uint64_t id, unsigned long long memory, struct gpu *gpu)
{
    struct release *release = calloc(1, sizeof *release);

    if (!release)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    release->id = id;
    release->memory = memory;
    release->gpu = gpu;
    release->pending = 1; /* ours, until all are asked */
    waiting += memory != 0;
    memory_forget(id);
    for (struct share **link = &shares; *link;) {
        struct share *share = *link;

        if (share->id != id) {
            link = &share->next;
            continue;
        }
        *link = share->next;
        ask(release, share);
        free(share);
    }
    release->pending--;
    if (release->pending > 0)
        return release;
    release->forgotten = true;
    settle(release);
    return NULL;
}

int release_pending(const struct release *release)
{
    return release->pending;
}

void release_forget(struct release *release)
{
    release->forgotten = true;
    if (release->pending == 0)
        free(release);
}

void release_fill(const struct release *release, struct msg_header *header)
{
    msg_sign(header, MSG_RELEASE);
    header->id = release->id;
}

void release_answered(struct release *release)
{
    release->pending--;
    settle(release);
}

void ipc_refs_sweep(void)
{
    struct release *release;
    uint64_t id;

    while (memory_next_stale(&id)) {
        release = ipc_refs_release(id, 0, NULL);
        if (release)
            release_forget(release);
    }
}

int releases_pending(void)
{
    return waiting;
}

void ipc_refs_forget(const struct domain *domain)
{
    for (struct share **link = &shares; *link;) {
        struct share *share = *link;

        if (share->domain != domain) {
            link = &share->next;
            continue;
        }
        *link = share->next;
        free(share);
    }
}

void ipc_refs_clear(void)
{
    while (shares) {
        struct share *share = shares;

        shares = share->next;
        free(share);
    }
}
