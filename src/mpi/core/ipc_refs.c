#include "mpi/core/ipc_refs.h"

#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/mem_query.h"
#include "mpi/core/request.h"

struct handle_ref {
    struct handle_ref *next;
    struct domain *domain;
    uint64_t id, start, size;
    int nlocal;
    bool has_handle[]; /* by local rank: it may have mapped the allocation */
};

struct release {
    struct release *next; /* in `asked` */
    uint64_t id, start, size;
    int pending;
    bool forgotten; /* the caller has no more interest: freed when all are closed */
    unsigned long long memory;
    struct gpu *gpu;
};

static struct handle_ref *handle_refs;
static QUEUE_OF(struct release) asked; /* not all ranks have answered */
static void (*send)(struct gpubind_operation *release);
static int nwaiting; /* releases with memory to free */

static struct handle_ref *find(const struct domain *domain, uint64_t id)
{
    struct handle_ref **link = &handle_refs, *handle_ref;

    while (*link && ((*link)->id != id || (*link)->domain != domain))
        link = &(*link)->next;
    handle_ref = *link;
    if (!handle_ref || link == &handle_refs)
        return handle_ref;
    *link = handle_ref->next; /* moved to the front: messages come from few buffers */
    handle_ref->next = handle_refs;
    handle_refs = handle_ref;
    return handle_ref;
}

void ipc_refs_note(struct domain *domain, uint64_t id, uint64_t start, uint64_t size, int local)
{
    struct handle_ref *handle_ref = find(domain, id);

    if (!handle_ref) {
        handle_ref = calloc(1, sizeof *handle_ref +
                                   (size_t)domain->segment.n * sizeof *handle_ref->has_handle);
        if (!handle_ref) /* the peer could never be asked to close its mapping */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        handle_ref->next = handle_refs;
        handle_ref->domain = domain;
        handle_ref->id = id;
        handle_ref->start = start;
        handle_ref->size = size;
        handle_ref->nlocal = domain->segment.n;
        handle_refs = handle_ref;
    }
    handle_ref->has_handle[local] = true;
}

static bool overlaps(uint64_t id, uint64_t start, uint64_t size, const struct memory_export *shared)
{
    return id != shared->id && start < shared->start + shared->size && shared->start < start + size;
}

bool ipc_refs_are_in_way(const struct memory_export *shared)
{
    for (const struct handle_ref *ref = handle_refs; ref; ref = ref->next)
        if (overlaps(ref->id, ref->start, ref->size, shared))
            return true;
    for (const struct release *release = asked.first; release; release = release->next)
        if (overlaps(release->id, release->start, release->size, shared))
            return true;
    return false;
}

static void finish_if_closed(struct release *release)
{
    if (release->pending > 0)
        return;
    if (release->memory) {
        gpu_free_deferred(release->gpu, release->memory);
        release->memory = 0;
        nwaiting--;
    }
    if (release->forgotten)
        free(release);
}

static void request_close(struct release *release, const struct handle_ref *handle_ref)
{
    for (int local = 0; local < handle_ref->nlocal; local++) {
        struct gpubind_operation *operation;

        if (!handle_ref->has_handle[local] || segment_has_left(&handle_ref->domain->segment, local))
            continue;
        operation = request_make(REQUEST_SEND);
        if (!operation)
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
        operation->domain = handle_ref->domain;
        operation->peer = &handle_ref->domain->peers[handle_ref->domain->of_local[local]];
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
    release->pending = 1; /* until all requests are sent */
    nwaiting += memory != 0;
    memory_forget(id);
    for (struct handle_ref **link = &handle_refs; *link;) {
        struct handle_ref *handle_ref = *link;

        if (handle_ref->id != id) {
            link = &handle_ref->next;
            continue;
        }
        *link = handle_ref->next;
        release->start = handle_ref->start;
        release->size = handle_ref->size;
        request_close(release, handle_ref);
        free(handle_ref);
    }
    release->pending--;
    if (release->pending > 0) {
        QUEUE_PUSH(&asked, release, next);
        return release;
    }
    release->forgotten = true;
    finish_if_closed(release);
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
    if (release->pending == 0)
        QUEUE_REMOVE(&asked, release, next);
    finish_if_closed(release);
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
    return nwaiting;
}

void ipc_refs_forget(const struct domain *domain)
{
    for (struct handle_ref **link = &handle_refs; *link;) {
        struct handle_ref *handle_ref = *link;

        if (handle_ref->domain != domain) {
            link = &handle_ref->next;
            continue;
        }
        *link = handle_ref->next;
        free(handle_ref);
    }
}

void ipc_refs_clear(void)
{
    asked.first = NULL; /* of ranks that have not answered by now, none will */
    while (handle_refs) {
        struct handle_ref *handle_ref = handle_refs;

        handle_refs = handle_ref->next;
        free(handle_ref);
    }
}
