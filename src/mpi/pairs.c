#include "mpi/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/engine.h"
#include "mpi/library.h"
#include "mpi/tracks.h"

#define BURY 0.1 /* seconds between two looks for pairs whose other side's process is gone */

/* The other side of a pair that was not set up here yet. */
struct hello {
    struct hello *next;
    struct comm *comm;
    int rank;
    struct pair_letter letter;
};

static struct pair *pairs, **pairs_end = &pairs;
static struct hello *hellos, **hellos_end = &hellos;

static void tell(const struct pair *pair, enum letter_kind kind, bool bad)
{
    struct pair_letter letter = {.kind = kind, .from = pair->number, .to = pair->others,
                                 .bad = bad};

    letter.counted = !pair->captured;
    letter.starts = pair->starts;
    if (kind == LETTER_HELLO) {
        letter.send = pair_sends(pair);
        letter.tag = pair->request->tag;
        letter.space = pair->space;
        letter.offered = pair->mine;
    }
    letter_send(pair->request->comm, pair->request->rank, &letter);
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
    if (pair->place == PAIR_ON_TRACK || pair->place == PAIR_PATIENT || pair->inner ||
        pair->streamed > 0)
        return;
    if (pair_is_spent(pair, 1) && pair->place == PAIR_NOWHERE)
        pair->state = PAIR_OVER;
    /* Of graphs nobody knows before it is freed whether they run. */
    if (pair->state == PAIR_OVER && (pair->freed || !pair->captured))
        link_close(pair);
    /* The other side's GPU may write to the words until it was freed, too; and one that
     * was not met yet must not meet the next. */
    if (pair->freed && pair->place == PAIR_NOWHERE &&
        (pair->parted || pair->state == PAIR_NOBODY) &&
        (!pair->own_type || library_may_call_mpi())) /* else bury() comes back to it */
        destroy(pair);
}

static void drop_inner(struct pair *pair)
{
    struct gpubind_operation *inner = pair->inner;

    pair->inner = NULL;
    if (!inner)
        return;
    if (!inner->done && inner->kind == OPERATION_RECEIVE)
        match_withdraw(inner);
    operation_forget(inner);
}

void pair_break(struct pair *pair, const char *why)
{
    struct gpubind_error text; /* why may be the pair's own */

    error_set(&text, "%s", why);
    /* First the letter: who finds words set or broken reads the letters before it believes
     * them, and an exchange that goes on may set the other side's. */
    if (pair->met && pair->state != PAIR_OVER)
        tell(pair, LETTER_END, true);
    tracks_drop(pair);
    link_break(pair);
    pair->unsaid = pair->in_stream;
    if (!pair->request->done)
        operation_end(pair->request, MPI_ERR_OTHER, "%s", text.text);
    drop_inner(pair);
    close_pair(pair, text.text);
}

/* ---- what the other side tells */

static void meet(struct pair *pair, const struct pair_letter *letter)
{
    const struct offered *other = &letter->offered;
    const uint64_t sent = pair_sends(pair) ? pair->mine.nbytes : other->nbytes;
    const uint64_t room = pair_sends(pair) ? other->nbytes : pair->mine.nbytes;

    pair->met = true;
    pair->others = letter->from;
    pair->others_nbytes = other->nbytes;
    if (sent > room) {
        pair->state = PAIR_TOO_LONG;
    } else if (!link_may_be(pair, other)) {
        pair->state = PAIR_MESSAGES;
    } else {
        pair->state = PAIR_LINKING;
        pair->reached = !pair->freed && link_open(pair, other);
        tell(pair, LETTER_LINK, !pair->reached);
    }
}

static bool fits(const struct pair *pair, const struct comm *comm, int rank,
                 const struct pair_letter *letter)
{
    return pair->state == PAIR_ALONE && pair->request->comm == comm &&
           pair->request->rank == rank && pair->request->tag == letter->tag &&
           pair->space == letter->space && pair_sends(pair) != (letter->send != 0);
}

static void take_hello(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct pair *pair = pairs;
    struct hello *hello;

    while (pair && !fits(pair, comm, rank, letter))
        pair = pair->next;
    if (pair) {
        meet(pair, letter);
        if (pair->freed) { /* it was kept for this */
            tell(pair, LETTER_END, false);
            pair->state = PAIR_OVER;
            pair_settle(pair);
        }
        return;
    }
    hello = calloc(1, sizeof *hello);
    if (!hello)
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *hello = (struct hello){NULL, comm, rank, *letter};
    *hellos_end = hello;
    hellos_end = &hello->next;
}

static void take_link(struct pair *pair, bool bad)
{
    if (pair->state != PAIR_LINKING)
        return;
    pair->state = pair->reached && !bad ? PAIR_LINKED : PAIR_MESSAGES;
    pair->linked = pair->state == PAIR_LINKED;
    if (!pair->linked)
        link_close(pair);
}

/* Streams of the application, or an exchange of the library's, wait in vain. */
static void let_go(struct pair *pair)
{
    struct gpubind_operation *request = pair->request;

    tracks_drop(pair);
    link_break_here(pair);
    pair->unsaid = pair->in_stream;
    if (!request->done) {
        operation_end(request, MPI_ERR_OTHER, "%s", pair->why.text);
        drop_inner(pair);
    }
}

static void take_failure(struct pair *pair)
{
    const struct gpubind_operation *request = pair->request;

    error_set(&pair->why, "the persistent message with rank %d and tag %d has failed there",
              request->rank, request->tag);
    let_go(pair);
    pair->state = PAIR_OVER;
}

/* What it has started is done, or on its way as messages; later starts have nothing to
 * meet. Where graphs made uncounted ones, all until now are taken for good. */
static void take_farewell(struct pair *pair, const struct pair_letter *letter)
{
    const struct gpubind_operation *request = pair->request;

    error_set(&pair->why, "rank %d has freed its side of the persistent message with tag %d",
              request->rank, request->tag);
    pair->limited = true;
    pair->last = letter->counted && !pair->captured ? letter->starts : pair->starts;
    if (pair_is_spent(pair, 0))
        let_go(pair);
}

static void take_end(struct pair *pair, const struct pair_letter *letter)
{
    pair->parted |= !letter->bad;
    if (pair->state != PAIR_OVER) { /* what was said first counts */
        if (letter->bad)
            take_failure(pair);
        else
            take_farewell(pair, letter);
    }
    pair_settle(pair);
}

static void take(struct comm *comm, int rank, const struct pair_letter *letter)
{
    struct pair *pair = pairs;

    if (letter->kind == LETTER_HELLO) {
        take_hello(comm, rank, letter);
        return;
    }
    while (pair && pair->number != letter->to)
        pair = pair->next;
    if (!pair) /* freed meanwhile */
        return;
    if (letter->kind == LETTER_LINK)
        take_link(pair, letter->bad);
    else
        take_end(pair, letter);
}

void pairs_listen(void)
{
    letters_read(take);
}

bool pairs_hear(void)
{
    engine_read_inboxes();
    pairs_listen();
    return !letters_coming();
}

/* ---- this side */

/* The oldest hello that is for it. */
static void find_hello(struct pair *pair)
{
    for (struct hello **link = &hellos; *link; link = &(*link)->next) {
        struct hello *hello = *link;

        if (!fits(pair, hello->comm, hello->rank, &hello->letter))
            continue;
        *link = hello->next;
        if (!hello->next)
            hellos_end = link;
        meet(pair, &hello->letter);
        free(hello);
        return;
    }
}

/* Those whose other side was not freed when its process ended. */
static void bury(void)
{
    static double looked;
    const double now = operation_clock();
    struct pair *pair, *next;

    if (now - looked < BURY)
        return;
    looked = now;
    for (pair = pairs; pair; pair = next) {
        next = pair->next;
        if (!pair->freed)
            continue;
        pair->parted |= pair->met && engine_peer_is_gone(pair->request);
        pair_settle(pair);
    }
}

struct pair *pair_make(struct gpubind_operation *request, const struct layout *layout, int space,
                       bool sure)
{
    static uint32_t given;
    struct pair *pair = calloc(1, sizeof *pair);

    if (!pair)
        return NULL;
    bury();
    pair->request = request;
    pair->space = space;
    pair->sure = sure;
    pair->number = ++given & INT32_MAX;
    pair->state = request->rank == MPI_PROC_NULL ? PAIR_NOBODY : PAIR_ALONE;
    request->pair = pair;
    request->inactive = true;
    operations_count(-1);
    request->done = true;
    *pairs_end = pair;
    pairs_end = &pair->next;
    if (pair->state == PAIR_NOBODY)
        return pair;
    link_offer(pair, layout);
    tell(pair, LETTER_HELLO, false);
    find_hello(pair);
    return pair;
}

void pair_free(struct pair *pair)
{
    pair->freed = true;
    if (pair->met && pair->request->comm)
        tell(pair, LETTER_END, false);
    if (pair->met)
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

void pairs_forget(const struct comm *comm)
{
    struct hello **link = &hellos;

    while (*link) {
        struct hello *hello = *link;

        if (hello->comm != comm) {
            link = &hello->next;
            continue;
        }
        *link = hello->next;
        free(hello);
    }
    hellos_end = link;
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
        pair->place = PAIR_NOWHERE;
        pair->parted = true;
        drop_inner(pair);
        if (!request->done)
            operation_end(request, MPI_ERR_OTHER, "the library has ended");
        if (request->comm)
            comm_leave(request->comm);
        request->comm = NULL;
        words_give(&pair->words);
        if (pair->own_type) /* the request may be freed after MPI_Finalize */
            PMPI_Type_free(&pair->type);
        pair->own_type = false;
        close_pair(pair, "the library has ended");
    }
}
