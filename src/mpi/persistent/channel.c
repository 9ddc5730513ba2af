#include "mpi/persistent/channel.h"

#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"

#define LOOK_EACH 0.1 /* seconds between two looks for ranks that are gone */

static struct pair *pairs, **pairs_end = &pairs;
static _Atomic int in_streams; /* of them; the thread reads it without the lock */

struct pair *pairs_first(void)
{
    return pairs;
}

static void unlink_pair(struct pair *pair)
{
    struct pair **link = &pairs;

    while (*link != pair)
        link = &(*link)->next;
    *link = pair->next;
    if (!pair->next)
        pairs_end = link;
}

static void destroy(struct pair *pair)
{
    unlink_pair(pair);
    link_close(pair);
    if (!pair->stuck)
        words_give(&pair->words);
    if (pair->own_type)
        PMPI_Type_free(&pair->type);
    pair->request->pair = NULL;
    operations_count(1);
    operation_forget(pair->request);
    free(pair);
}

/* No start will be any more. */
static void close_pair(struct pair *pair, const char *why)
{
    error_set(&pair->why, "%s", why);
    pair->state = PAIR_OVER;
    pair_settle(pair);
}

void pair_settle(struct pair *pair)
{
    if (pair->place != PAIR_NOWHERE || pair->inner || pair->streamed > 0)
        return;
    pair_decide(pair);
    if (pair->state == PAIR_LINKED && pair_is_spent(pair, 1))
        pair->state = PAIR_APART;
    /* Of graphs nobody knows before it is freed whether they run. */
    if ((pair->state == PAIR_OVER || pair->state == PAIR_APART) &&
        (pair->freed || !pair->captured))
        link_close(pair);
    /* The other side's GPU may write to the words until it was freed, too. */
    if (pair->freed && pair->parted && (!pair->own_type || library_may_call_mpi()))
        destroy(pair);
}

void pair_break(struct pair *pair, const char *why)
{
    struct gpubind_error text; /* why may be the pair's own */

    error_set(&text, "%s", why);
    /* First the letter: who finds words set or broken reads the letters before it believes
     * them, and an exchange that goes on may set the other side's. */
    if (pair->met && !pair->parted && pair->state != PAIR_OVER)
        pair_tell(pair, LETTER_DISCONNECT, true);
    tracks_drop(pair);
    link_break(pair);
    pair->unsaid = pair->in_stream && pair->request->done; /* else a wait says it */
    if (!pair->request->done)
        operation_end(pair->request, MPI_ERR_OTHER, "%s", text.text);
    pair_drop_message(pair);
    close_pair(pair, text.text);
}

/* ---- ranks that are gone */

/* Those whose other side was not freed when its process ended, or that are still here because
 * the thread that could end them may not call MPI. */
static void bury(void)
{
    static double looked;
    const double now = operation_clock();
    struct pair *pair, *next;

    if (now - looked < LOOK_EACH)
        return;
    looked = now;
    for (pair = pairs; pair; pair = next) {
        next = pair->next;
        if (!pair->freed || !(pair->parted || request_peer_is_gone(pair->request)))
            continue;
        pair->parted |= pair->met && request_peer_is_gone(pair->request);
        pair_settle(pair);
    }
}

void pair_enter_stream(struct pair *pair)
{
    struct gpubind_error ignored; /* then a call of the library sees it */

    if (pair->in_stream)
        return;
    pair->in_stream = true;
    in_streams++;
    if (progress_thread_start(&ignored) == 0)
        progress_thread_wake();
}

static void leave_streams(struct pair *pair)
{
    in_streams -= pair->in_stream;
    pair->in_stream = false;
}

bool pairs_watched(void)
{
    return in_streams > 0;
}

/* Graphs are launched without a word to the library. */
static void watch(struct pair *pair, bool held)
{
    struct gpubind_error why;

    if (!pair->in_stream || !pair->linked || !(held || pair->captured) ||
        !request_peer_is_gone(pair->request))
        return;
    pair->parted = true;
    error_set(&why, "rank %d is gone", pair->request->rank);
    if (pair->state == PAIR_OVER) /* a driver that waits for 32 bits: one wait each time */
        link_break_here(pair);
    else
        pair_break(pair, why.text);
}

void pairs_watch(void)
{
    static double looked;
    const double now = operation_clock();
    bool held;

    if (now - looked < LOOK_EACH)
        return;
    looked = now;
    held = gpu_is_held();
    for (struct pair *pair = pairs, *next; pair; pair = next) {
        next = pair->next;
        watch(pair, held);
    }
}

/* ---- this side */

struct pair *pair_make(struct gpubind_operation *request, const struct layout *layout,
                       bool internal, bool sure)
{
    struct pair *pair = calloc(1, sizeof *pair);

    if (!pair)
        return NULL;
    bury();
    pair->request = request;
    pair->internal = internal;
    pair->sure = sure;
    request->pair = pair;
    request->ops = &persistent_ops;
    request->inactive = true;
    operations_count(-1);
    request->done = true;
    *pairs_end = pair;
    pairs_end = &pair->next;
    if (request->rank >= 0 && request->tag != MPI_ANY_TAG)
        link_offer(pair, layout);
    if (internal || pair->mine.linkable)
        pair->state = PAIR_ALONE;
    pair_introduce(pair);
    if (internal)
        pair_connect(pair);
    return pair;
}

void pair_free(struct pair *pair)
{
    pair->freed = true;
    leave_streams(pair);
    if (pair->said && pair->request->comm)
        pair_tell(pair, LETTER_DISCONNECT, false);
    if (!pair->met) /* the other side has mapped nothing, or never writes to it */
        pair->parted = true;
    pair->state = PAIR_OVER;
    pair_settle(pair);
}

bool pairs_hold(uint64_t id)
{
    for (const struct pair *pair = pairs; pair; pair = pair->next)
        if (!pair->freed && pair->request->memory.gpu && pair->request->memory.id == id &&
            pair->state != PAIR_OVER)
            return true;
    return false;
}

/* What the application holds still stays, and may be freed after the end. */
void pairs_stop(void)
{
    struct pair *pair, *next;

    for (pair = pairs; pair; pair = pair->next)
        if (pair->place != PAIR_NOWHERE)
            link_break_here(pair);
    tracks_stop();
    for (pair = pairs; pair; pair = next) {
        struct gpubind_operation *request = pair->request;

        next = pair->next;
        leave_streams(pair);
        pair->place = PAIR_NOWHERE;
        pair->parted = true;
        pair_drop_message(pair);
        if (!request->done)
            operation_end(request, MPI_ERR_OTHER, "the library has ended");
        if (request->comm)
            comm_leave(request->comm);
        request->comm = NULL;
        words_give(&pair->words);
        if (pair->own_type) /* the request may be freed after MPI_Finalize */
            PMPI_Type_free(&pair->type);
        pair->own_type = false;
        if (pair->captured) /* a graph may run yet: what it uses stays mapped */
            pair->memory_mapping = pair->words_mapping = NULL;
        close_pair(pair, "the library has ended");
    }
}
