#include "mpi/persistent/exchange_streams.h"

#include <stdlib.h>

#include "gpu/core/deferred_free.h"

/* With the library's other two streams fewer than the 8 queues that CUDA has by default. */
#define TRACKS 4
#define SURE 0 /* of the tracks: the one where nothing waits */
/* Parts that wait at a time: with the kernel each is a block, and the application's
 * kernels need room beside them. */
#define WAITING_PARTS 512u

struct track {
    struct CUstream_st *stream;
    struct CUevent_st *event;
    struct pair *pairs; /* in the exchange that is there; NULL: none */
    unsigned parts;
};

static struct tracks {
    struct tracks *next;
    struct gpu *gpu;
    struct track tracks[TRACKS];
    struct pair *patient, **patient_end;
} *all;

static int make_streams(struct tracks *tracks, struct gpubind_error *err)
{
    const struct cuda_driver *cuda = gpu_driver();
    bool entered = gpu_enter(tracks->gpu);
    int status = CUDA_OK;

    for (int i = 0; i < TRACKS && status == CUDA_OK; i++) {
        struct track *track = &tracks->tracks[i];

        status = cuda->cuStreamCreate(&track->stream, CUDA_STREAM_NON_BLOCKING);
        if (status == CUDA_OK)
            status = cuda->cuEventCreate(&track->event, CUDA_EVENT_NO_TIMING);
    }
    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "a CUDA stream cannot be made", err);
}

static void clear(struct tracks *tracks)
{
    const struct cuda_driver *cuda = gpu_driver();
    const bool dead = gpu_is_dead(tracks->gpu);
    bool entered = !dead && gpu_enter(tracks->gpu);

    for (int i = 0; i < TRACKS && !dead; i++) {
        struct track *track = &tracks->tracks[i];

        if (track->event)
            cuda->cuEventDestroy_v2(track->event);
        if (track->stream)
            cuda->cuStreamDestroy_v2(track->stream);
    }
    gpu_leave(entered);
    free(tracks);
}

static struct tracks *tracks_of(struct gpu *gpu, struct gpubind_error *err)
{
    struct tracks *tracks = all;

    while (tracks && tracks->gpu != gpu)
        tracks = tracks->next;
    if (tracks)
        return tracks;
    tracks = calloc(1, sizeof *tracks);
    if (!tracks) {
        error_set(err, "out of memory");
        return NULL;
    }
    tracks->gpu = gpu;
    tracks->patient_end = &tracks->patient;
    if (make_streams(tracks, err) < 0) {
        clear(tracks);
        return NULL;
    }
    tracks->next = all;
    all = tracks;
    return tracks;
}

static bool is_sure(const struct pair *pair)
{
    return pair_sends(pair) ? pair->exchange.send.sure : pair->exchange.receive.sure;
}

static int queue(const struct tracks *tracks, const struct track *track, struct pair *pairs,
                 bool ready, struct gpubind_error *err)
{
    bool entered;
    int status;

    if (tracks_queue(tracks->gpu, track->stream, pairs, ready, err) < 0)
        return -1;
    entered = gpu_enter(tracks->gpu);
    status = gpu_driver()->cuEventRecord(track->event, track->stream);
    gpu_leave(entered);
    return status == CUDA_OK ? 0 : gpu_error(status, "an exchange cannot be started", err);
}

/* Takes the pairs off their list. */
static void end(struct pair *pairs)
{
    while (pairs) {
        struct pair *pair = pairs;

        pairs = pair->follows;
        if (!pair->request->done)
            operation_good(pair->request);
        pair->place = PAIR_NOWHERE;
        pair_settle(pair); /* it may be no more */
    }
}

/* The pairs' exchange has failed. A part of it may be in the stream (NULL: it is in none),
 * and is let through before anything of the pairs is used again. */
static void fail(struct gpu *gpu, struct CUstream_st *stream, struct pair *pairs,
                 const struct gpubind_error *failure)
{
    bool entered, broken = true;

    for (struct pair *pair = pairs; pair; pair = pair->follows) {
        pair_break(pair, failure->text);
        broken &= !pair->stuck;
    }
    entered = gpu_enter(gpu);
    if (stream && broken)
        gpu_driver()->cuStreamSynchronize(stream);
    gpu_leave(entered);
    end(pairs);
}

static void launch(struct tracks *tracks, struct track *track, struct pair *pairs, bool ready)
{
    struct gpubind_error err;

    track->parts = 0;
    for (struct pair *pair = pairs; pair; pair = pair->follows) {
        pair->place = PAIR_ON_TRACK;
        track->parts += pair_parts(pair);
    }
    if (queue(tracks, track, pairs, ready, &err) < 0) {
        fail(tracks->gpu, track->stream, pairs, &err);
        return;
    }
    track->pairs = pairs;
    gpu_hold(1);
}

static void look_at(const struct tracks *tracks, struct track *track)
{
    struct pair *pairs = track->pairs;
    struct gpubind_error err;
    bool entered;
    int status;

    if (!pairs)
        return;
    entered = gpu_enter(tracks->gpu);
    status = gpu_driver()->cuEventQuery(track->event);
    gpu_leave(entered);
    if (status == CUDA_NOT_READY)
        return;
    /* What another side has let go, without data, it has told before. */
    if (status == CUDA_OK && !pairs_hear())
        return;
    track->pairs = NULL;
    gpu_hold(-1);
    if (status == CUDA_OK) {
        end(pairs);
        return;
    }
    gpu_error(status, "an exchange failed", &err);
    fail(tracks->gpu, track->stream, pairs, &err);
}

/* A track that may wait with that many parts more; NULL: none. */
static struct track *find_free(struct tracks *tracks, const struct pair *pairs)
{
    struct track *found = NULL;
    unsigned parts = 0;

    for (; pairs; pairs = pairs->follows)
        parts += pair_parts(pairs);
    for (int i = SURE + 1; i < TRACKS; i++) {
        struct track *track = &tracks->tracks[i];

        look_at(tracks, track);
        if (!track->pairs)
            found = track;
        else
            parts += track->parts;
    }
    return parts <= WAITING_PARTS ? found : NULL;
}

static void be_patient(struct tracks *tracks, struct pair *pairs)
{
    while (pairs) {
        struct pair *pair = pairs;
        const struct exchange_receive *receive = &pair->exchange.receive;
        struct gpubind_error err;

        pairs = pair->follows;
        pair->follows = NULL;
        if (!pair_sends(pair) && !receive->sure &&
            words_set(tracks->gpu, receive->ready, receive->parts, &err) < 0) {
            fail(tracks->gpu, NULL, pair, &err);
            continue;
        }
        pair->place = PAIR_PATIENT;
        *tracks->patient_end = pair;
        tracks->patient_end = &pair->follows;
    }
}

void tracks_start(struct gpu *gpu, struct pair *pairs)
{
    struct gpubind_error err;
    struct tracks *tracks = tracks_of(gpu, &err);
    struct track *track;

    if (!tracks) {
        fail(gpu, NULL, pairs, &err);
        return;
    }
    track = find_free(tracks, pairs);
    if (track)
        launch(tracks, track, pairs, false);
    else
        be_patient(tracks, pairs);
}

static bool may_go(const struct pair *pair)
{
    struct words words = pair->words;

    words.n = pair_parts(pair);
    return (pair_sends(pair) && is_sure(pair)) || words_are_set(&words);
}

/* Patient pairs whose other side has done its part. */
static struct pair *take_ready(struct tracks *tracks)
{
    struct pair **link = &tracks->patient, *ready = NULL, **end_of_ready = &ready;

    while (*link) {
        struct pair *pair = *link;

        if (!may_go(pair)) {
            link = &pair->follows;
            continue;
        }
        *link = pair->follows;
        pair->follows = NULL;
        *end_of_ready = pair;
        end_of_ready = &pair->follows;
    }
    tracks->patient_end = link;
    return ready;
}

static void look_at_patient(struct tracks *tracks)
{
    struct gpubind_error err;
    struct pair *pairs;

    if (words_read(tracks->gpu, &err) < 0) {
        pairs = tracks->patient;
        tracks->patient = NULL;
        tracks->patient_end = &tracks->patient;
        for (struct pair *pair = pairs; pair; pair = pair->follows)
            pair->place = PAIR_ON_TRACK; /* they are in the list no more */
        fail(tracks->gpu, NULL, pairs, &err);
        return;
    }
    pairs = take_ready(tracks);
    if (pairs)
        launch(tracks, &tracks->tracks[SURE], pairs, true);
}

void tracks_progress(void)
{
    for (struct tracks *tracks = all; tracks; tracks = tracks->next) {
        for (int i = 0; i < TRACKS; i++)
            look_at(tracks, &tracks->tracks[i]);
        if (tracks->patient && !tracks->tracks[SURE].pairs)
            look_at_patient(tracks);
    }
}

bool tracks_busy(void)
{
    for (const struct tracks *tracks = all; tracks; tracks = tracks->next) {
        if (tracks->patient)
            return true;
        for (int i = 0; i < TRACKS; i++)
            if (tracks->tracks[i].pairs)
                return true;
    }
    return false;
}

static struct pair **find_patient(struct tracks *tracks, const struct pair *pair)
{
    struct pair **link = &tracks->patient;

    while (*link && *link != pair)
        link = &(*link)->follows;
    return link;
}

void tracks_drop(struct pair *pair)
{
    struct pair **link;

    if (pair->place != PAIR_PATIENT)
        return;
    for (struct tracks *tracks = all; tracks; tracks = tracks->next) {
        link = find_patient(tracks, pair);
        if (!*link)
            continue;
        *link = pair->follows;
        if (!*link)
            tracks->patient_end = link;
    }
    pair->follows = NULL;
    pair->place = PAIR_NOWHERE;
}

void tracks_stop(void)
{
    tracks_queue_stop();
    holds_stop();
    while (all) {
        struct tracks *tracks = all;
        const bool dead = gpu_is_dead(tracks->gpu);
        bool entered = !dead && gpu_enter(tracks->gpu);

        for (int i = 0; i < TRACKS && !dead; i++)
            gpu_driver()->cuStreamSynchronize(tracks->tracks[i].stream);
        gpu_leave(entered);
        for (int i = 0; i < TRACKS; i++)
            gpu_hold(tracks->tracks[i].pairs ? -1 : 0);
        all = tracks->next;
        clear(tracks);
    }
}
