#include "aware/message/outgoing_slots.h"

#include <pthread.h>

struct outgoing outgoing[DIRECT_SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t outgoing_state(const struct outgoing *out)
{
    return atomic_load_explicit(&out->slot->state, memory_order_acquire);
}

static void release(struct outgoing *out)
{
    outgoing_free_data(out);
    gpu_pool_give(out->packed);
    out->packed = NULL;
    if (out->slot->slow)
        out->peer->slow = true;
    atomic_store(&out->slot->state, DIRECT_FREE);
    out->used = false;
}

bool outgoing_is_lost(const struct outgoing *out)
{
    return atomic_load_explicit(&out->peer->segment->ended, memory_order_relaxed) ||
           !direct_peer_lives(out->peer);
}

bool outgoing_is_left(const struct outgoing *out)
{
    return out->completed && (outgoing_state(out) == DIRECT_DONE || outgoing_is_lost(out));
}

/* Small messages have the first ones, in part, others all of them but the first, from the last one on: no descriptor is
 * shorter than that one's, by which a message as long could go (direct_send.c). The lock is held. */
static struct outgoing *find_free(bool small)
{
    const int n = small ? DIRECT_SMALL_SLOTS : DIRECT_SLOTS - 1;

    for (int i = 0; i < n; i++) {
        struct outgoing *out = &outgoing[small ? i : DIRECT_SLOTS - 1 - i];

        if (out->used && out->completed && outgoing_state(out) == DIRECT_DONE)
            release(out);
        if (!out->used && (small || !out->retired))
            return out;
    }
    return NULL;
}

/* The same. */
static void use(struct outgoing *out)
{
    out->used = true;
    out->completed = out->generalized = false;
    out->asked = out->failures = 0;
    out->call.event.start = 0;
}

/* After what its receiver has is given back. The same. */
static bool is_used(struct outgoing *out)
{
    if (out->used && outgoing_is_left(out))
        release(out);
    return out->used;
}

struct outgoing *outgoing_take(bool small)
{
    struct outgoing *out;

    pthread_mutex_lock(&lock);
    outgoing_serve();
    out = find_free(small);
    for (int i = 0; !out && i < DIRECT_SLOTS; i++)
        is_used(&outgoing[i]);
    if (!out)
        out = find_free(small);
    if (out)
        use(out);
    pthread_mutex_unlock(&lock);
    return out;
}

struct outgoing *outgoing_take_below(int i)
{
    struct outgoing *out = NULL;

    pthread_mutex_lock(&lock);
    for (int j = is_used(&outgoing[i]) ? i - 1 : -1; j >= 0 && !out; j--)
        if (!is_used(&outgoing[j]) && !outgoing[j].retired)
            out = &outgoing[j];
    if (out)
        use(out);
    else
        outgoing[i].retired = true;
    pthread_mutex_unlock(&lock);
    return out;
}

void outgoing_release(struct outgoing *out)
{
    pthread_mutex_lock(&lock);
    release(out);
    pthread_mutex_unlock(&lock);
}

void outgoing_complete(struct outgoing *out)
{
    pthread_mutex_lock(&lock);
    out->completed = true;
    is_used(out);
    pthread_mutex_unlock(&lock);
}
