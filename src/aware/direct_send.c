#include "aware/direct_send.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "aware/direct_memory.h"
#include "aware/gpu_buffer.h"
#include "aware/next.h"
#include "aware/typed.h"

const uint64_t direct_magic[2] = {UINT64_C(0x8e2f6d0bb5a94c17), UINT64_C(0x53c1f7e42a9d860b)};

/* One for each slot. */
struct outgoing {
    struct direct_send send; /* first: what callers hold */
    struct direct_slot *slot;
    struct direct_peer *peer;
    bool used;      /* also after the application's send has completed, until the receiver has it */
    bool completed; /* the application's send has */
    bool retired;   /* see direct_send_plain */
    bool generalized;
    MPI_Request descriptor, request; /* of direct_send_later; request: a generalized one */
    double since;                    /* seconds; when the descriptor was made */
    unsigned asked;                  /* how often the state was looked at */
    void *data;                      /* where it is buffered */
    union {
        struct direct_descriptor head;
        char all[DIRECT_LENGTH_MOST];
    } bytes;
};

static struct outgoing sends[DIRECT_SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int npending;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int direct_slot_of_length(MPI_Count nbytes)
{
    const MPI_Count above = nbytes - DIRECT_LENGTH;

    return above < 0 || above % DIRECT_LENGTH_STEP || nbytes > DIRECT_LENGTH_MOST
               ? -1
               : (int)(above / DIRECT_LENGTH_STEP);
}

static uint32_t state_of(const struct outgoing *out)
{
    return atomic_load_explicit(&out->slot->state, memory_order_acquire);
}

/* ---- data in host memory */

/* A memfd, which the receiver opens among the files of this process. */
static void *make_data(size_t nbytes, int *fd)
{
    void *at = MAP_FAILED;

    *fd = memfd_create("gpubind-aware-data", MFD_CLOEXEC);
    if (*fd >= 0 && posix_fallocate(*fd, 0, (off_t)nbytes) == 0)
        at = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    if (at != MAP_FAILED)
        return at;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return NULL;
}

static void free_data(struct outgoing *out)
{
    if (!out->data)
        return;
    munmap(out->data, out->slot->nbytes);
    close(out->slot->fd);
    out->data = NULL;
    out->slot->fd = -1;
}

/* Where the slot's state is still the one that was seen. */
static void buffer(struct outgoing *out, uint32_t seen)
{
    struct direct_slot *slot = out->slot;

    if (!atomic_compare_exchange_strong(&slot->state, &seen, DIRECT_BUFFERING))
        return;
    out->data = make_data(slot->nbytes, &slot->fd);
    if (out->data &&
        direct_to_host(out->data, (const void *)(uintptr_t)slot->address, slot->nbytes) == 0) {
        atomic_store(&slot->state, DIRECT_BUFFERED);
        return;
    }
    free_data(out);
    out->since = now();
    atomic_store(&slot->state, seen);
}

static pthread_t server;
static bool is_served;
static atomic_bool is_ending;

/* Buffers what receivers want that cannot map GPU memory, whatever the application's threads do. */
static void *serve(void *unused)
{
    struct direct_segment *own = unused;

    while (!atomic_load(&is_ending)) {
        const uint32_t wanted = atomic_load(&own->wanted);

        for (int i = 0; i < DIRECT_SLOTS; i++)
            if (atomic_load(&own->slots[i].state) == DIRECT_WANTED)
                buffer(&sends[i], DIRECT_WANTED);
        if (!atomic_load(&is_ending))
            syscall(SYS_futex, &own->wanted, FUTEX_WAIT, wanted, NULL, NULL, 0);
    }
    return NULL;
}

/* Without the thread, the sender's own calls do it. */
static void start_server(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    is_served = pthread_create(&server, NULL, serve, direct_own()) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_server(struct direct_segment *own)
{
    atomic_store(&is_ending, true);
    atomic_fetch_add(&own->wanted, 1);
    syscall(SYS_futex, &own->wanted, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    if (is_served)
        pthread_join(server, NULL);
    is_served = false;
}

/* ---- slots */

static void release(struct outgoing *out)
{
    free_data(out);
    if (out->slot->slow)
        out->peer->slow = true;
    atomic_store(&out->slot->state, DIRECT_FREE);
    out->used = false;
}

/* Nobody will take it. */
static bool is_lost(const struct outgoing *out)
{
    return atomic_load_explicit(&out->peer->segment->ended, memory_order_relaxed) ||
           !direct_peer_lives(out->peer);
}

/* The receiver has what was sent, or never will. */
static bool is_left(const struct outgoing *out)
{
    return out->completed && (state_of(out) == DIRECT_DONE || is_lost(out));
}

/* The lock is held. */
static struct outgoing *find_free(void)
{
    struct outgoing *found = NULL;

    for (int i = 0; i < DIRECT_SLOTS && !found; i++)
        if (!sends[i].used && !sends[i].retired)
            found = &sends[i];
    return found;
}

static struct outgoing *take(void)
{
    struct outgoing *out;

    pthread_mutex_lock(&lock);
    if (!is_served)
        start_server();
    for (int i = 0; i < DIRECT_SLOTS; i++)
        if (sends[i].used && is_left(&sends[i]))
            release(&sends[i]);
    out = find_free();
    if (out) {
        out->used = true;
        out->completed = out->generalized = false;
        out->asked = 0;
    }
    pthread_mutex_unlock(&lock);
    return out;
}

/* The memory is read from now on. */
static void publish(struct outgoing *out, struct direct_peer *peer, const void *gpu, size_t nbytes,
                    int tag, const struct direct_export *memory)
{
    const int i = (int)(out - sends);
    struct direct_segment *own = direct_own();
    struct direct_slot *slot = &own->slots[i];

    out->slot = slot;
    out->peer = peer;
    out->send.descriptor = &out->bytes;
    out->send.length = DIRECT_LENGTH + i * DIRECT_LENGTH_STEP;
    out->since = now();
    slot->sequence++;
    slot->dest = peer->segment->rank;
    slot->tag = tag;
    slot->nbytes = nbytes;
    slot->address = (uintptr_t)gpu;
    slot->memory = *memory;
    slot->fd = -1;
    atomic_store(&slot->slow, 0);
    out->bytes.head = (struct direct_descriptor){.magic = {direct_magic[0], direct_magic[1]},
                                                 .nonce = own->nonce,
                                                 .rank = own->rank,
                                                 .slot = (uint32_t)i,
                                                 .sequence = slot->sequence};
    atomic_store_explicit(&slot->state, DIRECT_READY, memory_order_release);
}

/* ---- sends */

/* Its bytes where they follow each other in GPU memory; NULL: they do not. */
static const void *find_gpu_bytes(const void *buf, MPI_Count count, MPI_Datatype type,
                                  MPI_Count *nbytes)
{
    const struct typed typed = {(char *)(uintptr_t)buf, count, type, false};
    char *start;

    if (!gpu_is_in_use() || count <= 0 || type == MPI_DATATYPE_NULL)
        return NULL;
    *nbytes = typed_bytes(&typed);
    if (*nbytes < DIRECT_LEAST || !typed_is_contiguous(&typed, &start) || !buffer_is_on_gpu(start))
        return NULL;
    return start;
}

struct direct_send *direct_send_begin(const void *buf, MPI_Count count, MPI_Datatype type, int dest,
                                      int tag, MPI_Comm comm)
{
    MPI_Count nbytes = 0;
    const void *gpu = find_gpu_bytes(buf, count, type, &nbytes);
    struct direct_peer *peer = gpu ? direct_peer(comm, dest) : NULL;
    struct direct_export memory = {0};
    struct outgoing *out;

    if (!peer || !direct_peer_receives(peer) || tag < 0 ||
        !direct_export(gpu, (size_t)nbytes, &memory) || direct_settle(gpu) < 0)
        return NULL;
    out = take();
    if (!out)
        return NULL;
    publish(out, peer, gpu, (size_t)nbytes, tag, &memory);
    return &out->send;
}

void direct_send_abandon(struct direct_send *send)
{
    struct outgoing *out = (struct outgoing *)send;

    pthread_mutex_lock(&lock);
    release(out);
    pthread_mutex_unlock(&lock);
}

/* The receiver takes nothing of this process's for as long as it would cost to go on without it. */
static bool is_late(const struct outgoing *out)
{
    const double patience = 1e-3 + (double)out->slot->nbytes / 2e9, time = now();

    return time - out->since > patience && time - out->peer->active > patience;
}

/* The buffer may be used again. */
static bool is_over(struct outgoing *out)
{
    const uint32_t state = state_of(out);

    if (state == DIRECT_TAKEN || state == DIRECT_DONE)
        out->peer->active = now();
    if (state == DIRECT_READY && is_late(out))
        buffer(out, state);
    else if (state == DIRECT_WANTED)
        buffer(out, state);
    return state_of(out) == DIRECT_DONE || state_of(out) == DIRECT_BUFFERED ||
           (state_of(out) == DIRECT_TAKEN && out->data) ||
           (++out->asked % 4096 == 0 && is_lost(out));
}

/* The application's send is complete. */
static void complete(struct outgoing *out)
{
    pthread_mutex_lock(&lock);
    out->completed = true;
    if (state_of(out) == DIRECT_DONE || !out->data)
        release(out);
    pthread_mutex_unlock(&lock);
}

bool direct_send_end(struct direct_send *send)
{
    struct outgoing *out = (struct outgoing *)send;

    if (!is_over(out))
        return false;
    complete(out);
    return true;
}

static int query(void *unused, MPI_Status *status)
{
    (void)unused;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_request(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

/* Too late: the receiver may have it. */
static int cancel(void *unused, int complete)
{
    (void)unused, (void)complete;
    return MPI_SUCCESS;
}

int direct_send_later(struct direct_send *send, MPI_Request descriptor, MPI_Request *request)
{
    struct outgoing *out = (struct outgoing *)send;
    const int result = PMPI_Grequest_start(query, free_request, cancel, NULL, request);

    out->descriptor = descriptor;
    out->request = *request;
    atomic_fetch_add(&npending, 1);
    atomic_thread_fence(memory_order_release);
    out->generalized = result == MPI_SUCCESS;
    return result;
}

int direct_sends_pending(void)
{
    return atomic_load_explicit(&npending, memory_order_relaxed);
}

static bool is_descriptor_gone(struct outgoing *out)
{
    int gone = out->descriptor == MPI_REQUEST_NULL;
    const bool was_behind = is_behind;

    is_behind = true;
    if (!gone)
        PMPI_Test(&out->descriptor, &gone, MPI_STATUS_IGNORE);
    is_behind = was_behind;
    return gone;
}

void direct_sends_poll(void)
{
    static pthread_mutex_t polling = PTHREAD_MUTEX_INITIALIZER;

    if (direct_sends_pending() == 0 || pthread_mutex_trylock(&polling) != 0)
        return;
    for (int i = 0; i < DIRECT_SLOTS; i++) {
        struct outgoing *out = &sends[i];
        MPI_Request request;

        if (!out->generalized || !is_over(out) || !is_descriptor_gone(out))
            continue;
        request = out->request;
        out->generalized = false;
        complete(out);
        PMPI_Grequest_complete(request);
        atomic_fetch_sub(&npending, 1);
    }
    pthread_mutex_unlock(&polling);
}

void direct_send_plain(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 0;
    int slot;

    if (is_behind || count <= 0 || type == MPI_DATATYPE_NULL || !direct_own())
        return;
    PMPI_Type_size_x(type, &size);
    slot = direct_slot_of_length(count * size);
    if (slot >= 0)
        sends[slot].retired = true;
}

void direct_sends_end(void)
{
    struct direct_segment *own = direct_own();
    bool waits = true;

    if (!own)
        return;
    while (direct_sends_pending() > 0) {
        direct_sends_poll();
        sched_yield();
    }
    while (waits) {
        int there;

        waits = false;
        for (int i = 0; i < DIRECT_SLOTS; i++)
            waits |= sends[i].used && !is_left(&sends[i]);
        is_behind = true; /* MPI may still hold a descriptor back */
        PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &there, MPI_STATUS_IGNORE);
        is_behind = false;
        if (waits)
            usleep(50);
    }
    stop_server(own);
    for (int i = 0; i < DIRECT_SLOTS; i++)
        free_data(&sends[i]);
}
