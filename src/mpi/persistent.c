#include "mpi/persistent.h"

#include "mpi/engine.h"
#include "mpi/library.h"
#include "mpi/requests.h"
#include "mpi/tracks.h"

static struct pair *deferred, **deferred_end = &deferred;

/* ---- started */

static void begin(struct gpubind_operation *request, uint64_t call)
{
    operations_count(1);
    request->pair->call = call;
    request->pair->starts++;
    request->inactive = false;
    request->done = false;
    request->waited = false;
    request->result = MPI_SUCCESS;
    request->error.text[0] = '\0';
    request->started = 0;
    request->source = request->rank;
    request->got_tag = request->rank == MPI_PROC_NULL ? MPI_ANY_TAG : request->tag;
    request->got_bytes = request->pair->others_nbytes;
    request->pair->started = true;
}

static void end_inner(struct pair *pair)
{
    struct gpubind_operation *request = pair->request, *inner = pair->inner;
    struct gpubind_error err;

    request->got_bytes = inner->got_bytes;
    pair->inner = NULL;
    request->result = request_finish(inner, MPI_STATUS_IGNORE, &err);
    request->error = err;
    request->done = true;
    pair_settle(pair);
}

struct gpubind_operation *persistent_message(const struct pair *pair, enum call_kind call,
                                             int *result, struct gpubind_error *err)
{
    const struct gpubind_operation *request = pair->request;
    const struct arguments arguments = {request->buffer, pair->count, pair->type, request->rank,
                                        0, MPI_COMM_NULL};
    struct gpubind_operation *message = message_prepare(&arguments, request->comm->companion,
                                                        request->kind, call, result, err);

    if (message)
        message->tag = (int)(pair_sends(pair) ? pair->others : pair->number);
    return message;
}

static void start_message(struct pair *pair)
{
    struct gpubind_error err;
    int result;

    pair->inner = persistent_message(pair, CALL_NONBLOCKING, &result, &err);
    if (!pair->inner) {
        pair->starts--; /* the other side's goes with the next */
        operation_end(pair->request, result, "%s", err.text);
        return;
    }
    message_start(pair->inner, false);
    if (pair->inner->done && !pair->inner->packing)
        end_inner(pair);
}

static void refuse_long(struct pair *pair)
{
    struct gpubind_operation *request = pair->request;

    if (pair_sends(pair))
        operation_good(request);
    else
        operation_end(request, MPI_ERR_TRUNCATE,
                      "%llu bytes from rank %d with tag %d do not fit the buffer of %llu bytes",
                      (unsigned long long)pair->others_nbytes, request->rank, request->tag,
                      (unsigned long long)request->nbytes);
}

static void defer(struct pair *pair)
{
    pair->place = PAIR_DEFERRED;
    pair->follows = NULL;
    *deferred_end = pair;
    deferred_end = &pair->follows;
}

/* true: it goes with the exchange that the caller makes. */
static bool start_pair(struct pair *pair)
{
    if (pair_is_spent(pair, 0))
        pair->state = PAIR_OVER;
    switch (pair->state) {
    case PAIR_NOBODY:
        operation_good(pair->request);
        return false;
    case PAIR_ALONE:
    case PAIR_LINKING:
        defer(pair);
        return false;
    case PAIR_LINKED:
        return true;
    case PAIR_MESSAGES:
        start_message(pair);
        return false;
    case PAIR_TOO_LONG:
        refuse_long(pair);
        return false;
    case PAIR_OVER:
        operation_end(pair->request, MPI_ERR_OTHER, "%s", pair->why.text);
        pair->unsaid = false;
        pair_settle(pair);
        return false;
    }
    return false;
}

/* Linked pairs by follows: an exchange for each GPU. */
static void start_linked(struct pair *linked)
{
    while (linked) {
        struct gpu *gpu = linked->request->memory.gpu;
        struct pair *rest = NULL, **rest_end = &rest, *same = NULL, **same_end = &same;

        while (linked) {
            struct pair *pair = linked, ***end;

            linked = pair->follows;
            pair->follows = NULL;
            end = pair->request->memory.gpu == gpu ? &same_end : &rest_end;
            **end = pair;
            *end = &pair->follows;
        }
        tracks_start(gpu, same);
        linked = rest;
    }
}

static int check_inactive(const struct gpubind_operation *request, int i, int n,
                          struct gpubind_error *err)
{
    if (request && request->pair && request->inactive)
        return MPI_SUCCESS;
    if (!request)
        error_set(err, "request %d of %d is GPUBIND_REQUEST_NULL", i, n);
    else if (!request->pair)
        error_set(err, "request %d of %d is of a call other than gpubind_send_init and "
                  "gpubind_recv_init", i, n);
    else
        error_set(err, "request %d of %d, %s rank %d with tag %d, is active: wait for it first",
                  i, n, request->kind == OPERATION_SEND ? "to" : "from", request->rank,
                  request->tag);
    return MPI_ERR_REQUEST;
}

int persistent_claim(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++) {
        const int result = check_inactive(requests[i], i, n, err);

        if (result != MPI_SUCCESS) {
            persistent_unclaim(requests, i);
            return result;
        }
        requests[i]->inactive = false; /* also where it stands in the list again */
    }
    return MPI_SUCCESS;
}

void persistent_unclaim(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++)
        requests[i]->inactive = true;
}

int persistent_start(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    static uint64_t calls;
    struct pair *linked = NULL, **linked_end = &linked;
    const int result = persistent_claim(requests, n, err);

    if (result != MPI_SUCCESS)
        return result;
    pairs_hear();
    calls++;
    for (int i = 0; i < n; i++) {
        struct pair *pair = requests[i]->pair;

        begin(requests[i], calls);
        if (!start_pair(pair))
            continue;
        pair->place = PAIR_ON_TRACK; /* or soon: see tracks.c */
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    start_linked(linked);
    return MPI_SUCCESS;
}

/* Its other side was gone before it was known. */
static bool is_over(struct pair *pair)
{
    if (!pair->request->done)
        return false;
    pair->place = PAIR_NOWHERE;
    pair_settle(pair);
    return true;
}

/* What was started before the other side was known; what calls of their own started may
 * not wait for each other, and is no common exchange. */
static void start_deferred(void)
{
    struct pair *all = deferred, *linked = NULL, **linked_end = &linked;
    uint64_t call = 0;

    deferred = NULL;
    deferred_end = &deferred;
    while (all) {
        struct pair *pair = all;

        all = pair->follows;
        if (is_over(pair))
            continue;
        if (!pair_is_known(pair)) {
            defer(pair);
            continue;
        }
        if (pair->call != call) {
            start_linked(linked);
            linked = NULL;
            linked_end = &linked;
            call = pair->call;
        }
        pair->place = PAIR_NOWHERE;
        pair->request->got_bytes = pair->others_nbytes;
        if (!start_pair(pair))
            continue;
        pair->place = PAIR_ON_TRACK; /* or soon: see tracks.c */
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    start_linked(linked);
}

/* ---- for the engine */

bool persistent_busy(void)
{
    return letters_busy() || deferred || tracks_busy();
}

void persistent_progress(void)
{
    pairs_listen();
    if (deferred)
        start_deferred();
    tracks_progress();
}

struct gpubind_operation *persistent_nudge(struct gpubind_operation *request)
{
    if (request->pair->inner && request->pair->inner->done && !request->pair->inner->packing)
        end_inner(request->pair);
    return request->pair->inner;
}

void persistent_abandon(struct gpubind_operation *request)
{
    struct gpubind_error why;

    error_set(&why, "rank %d is gone", request->rank);
    request->pair->parted = true;
    pair_break(request->pair, why.text);
}

int persistent_unsaid(const struct gpubind_operation *request, struct gpubind_error *err)
{
    struct pair *pair = request ? request->pair : NULL;

    if (!pair || !pair->in_stream)
        return MPI_SUCCESS;
    pairs_hear();
    if (!pair->unsaid)
        return MPI_SUCCESS;
    pair->unsaid = false;
    *err = pair->why;
    return MPI_ERR_OTHER;
}

static bool is_through(const void *pair)
{
    return ((const struct pair *)pair)->streamed == 0;
}

int persistent_free(struct gpubind_operation *request, struct gpubind_error *err)
{
    int result = MPI_SUCCESS;

    if (!request->inactive) {
        if (!request->done)
            engine_wait(&request, 1, false);
        result = request_finish(request, MPI_STATUS_IGNORE, err);
    } else {
        result = persistent_unsaid(request, err);
    }
    while (!is_through(request->pair))
        engine_wait_for(is_through, request->pair, 3600);
    pair_free(request->pair);
    return result;
}
