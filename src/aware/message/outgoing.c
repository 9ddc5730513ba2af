#include "aware/message/outgoing.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "aware/base/counts.h"
#include "aware/message/direct_ask.h"
#include "aware/message/direct_memory.h"

double outgoing_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* How often it fails to get host memory until that is told, and until what is wanted is lost. */
#define TOLD 100
#define FAILURES 100

/* In the segment, for small messages. */
static void *small_data(const struct outgoing *out)
{
    return out->slot->token ? direct_own()->small[out - outgoing] : NULL;
}

void outgoing_free_data(struct outgoing *out)
{
    if (out->data && !small_data(out)) {
        munmap(out->data, out->slot->nbytes);
        close(out->slot->fd);
    }
    if (!out->data)
        return;
    out->data = NULL;
    out->slot->fd = -1;
}

/* It waits for the receiver, then, which may wait for this rank in a call of MPI's. */
static void tell_failure(const struct direct_slot *slot)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&told))
        fprintf(stderr,
                "gpubind: no host memory is left to buffer a message of %llu bytes to rank %d of "
                "MPI_COMM_WORLD, which has not received it yet; the send waits\n",
                (unsigned long long)slot->nbytes, slot->dest);
}

void outgoing_buffer(struct outgoing *out, uint32_t seen)
{
    struct direct_slot *slot = out->slot;

    if (!atomic_compare_exchange_strong(&slot->state, &seen, DIRECT_BUFFERING))
        return;
    out->data = small_data(out);
    if (!out->data)
        out->data = direct_make_file("gpubind-aware-data", slot->nbytes, &slot->fd);
    if (out->data &&
        direct_to_host(out->data, (const void *)(uintptr_t)slot->address, slot->nbytes) == 0) {
        count_one(COUNT_BUFFERED);
        atomic_store(&slot->state, DIRECT_BUFFERED);
        return;
    }
    outgoing_free_data(out);
    out->since = outgoing_now();
    if (++out->failures == TOLD && seen == DIRECT_READY)
        tell_failure(slot);
    atomic_store(&slot->state,
                 seen == DIRECT_WANTED && out->failures > FAILURES ? DIRECT_LOST : seen);
}

/* Copies what is asked for, and buffers what is wanted. false: some still is. */
static bool serve_once(struct direct_segment *own)
{
    bool done = true;

    direct_ask_serve(own);
    for (int i = 0; i < DIRECT_SLOTS; i++) {
        if (atomic_load(&own->slots[i].state) == DIRECT_WANTED)
            outgoing_buffer(&outgoing[i], DIRECT_WANTED);
        done &= atomic_load(&own->slots[i].state) != DIRECT_WANTED;
    }
    return done;
}

static pthread_t server;
static bool is_served;
static atomic_bool is_ending;

static void *serve(void *unused)
{
    static const struct timespec soon = {0, 10000000}, sometimes = {0, 100000000};
    const struct timespec *const idle = direct_is_crowded() ? &sometimes : NULL;
    struct direct_segment *own = unused;

    while (!atomic_load(&is_ending)) {
        const uint32_t wanted = atomic_load(&own->wanted);
        const bool done = serve_once(own);

        if (idle)
            direct_forget_visitors();
        if (!atomic_load(&is_ending))
            syscall(SYS_futex, &own->wanted, FUTEX_WAIT, wanted, done ? idle : &soon, NULL, 0);
    }
    return NULL;
}

void outgoing_serve(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    sigset_t all, before;

    pthread_mutex_lock(&lock);
    if (!is_served) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        is_served = pthread_create(&server, NULL, serve, direct_own()) == 0;
        atomic_store(&direct_own()->serves, is_served);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_mutex_unlock(&lock);
}

void outgoing_serve_no_more(void)
{
    struct direct_segment *own = direct_own();

    atomic_store(&own->serves, 0);
    atomic_store(&is_ending, true);
    direct_wake(own);
    if (is_served)
        pthread_join(server, NULL);
    is_served = false;
}
