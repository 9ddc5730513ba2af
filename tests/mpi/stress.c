/* `ranks stress THREADS SEED SECONDS`: random exchanges, each byte looked at. Every
 * thread has communicators and buffers of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/stress.h"
#include "tests/mpi/tests.h"

#define SLOT ((size_t)STRESS_LARGEST + 64)
#define ARENA (STRESS_MESSAGES * SLOT)
#define MAX_THREADS 8

/* One thread's share of the job. */
struct player {
    MPI_Comm comms[STRESS_COMMS], plain;
    struct buffer out_gpu, out_host, in_gpu, in_host;
    uint64_t state, own; /* what all ranks agree on, and this rank's own choices */
    struct round round;
    gpubind_request requests[2 * STRESS_MESSAGES];
    struct message *receives[2 * STRESS_MESSAGES]; /* whose slot the request uses */
    int nrequests;
    int seconds, rounds;
};

static const struct buffer *arena(const struct player *player, const struct message *message,
                                  bool in)
{
    if (in)
        return message->to_gpu ? &player->in_gpu : &player->in_host;
    return message->from_gpu ? &player->out_gpu : &player->out_host;
}

/* The message that a receive got, which was posted for `slot`; source and tag are its
 * status'. A wildcard source takes another's maybe: of those from one rank with one tag
 * the first that was posted takes the first that was sent. */
static struct message *message_of(struct player *player, struct message *slot, int source, int tag)
{
    if (player->round.naming >= ANY_SOURCE_OF_TAG)
        return round_find(&player->round, job.rank, slot->comm, source, tag);
    return slot->source == source && slot->tag == tag && !slot->here ? slot : NULL;
}

/* Its bytes lie in the slot, or elsewhere. */
static void arrived(struct player *player, struct message *slot, int source, int tag,
                    MPI_Count nbytes, const void *elsewhere)
{
    struct message *message = message_of(player, slot, source, tag);
    const struct buffer *in = arena(player, slot, true);
    struct buffer view = {in->at + slot->to, (size_t)nbytes, in->kind};
    size_t differs = 0;

    if (!expect(message != NULL, "a message from %d with tag %d that nobody sent", source, tag))
        return;
    message->here = true;
    if (!expect(nbytes == message->nbytes, "from %d with tag %d: %lld bytes, not %d", source, tag,
                (long long)nbytes, message->nbytes))
        return;
    if (elsewhere)
        view = (struct buffer){(char *)(uintptr_t)elsewhere, (size_t)nbytes, MEMORY_OURS};
    expect(buffer_holds(&view, 0, (size_t)nbytes, message->seed, &differs),
           "from %d with tag %d into %s: byte %zu of %lld", source, tag, memory_name(view.kind),
           differs, (long long)nbytes);
}

static void arrived_by(struct player *player, struct message *slot, MPI_Status *status)
{
    MPI_Count nbytes = -1;

    MPI_Get_elements_x(status, MPI_BYTE, &nbytes);
    arrived(player, slot, status->MPI_SOURCE, status->MPI_TAG, nbytes, NULL);
}

static int source_of(const struct player *player, const struct message *message)
{
    return player->round.naming >= ANY_SOURCE_OF_TAG ? MPI_ANY_SOURCE : message->source;
}

static int tag_of(const struct player *player, const struct message *message)
{
    bool any = player->round.naming == ANY_TAG_OF_ONE || player->round.naming == ANY_MESSAGE;

    return any ? MPI_ANY_TAG : message->tag;
}

static void post(struct player *player, struct message *message, bool receives)
{
    const struct buffer *buffer = arena(player, message, receives);
    gpubind_request *request = &player->requests[player->nrequests];
    MPI_Comm comm = player->comms[message->comm];

    player->receives[player->nrequests++] = receives ? message : NULL;
    if (receives)
        succeeds(gpubind_irecv(buffer->at + message->to, STRESS_LARGEST, MPI_BYTE,
                               source_of(player, message), tag_of(player, message), comm, request),
                 "irecv");
    else
        succeeds(gpubind_isend(buffer->at + message->from, message->nbytes, MPI_BYTE, message->dest,
                               message->tag, comm, request),
                 "isend of %d bytes", message->nbytes);
}

static void call(struct player *player, struct message *message, bool receives)
{
    const struct buffer *buffer = arena(player, message, receives);
    MPI_Comm comm = player->comms[message->comm];
    MPI_Status status;

    if (receives) {
        if (succeeds(MPI_GPURecv(buffer->at + message->to, STRESS_LARGEST, MPI_BYTE,
                                 source_of(player, message), tag_of(player, message), comm,
                                 &status),
                     "receive"))
            arrived_by(player, message, &status);
        return;
    }
    succeeds(MPI_GPUSend(buffer->at + message->from, message->nbytes, MPI_BYTE, message->dest,
                         message->tag, comm),
             "send of %d bytes", message->nbytes);
}

/* Probed first, then received with what the probe said, or into new memory. */
static void probe(struct player *player, struct message *slot)
{
    const struct buffer *in = arena(player, slot, true);
    MPI_Comm comm = player->comms[slot->comm];
    struct gpubind_message message;
    void *made = NULL;

    if (gpu_count && random_next(&player->own) % 2) {
        if (!succeeds(gpubind_recv_alloc(&made, source_of(player, slot), tag_of(player, slot), comm,
                                         &message),
                      "recv_alloc"))
            return;
        arrived(player, slot, message.source, message.tag, message.nbytes, made ? made : in->at);
        succeeds(gpubind_free(made), "free");
        return;
    }
    if (!succeeds(gpubind_probe(source_of(player, slot), tag_of(player, slot), comm, &message),
                  "probe"))
        return;
    succeeds(MPI_GPURecv(in->at + slot->to, (int)message.nbytes, MPI_BYTE, message.source,
                         message.tag, comm, MPI_STATUS_IGNORE),
             "receive of %lld bytes that were probed", (long long)message.nbytes);
    arrived(player, slot, message.source, message.tag, message.nbytes, NULL);
}

/* Completes one request, or some, by the verb of that number. Returns how many. */
static int complete_some(struct player *player, int way, MPI_Status statuses[])
{
    int n = player->nrequests, which = (int)(random_next(&player->own) % (unsigned)n), done = 1;
    MPI_Status status;

    if (way == 0) {
        succeeds(gpubind_waitall(n, player->requests, statuses), "waitall");
        return n;
    }
    if (way == 1) {
        succeeds(gpubind_waitany(n, player->requests, &which, &status), "waitany");
        if (!expect(which >= 0 && which < n, "waitany says %d of %d", which, n))
            return n;
    } else if (!player->requests[which]) {
        return 0;
    } else if (way == 2) {
        succeeds(gpubind_test(&player->requests[which], &done, &status), "test");
    } else {
        succeeds(gpubind_wait(&player->requests[which], &status), "wait");
    }
    if (done)
        statuses[which] = status;
    return done;
}

static void complete(struct player *player)
{
    MPI_Status statuses[2 * STRESS_MESSAGES];
    int way = (int)(random_next(&player->own) % 4), left = player->nrequests;

    while (left > 0)
        left -= complete_some(player, way, statuses);
    for (int i = 0; i < player->nrequests; i++)
        if (player->receives[i])
            arrived_by(player, player->receives[i], &statuses[i]);
    player->nrequests = 0;
}

/* A rank works in the order of the round, so that blocking calls end. */
static void carry_out(struct player *player)
{
    struct round *round = &player->round;

    if (round->style == MIXED)
        round->naming = NAME_BOTH;
    for (int i = 0; i < round->n; i++) {
        struct message *message = &round->messages[i];
        bool nonblocking = round->style == ALL_NONBLOCKING ||
                           (round->style == MIXED && random_next(&player->own) % 2);

        if (message->source == job.rank) {
            if (nonblocking || round->style == PROBED || round->naming >= ANY_SOURCE_OF_TAG)
                post(player, message, false);
            else
                call(player, message, false);
        }
        if (message->dest == job.rank && round->style != PROBED) {
            if (nonblocking)
                post(player, message, true);
            else
                call(player, message, true);
        }
    }
    for (int i = 0; i < round->n && round->style == PROBED; i++)
        if (round->messages[i].dest == job.rank)
            probe(player, &round->messages[i]);
    complete(player);
}

static void play_round(struct player *player)
{
    struct round *round = &player->round;

    round_make(round, &player->state, job.size);
    for (int i = 0; i < round->n; i++) {
        const struct message *message = &round->messages[i];

        if (message->source == job.rank)
            buffer_fill(arena(player, message, false), message->from, (size_t)message->nbytes,
                        message->seed);
    }
    carry_out(player);
    for (int i = 0; i < round->n; i++)
        expect(round->messages[i].dest != job.rank || round->messages[i].here,
               "message %d of a round never came", i);
    MPI_Barrier(player->plain);
}

static void make_buffers(struct player *player)
{
    need_buffer(&player->out_gpu, MEMORY_DEVICE, ARENA);
    need_buffer(&player->in_gpu, MEMORY_DEVICE, ARENA);
    need_buffer(&player->out_host, MEMORY_HOST, ARENA);
    need_buffer(&player->in_host, MEMORY_HOST, ARENA);
}

static void clear_buffers(struct player *player)
{
    buffer_clear(&player->out_gpu);
    buffer_clear(&player->in_gpu);
    buffer_clear(&player->out_host);
    buffer_clear(&player->in_host);
}

static void *play(void *argument)
{
    struct player *player = argument;
    struct timespec start, now;
    int more = 1;

    clock_gettime(CLOCK_MONOTONIC, &start);
    if (gpu_count)
        gpu_use(job.local % gpu_count);
    make_buffers(player);
    for (; more; player->rounds++) {
        play_round(player);
        if (player->rounds % 64 == 63) { /* other memory, at the same addresses maybe */
            clear_buffers(player);
            make_buffers(player);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        more = now.tv_sec - start.tv_sec < player->seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, player->plain);
    }
    clear_buffers(player);
    return NULL;
}

void test_stress(void)
{
    int threads = nargs > 0 ? atoi(arguments[0]) : 1;
    int seed = nargs > 1 ? atoi(arguments[1]) : 1, seconds = nargs > 2 ? atoi(arguments[2]) : 2;
    struct player *players = calloc(MAX_THREADS, sizeof *players);
    pthread_t others[MAX_THREADS];

    job_test("stress: %d thread%s, seed %d, %d s", threads, threads == 1 ? "" : "s", seed, seconds);
    if (threads > 1 && job.threads < MPI_THREAD_MULTIPLE) {
        job_skip("no MPI_THREAD_MULTIPLE");
        return;
    }
    alarm((unsigned)(seconds * 4 + 60));
    for (int t = 0; t < threads && t < MAX_THREADS; t++) {
        players[t].state = (uint64_t)seed * 1000 + (uint64_t)t;
        players[t].own = players[t].state + 7919 * (uint64_t)(job.rank + 1);
        players[t].seconds = seconds;
        for (int c = 0; c < STRESS_COMMS; c++)
            MPI_Comm_dup(MPI_COMM_WORLD, &players[t].comms[c]);
        MPI_Comm_dup(MPI_COMM_WORLD, &players[t].plain);
    }
    for (int t = 1; t < threads && t < MAX_THREADS; t++)
        pthread_create(&others[t], NULL, play, &players[t]);
    play(&players[0]);
    for (int t = 1; t < threads && t < MAX_THREADS; t++)
        pthread_join(others[t], NULL);
    for (int t = 0; t < threads && t < MAX_THREADS; t++) {
        for (int c = 0; c < STRESS_COMMS; c++)
            MPI_Comm_free(&players[t].comms[c]);
        MPI_Comm_free(&players[t].plain);
    }
    job_result();
    if (job.rank == 0)
        printf("# %d rounds\n", players[0].rounds);
    free(players);
}
