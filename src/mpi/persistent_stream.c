/* Persistent messages in the order of a stream of the application's. */
#include "mpi/engine.h"
#include "mpi/persistent.h"
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

/* An MPI error class: nothing may be queued yet. */
static int check(const struct pair *pair, const struct CUctx_st *context, bool capturing,
                 struct gpubind_error *err)
{
    int result = MPI_ERR_OTHER;

    if (capturing && pair->state != PAIR_NOBODY && (!pair_is_known(pair) || !pair->started))
        fail(err, pair, "was not started yet, which the first time has to be outside of a capture");
    else if (!pair_is_known(pair) && wait_until_known(pair, err) < 0)
        ;
    else if (pair->state == PAIR_OVER)
        error_set(err, "%s", pair->why.text);
    else if (pair->state == PAIR_TOO_LONG && !pair_sends(pair))
        result = fail(err, pair, "does not fit the buffer") ? MPI_ERR_TRUNCATE : result;
    else if (pair->state == PAIR_MESSAGES && capturing)
        fail(err, pair, "cannot be captured: it does not go between GPUs that reach each other");
    else if (pair->state == PAIR_MESSAGES)
        fail(err, pair, "does not go between GPUs that reach each other, which is not possible "
             "in a stream yet");
    else if (pair->state == PAIR_LINKED && pair->request->memory.gpu->context != context)
        fail(err, pair, "has its buffer in another context, or on another GPU, than the stream");
    else
        result = MPI_SUCCESS;
    return result;
}

static int queue(struct pair *linked, struct CUstream_st *stream, struct gpubind_error *err)
{
    if (tracks_queue(linked->request->memory.gpu, stream, linked, false, err) == 0)
        return MPI_SUCCESS;
    while (linked) { /* a part of it may be queued: nobody knows what the words say */
        struct pair *pair = linked;

        linked = pair->follows;
        pair->place = PAIR_ON_TRACK;
        tracks_release(pair);
        pair->place = PAIR_NOWHERE;
        pair_break(pair, err->text);
    }
    return MPI_ERR_OTHER;
}

int persistent_start_on_stream(struct gpubind_operation *const *requests, int n,
                               struct CUstream_st *stream, struct gpubind_error *err)
{
    struct pair *linked = NULL, **linked_end = &linked;
    struct CUctx_st *context = NULL;
    int capturing = 0, result;

    result = persistent_claim(requests, n, err);
    if (result != MPI_SUCCESS)
        return result;
    if (n > 0 && look_at_stream(stream, &context, &capturing, err) < 0)
        result = MPI_ERR_OTHER;
    for (int i = 0; i < n && result == MPI_SUCCESS; i++)
        result = check(requests[i]->pair, context, capturing, err);
    for (int i = 0; i < n && result == MPI_SUCCESS; i++) {
        struct pair *pair = requests[i]->pair;

        pair->started = true;
        if (pair->state != PAIR_LINKED)
            continue;
        pair->follows = NULL;
        *linked_end = pair;
        linked_end = &pair->follows;
    }
    persistent_unclaim(requests, n);
    return linked ? queue(linked, stream, err) : result;
}
