/* Persistent messages in the order of a stream of the application's. */
#include "mpi/core/progress.h"
#include "mpi/persistent/exchange_streams.h"
#include "mpi/persistent/persistent.h"
#include "mpi/persistent/persistent_queue.h"

static int fail(struct gpubind_error *err, const struct pair *pair, const char *why)
{
    return error_set(err, "the message %s rank %d with tag %d %s",
                     pair_sends(pair) ? "to" : "from", pair->request->rank, pair->request->tag,
                     why);
}

static bool is_answered(const void *pair)
{
    return !pair_awaits(pair);
}

/* What takes only progress of the other side is waited for. */
static int wait_for_answer(const struct pair *pair, struct gpubind_error *err)
{
    while (pair_awaits(pair) && !progress_wait_for(is_answered, pair, 0.1))
        if (request_peer_is_gone(pair->request))
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

static struct pair *find_awaiting(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++)
        if (pair_awaits(requests[i]->pair))
            return requests[i]->pair;
    return NULL;
}

/* Connects the pairs that can be; nothing may be queued yet. A receive that is not connected
 * then stays so until release_all. 0, or -1 with a sentence. */
static int connect_all(struct gpubind_operation *const *requests, int n, struct gpubind_error *err)
{
    const struct pair *pair;

    for (int i = 0; i < n; i++)
        pair_connect(requests[i]->pair);
    while ((pair = find_awaiting(requests, n)))
        if (wait_for_answer(pair, err) < 0)
            return -1;
    for (int i = 0; i < n; i++)
        requests[i]->pair->starting += !pair_sends(requests[i]->pair);
    return 0;
}

static void release_all(struct gpubind_operation *const *requests, int n)
{
    for (int i = 0; i < n; i++) {
        struct pair *pair = requests[i]->pair;

        pair->starting -= !pair_sends(pair);
        pair_decide(pair);
    }
}

/* An MPI error class. */
static int check(struct pair *pair, const struct CUctx_st *context, bool capturing,
                 struct gpubind_error *err)
{
    const bool captured = capturing && pair->request->rank != MPI_PROC_NULL;
    int result = MPI_ERR_OTHER;

    if (pair->state == PAIR_OVER)
        error_set(err, "%s", pair->why.text);
    else if (captured && !pair->started)
        fail(err, pair, "was not started yet, which the first time has to be outside of a "
             "capture");
    else if (captured && pair->by_message)
        fail(err, pair, "cannot be captured: it does not go between GPUs that reach each other, "
             "or its other side is not set up yet");
    else if (!pair->by_message && (captured || !capturing) &&
             pair->request->memory.gpu->context != context)
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

        const bool over = pair->state != PAIR_LINKED || pair_is_spent(pair, 0);

        if (pair->by_message)
            continue;
        if (over && result == MPI_SUCCESS) {
            error_set(err, "%s", pair->why.text);
            result = MPI_ERR_OTHER;
        }
        if (over)
            continue;
        pair_enter_stream(pair);
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    queued = linked ? queue(linked, stream, capturing, err) : MPI_SUCCESS;
    return result == MPI_SUCCESS ? queued : result;
}

static int count_messages(struct gpubind_operation *const *requests, int n)
{
    int found = 0;

    for (int i = 0; i < n; i++)
        found += requests[i]->pair->by_message;
    return found;
}

static void note_start(struct pair *pair, bool capturing)
{
    pair->started = true;
    if (pair->by_message)
        return;
    pair->captured |= capturing;
    pair->starts += !capturing;
}

/* Messages go before the exchange and are waited for after it: whichever a rank gets
 * first, it has begun the others. All comes into the stream that can, whatever fails. */
static int queue_all(struct gpubind_operation *const *requests, int n, struct CUstream_st *handle,
                     struct stream_queue *stream, struct persistent_queue *messages,
                     bool capturing, struct gpubind_error *err)
{
    struct gpubind_error why[3];
    int results[3] = {MPI_SUCCESS, MPI_SUCCESS, MPI_SUCCESS};
    bool alone;

    persistent_queue_announce(messages);
    for (int i = 0; i < n; i++)
        note_start(requests[i]->pair, capturing);
    alone = count_messages(requests, n) == n;
    results[0] = persistent_queue_go(messages, stream, alone ? STREAM_WAIT_NOW : STREAM_WAIT_LATER,
                                     &why[0]);
    results[1] = queue_linked(requests, n, handle, capturing, &why[1]);
    if (stream)
        results[2] = stream_queue_await(stream, &why[2]);
    for (int i = 0; i < 3; i++)
        if (results[i] != MPI_SUCCESS) {
            *err = why[i];
            return results[i];
        }
    return MPI_SUCCESS;
}

static bool is_for_somebody(const struct pair *pair)
{
    return pair->by_message && pair->request->rank != MPI_PROC_NULL;
}

/* What can be said before anything is queued is. */
static int start(struct gpubind_operation *const *requests, int n, struct CUstream_st *handle,
                 struct stream_queue *stream, const struct CUctx_st *context, bool capturing,
                 struct gpubind_error *err)
{
    struct persistent_queue messages;
    int result = MPI_SUCCESS;

    if (persistent_queue_make(&messages, count_messages(requests, n), err) < 0)
        return MPI_ERR_OTHER;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = check(requests[i]->pair, context, capturing, err);
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        if (is_for_somebody(requests[i]->pair))
            result = persistent_queue_add(&messages, requests[i]->pair, err);
    if (result == MPI_SUCCESS)
        result = queue_all(requests, n, handle, stream, &messages, capturing, err);
    persistent_queue_clear(&messages);
    return result;
}

/* The stream, opened where one of them is a message; NULL: none is, or with *result. */
static struct stream_queue *open_stream(struct gpubind_operation *const *requests, int n,
                                        struct CUstream_st *handle, bool capturing, int *result,
                                        struct gpubind_error *err)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        struct pair *pair = requests[i]->pair;

        pair->by_message = !persistent_has_channel(pair);
        any |= is_for_somebody(pair) && pair->state != PAIR_OVER;
    }
    return any && !capturing ? stream_queue_open(handle, result, err) : NULL;
}

static int start_connected(struct gpubind_operation *const *requests, int n,
                           struct CUstream_st *handle, const struct CUctx_st *context,
                           bool capturing, struct gpubind_error *err)
{
    int result = MPI_SUCCESS;
    struct stream_queue *stream = open_stream(requests, n, handle, capturing, &result, err);

    if (result == MPI_SUCCESS)
        result = start(requests, n, handle, stream, context, capturing, err);
    if (stream)
        stream_queue_close(stream);
    return result;
}

int persistent_start_on_stream(struct gpubind_operation *const *requests, int n,
                               struct CUstream_st *handle, struct gpubind_error *err)
{
    struct CUctx_st *context = NULL;
    int capturing = 0, result;

    result = persistent_claim(requests, n, err);
    if (result != MPI_SUCCESS || n == 0)
        return result;
    pairs_hear();
    if (look_at_stream(handle, &context, &capturing, err) < 0 ||
        connect_all(requests, n, err) < 0) {
        result = MPI_ERR_OTHER;
    } else {
        result = start_connected(requests, n, handle, context, capturing, err);
        release_all(requests, n);
    }
    persistent_unclaim(requests, n);
    return result;
}
