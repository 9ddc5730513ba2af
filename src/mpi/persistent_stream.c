/* Persistent messages in the order of a stream of the application's. */
#include "mpi/engine.h"
#include "mpi/persistent.h"
#include "mpi/persistent_queue.h"
#include "mpi/tracks.h"

static int fail(struct gpubind_error *err, const struct pair *pair, const char *why)
{
    return error_set(err, "the message %s rank %d with tag %d %s",
                     pair_sends(pair) ? "to" : "from", pair->request->rank, pair->request->tag,
                     why);
}

static bool is_known(const void *pair)
{
    return pair_is_known(pair);
}

/* Both sides have to know how it goes. */
static int wait_until_known(const struct pair *pair, struct gpubind_error *err)
{
    while (!engine_wait_for(is_known, pair, 0.1))
        if (engine_peer_is_gone(pair->request))
            return error_set(err, "rank %d is gone", pair->request->rank);
    return 0;
}

/* The stream's context, and whether its work is being captured. */
static int look_at_stream(struct CUstream_st *stream, struct CUctx_st **context, int *capturing,
                          struct gpubind_error *err)
{
    const struct cuda_driver *cuda = gpu_driver();
    int status;

    if (!cuda)
        return error_set(err, "this rank uses no GPU, so that there is no stream");
    status = cuda->cuStreamIsCapturing(stream, capturing);
    if (status == CUDA_OK)
        status = cuda->cuStreamGetCtx(stream, context);
    return status == CUDA_OK ? 0 : gpu_error(status, "the stream", err);
}

/* How the pairs go; nothing may be queued yet. 0, or -1 with a sentence. */
static int learn(struct gpubind_operation *const *requests, int n, bool capturing,
                 struct gpubind_error *err)
{
    for (int i = 0; i < n; i++) {
        const struct pair *pair = requests[i]->pair;

        if (capturing && pair->state != PAIR_NOBODY && (!pair_is_known(pair) || !pair->started))
            return fail(err, pair, "was not started yet, which the first time has to be outside "
                        "of a capture");
        if (!pair_is_known(pair) && wait_until_known(pair, err) < 0)
            return -1;
    }
    return 0;
}

/* An MPI error class. */
static int check(struct pair *pair, const struct CUctx_st *context, bool capturing,
                 struct gpubind_error *err)
{
    int result = MPI_ERR_OTHER;

    if (pair->state == PAIR_OVER || pair_is_spent(pair, 1))
        error_set(err, "%s", pair->why.text);
    else if (pair->state == PAIR_TOO_LONG && !pair_sends(pair))
        result = fail(err, pair, "does not fit the buffer") ? MPI_ERR_TRUNCATE : result;
    else if (pair->state == PAIR_MESSAGES && capturing)
        fail(err, pair, "cannot be captured: it does not go between GPUs that reach each other");
    else if (pair->state == PAIR_LINKED && pair->request->memory.gpu->context != context)
        fail(err, pair, "has its buffer in another context, or on another GPU, than the stream");
    else
        result = MPI_SUCCESS;
    pair->unsaid &= pair->state != PAIR_OVER;
    return result;
}

/* They are in no stream of the library's, or in one of the application's. */
static void leave_track(struct pair *pairs)
{
    while (pairs) {
        struct pair *pair = pairs;

        pairs = pair->follows;
        pair->place = PAIR_NOWHERE;
        pair_settle(pair);
    }
}

/* What others tell meanwhile leaves the pairs as they are. */
static int queue(struct pair *linked, struct CUstream_st *stream, bool capturing,
                 struct gpubind_error *err)
{
    int status;

    for (struct pair *pair = linked; pair; pair = pair->follows)
        pair->place = PAIR_ON_TRACK;
    status = tracks_queue_beside(linked->request->memory.gpu, stream, capturing, linked, err);
    if (status < 0 && !capturing) /* a part of it may be queued; of a capture nothing runs */
        for (struct pair *pair = linked; pair; pair = pair->follows) {
            pair_break(pair, err->text);
            pair->unsaid = false;
        }
    leave_track(linked);
    return status == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Those that still are linked: what was queued before them let go of the lock. */
static int queue_linked(struct gpubind_operation *const *requests, int n,
                        struct CUstream_st *stream, bool capturing, struct gpubind_error *err)
{
    struct pair *linked = NULL, **linked_end = &linked;
    int result = MPI_SUCCESS, queued;

    for (int i = 0; i < n; i++) {
        struct pair *pair = requests[i]->pair;

        const bool over = pair->state == PAIR_OVER || pair_is_spent(pair, 0);

        if (over && result == MPI_SUCCESS) {
            error_set(err, "%s", pair->why.text);
            result = MPI_ERR_OTHER;
        }
        if (over || pair->state != PAIR_LINKED)
            continue;
        pair->in_stream = true;
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    queued = linked ? queue(linked, stream, capturing, err) : MPI_SUCCESS;
    return result == MPI_SUCCESS ? queued : result;
}

static int count(struct gpubind_operation *const *requests, int n, enum pair_state state)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += requests[i]->pair->state == state;
    return found;
}

static void note_start(struct pair *pair, bool capturing)
{
    pair->started = true;
    pair->captured |= capturing;
    pair->starts += !capturing;
}

/* Messages go before the exchange and are waited for after it: whichever a rank gets
 * first, it has begun the others. All comes into the stream that can, whatever fails. */
static int queue_all(struct gpubind_operation *const *requests, int n, struct CUstream_st *handle,
                     struct on_stream *stream, struct persistent_queue *messages,
                     bool capturing, struct gpubind_error *err)
{
    struct gpubind_error why[3];
    int results[3] = {MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS};

    for (int i = 0; i < n; i++)
        note_start(requests[i]->pair, capturing);
    if (messages->n > 0)
        results[0] = persistent_queue_go(messages, stream,
                                         count(requests, n, PAIR_LINKED) > 0 ? ON_STREAM_LATER
                                                                             : ON_STREAM_AT_ONCE,
                                         &why[0]);
    results[1] = queue_linked(requests, n, handle, capturing, &why[1]);
    if (stream)
        results[2] = on_stream_await(stream, &why[2]);
    for (int i = 0; i < 3; i++)
        if (results[i] != MPI_SUCCESS) {
            *err = why[i];
            return results[i];
        }
    return MPI_SUCCESS;
}

/* What can be said before anything is queued is. */
static int start(struct gpubind_operation *const *requests, int n, struct CUstream_st *handle,
                 struct on_stream *stream, const struct CUctx_st *context, bool capturing,
                 struct gpubind_error *err)
{
    struct persistent_queue messages;
    int result = MPI_SUCCESS;

    if (persistent_queue_make(&messages, count(requests, n, PAIR_MESSAGES), err) < 0)
        return MPI_ERR_OTHER;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = check(requests[i]->pair, context, capturing, err);
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        if (requests[i]->pair->state == PAIR_MESSAGES)
            result = persistent_queue_add(&messages, requests[i]->pair, err);
    if (result == MPI_SUCCESS)
        result = queue_all(requests, n, handle, stream, &messages, capturing, err);
    persistent_queue_clear(&messages);
    return result;
}

int persistent_start_on_stream(struct gpubind_operation *const *requests, int n,
                               struct CUstream_st *handle, struct gpubind_error *err)
{
    struct CUctx_st *context = NULL;
    struct on_stream *stream = NULL;
    int capturing = 0, result;

    result = persistent_claim(requests, n, err);
    if (result != MPI_SUCCESS || n == 0)
        return result;
    pairs_hear();
    if (look_at_stream(handle, &context, &capturing, err) < 0 ||
        learn(requests, n, capturing, err) < 0)
        result = MPI_ERR_OTHER;
    if (result == MPI_SUCCESS && !capturing && count(requests, n, PAIR_MESSAGES) > 0)
        stream = on_stream_open(handle, &result, err);
    if (result == MPI_SUCCESS)
        result = start(requests, n, handle, stream, context, capturing, err);
    if (stream)
        on_stream_close(stream);
    persistent_unclaim(requests, n);
    return result;
}
