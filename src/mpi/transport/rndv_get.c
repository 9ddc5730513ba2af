#include "mpi/transport/rndv_get.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/list.h"
#include "mpi/base/log.h"
#include "mpi/base/trace.h"
#include "mpi/core/transport.h"
#include "mpi/datatype/pack.h"
#include "mpi/transport/receive_end.h"

/* A single small copy that a thread waits for is waited for in the driver, which is
 * 1 us faster than asking for its event; nothing else moves meanwhile. */
#define AT_ONCE (1u << 20)
/* A batch waits for the one before, so that more messages share it, until this many
 * bytes wait: of small messages, of large ones. */
#define ENOUGH (1u << 20)
#define ENOUGH_LARGE (4u << 20)
#define LARGE (512u << 10)
/* The first one waits while messages of a burst come in, which a sender makes one of in
 * 0.25 to 0.35 us; so many seconds without one end it. */
#define QUIET 0.7e-6
#define FLIGHTS 4

struct get {
    struct get *next;
    struct gpubind_operation *receive;
    struct copy copy;
    struct gpu *gpu;
    bool strided;
};

struct batch {
    struct gpu_completion completion; /* gpu NULL: unused */
    QUEUE_OF(struct get) gets;
};

static QUEUE_OF(struct get) pending;
static struct get *spare;
static int npending;
static double latest; /* when the last one came */
static size_t pending_nbytes;
static struct batch batches[FLIGHTS]; /* a ring: flying of them from oldest on */
static int oldest, flying;

/* gpu: whose stream copies. */
static void add(struct gpubind_operation *receive, gpu_address from, enum copy_ends ends,
                struct gpu *gpu)
{
    struct get *get = spare;

    if (get)
        spare = get->next;
    else
        get = malloc(sizeof *get);
    if (!get)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *get = (struct get){.receive = receive,
                        .gpu = gpu,
                        .strided = receive->pack && ends == COPY_IN_GPU,
                        .copy = {receive->memory.address, from, receive->got_bytes, ends}};
    QUEUE_PUSH(&pending, get, next);
    npending++;
    latest = clock_seconds();
    pending_nbytes += get->copy.nbytes;
}

bool rndv_get_self(struct gpubind_operation *receive, const struct msg_header *header)
{
    const void *from = (const void *)(uintptr_t)header->address;
    const struct gpubind_operation *send = (const struct gpubind_operation *)(uintptr_t)
                                               header->operation;
    struct gpu *mine = receive->memory.gpu, *theirs;
    enum copy_ends ends;

    if (!(header->flags & MSG_SELF))
        return false;
    theirs = send->memory.gpu;
    /* A kernel can address the memory of its own GPU, but not that of any other of the process. */
    ends = !mine            ? COPY_TO_HOST
           : !theirs        ? COPY_FROM_HOST
           : mine == theirs ? COPY_IN_GPU
                            : COPY_BY_DRIVER;
    if (ends != COPY_IN_GPU && !receive_make_dense(receive))
        return true;
    if (mine || theirs) {
        add(receive, header->address, ends, mine ? mine : theirs);
    } else {
        memcpy(receive->buffer, from, receive->got_bytes);
        receive_finish(receive, 0, NULL);
    }
    return true;
}

/* Of the GPU that copies: an eager buffer that a receive has its data put into first is host memory. */
static struct gpu *gpu_of_receive(const struct gpubind_operation *receive)
{
    return receive->landing >= 0 ? receive->landed.gpu : receive->memory.gpu;
}

/* NULL: it cannot be mapped, with a notice where that was not known. */
struct mapping *rndv_get_map(const struct gpubind_operation *receive, struct peer *peer,
                             const struct msg_header *header, struct descriptor *from)
{
    struct memory_export shared = {header->id, header->start, header->size, {{0}}};
    struct gpu *gpu = gpu_of_receive(receive);
    struct mapping *mapping;
    struct gpubind_error err;
    bool for_now;

    if (!(header->flags & MSG_SHAREABLE) || !gpu ||
        !transport_reaches(TRANSPORT_IPC, receive->domain, peer))
        return NULL;
    memcpy(&shared.handle, header->handle, sizeof shared.handle);
    if (!mapping_possible(peer, &shared, gpu))
        return NULL;
    mapping = mapping_open(peer, &shared, gpu, &for_now, &err);
    if (for_now)
        return NULL;
    if (!mapping && peer->ipc_works)
        return NULL;
    if (!mapping) {
        peer->no_ipc = true;
        warn_once(WARN_IPC, "%s (rank %d); messages from there go through host memory", err.text,
                  header->source);
        return NULL;
    }
    from->mapped = 1;
    peer->ipc_works |= memory_has_handle(&shared);
    trace_debug(TRACE_P2P, "rank %d's allocation %llu of %llu bytes is mapped", header->source,
                (unsigned long long)header->id, (unsigned long long)header->size);
    return mapping;
}

bool rndv_get_ipc(struct gpubind_operation *receive, const struct msg_header *header)
{
    receive->mapping = rndv_get_map(receive, receive->peer, header, receive->from);
    if (!receive->mapping)
        return false;
    trace(TRACE_P2P, "receive %u: copies from the sender's memory", receive->number);
    add(receive, mapping_address(receive->mapping, header->address),
        receive->landing >= 0 ? COPY_TO_HOST : COPY_IN_GPU, gpu_of_receive(receive));
    return true;
}

static void finish(struct get *get, int status, const struct gpubind_error *err)
{
    receive_finish(get->receive, status, err);
    get->next = spare;
    spare = get;
}

static void run_alone(struct get *get)
{
    struct gpubind_error err;
    int status;

    if (!get->strided) {
        status = copy_now(get->gpu, GPU_IN, &get->copy, &err);
    } else {
        status = pack_scatter(get->receive, get->copy.from, &err);
        if (copies_wait(get->gpu, GPU_IN, status == 0 ? &err : NULL) < 0)
            status = -1;
    }
    finish(get, status, &err);
}

static void finish_all(struct batch *batch, int status, const struct gpubind_error *err)
{
    struct get *get;

    while ((get = QUEUE_POP(&batch->gets, next)))
        finish(get, status, err);
}

/* false: it is still under way. */
static bool land(struct batch *batch)
{
    struct gpubind_error err;
    int complete = gpu_completion_test(&batch->completion, &err);

    if (complete == 0)
        return false;
    finish_all(batch, complete < 0 ? -1 : 0, &err);
    return true;
}

/* Takes what goes to one GPU, at most COPIES_MOST, off the pending ones. */
static void start(struct batch *batch)
{
    struct gpu *gpu = pending.first->gpu;
    struct copy copies[COPIES_MOST];
    struct get **link = &pending.first, *get;
    struct gpubind_error err;
    int n = 0, taken = 0, status = 0;

    while ((get = *link) && taken < COPIES_MOST) {
        if (get->gpu != gpu) {
            link = &get->next;
            continue;
        }
        QUEUE_UNLINK(&pending, link, next);
        if (status == 0 && get->strided)
            status = pack_scatter(get->receive, get->copy.from, &err);
        else if (status == 0)
            copies[n++] = get->copy;
        taken++;
        npending--;
        pending_nbytes -= get->copy.nbytes;
        QUEUE_PUSH(&batch->gets, get, next);
    }
    if (status == 0)
        status = copies_start(gpu, GPU_IN, copies, n, &batch->completion, &err);
    if (status == 0) {
        flying++;
        return;
    }
    copies_wait(gpu, GPU_IN, NULL); /* for what was queued all the same */
    finish_all(batch, status, &err);
}

/* A thread waits for this one message and nothing else moves. */
static bool is_alone(void)
{
    return flying == 0 && npending == 1 && pending.first->receive->waited &&
           QUEUE_EMPTY(&pending.first->receive->comm->posted) && pending_nbytes <= AT_ONCE;
}

/* Receives are posted that the burst may bring messages for. */
static bool more_may_come(void)
{
    return !QUEUE_EMPTY(&pending.first->receive->comm->posted) && clock_seconds() - latest < QUIET;
}

static bool is_enough(void)
{
    return pending_nbytes >= (pending.first->copy.nbytes > LARGE ? ENOUGH_LARGE : ENOUGH);
}

void rndv_gets_progress(void)
{
    while (flying > 0 && land(&batches[oldest])) {
        oldest = (oldest + 1) % FLIGHTS;
        flying--;
    }
    if (is_alone()) {
        struct get *get = QUEUE_POP(&pending, next);

        npending = 0;
        pending_nbytes = 0;
        run_alone(get);
        return;
    }
    while (npending > 0 && flying < FLIGHTS &&
           (is_enough() || npending == COPIES_MOST || (flying == 0 && !more_may_come())))
        start(&batches[(oldest + flying) % FLIGHTS]);
}
