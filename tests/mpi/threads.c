/* Several threads of a rank call at once. For two ranks. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define THREADS 4
#define TURNS 120
#define LARGEST 150000

static const int sizes[] = {100, 30000, LARGEST, 9000, 70001};

struct player {
    int number, tag;
    MPI_Comm comm, next; /* next: that of the player after this one */
    void (*play)(struct player *player);
    struct buffer out, in;
    pthread_t thread;
};

static uint64_t seed_of(int rank, int number, int turn)
{
    return (uint64_t)rank * 1000000 + (uint64_t)number * 10000 + (uint64_t)turn;
}

static void receive(struct player *player, int source, int tag, size_t nbytes, uint64_t seed)
{
    MPI_Status status;

    buffer_reset(&player->in);
    succeeds(MPI_GPURecv(player->in.at, LARGEST, MPI_BYTE, source, tag, player->comm, &status),
             "receive");
    status_is(&status, !job.rank, player->tag, (MPI_Count)nbytes, "receive");
    received(&player->in, nbytes, seed, "receive");
}

/* There and back, blocking. */
static void ping_pong(struct player *player)
{
    for (int turn = 0; turn < TURNS; turn++) {
        int nbytes = sizes[turn % 5];

        buffer_fill(&player->out, 0, (size_t)nbytes, seed_of(job.rank, player->number, turn));
        for (int step = 0; step < 2; step++) {
            if (step == job.rank)
                succeeds(MPI_GPUSend(player->out.at, nbytes, MPI_BYTE, !job.rank, player->tag,
                                     player->comm),
                         "send");
            else
                receive(player, !job.rank, player->tag, (size_t)nbytes,
                        seed_of(!job.rank, player->number, turn));
        }
    }
}

/* Both ways at once, by whatever verb ends a request. */
static void exchange(struct player *player)
{
    for (int turn = 0; turn < TURNS; turn++) {
        int nbytes = sizes[turn % 5], flag = 0;
        gpubind_request request;

        buffer_fill(&player->out, 0, (size_t)nbytes, seed_of(job.rank, player->number, turn));
        succeeds(gpubind_isend(player->out.at, nbytes, MPI_BYTE, !job.rank, player->tag,
                               player->comm, &request),
                 "isend");
        receive(player, !job.rank, player->tag, (size_t)nbytes,
                seed_of(!job.rank, player->number, turn));
        while (turn % 2 && !flag)
            if (!succeeds(gpubind_test(&request, &flag, MPI_STATUS_IGNORE), "test"))
                break;
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
}

/* Thread 0 of rank 0 waits for a message that comes when all others are through. */
static void one_waits(struct player *player)
{
    if (player->number) {
        ping_pong(player);
        return;
    }
    if (job.rank == 0)
        receive(player, MPI_ANY_SOURCE, player->tag, 100, seed_of(1, 0, 0));
}

/* Thread 0 is in plain MPI calls that wait for the other rank, while the others exchange. */
static void beside_mpi(struct player *player)
{
    if (player->number) {
        exchange(player);
        return;
    }
    for (int turn = 0; turn < TURNS / 4; turn++) {
        int word = job.rank;
        MPI_Comm comm;

        MPI_Sendrecv_replace(&word, 1, MPI_INT, !job.rank, 5, !job.rank, 5, job.plain,
                             MPI_STATUS_IGNORE);
        is_int(word, !job.rank, "MPI_Sendrecv_replace");
        MPI_Comm_dup(job.plain, &comm);
        MPI_Comm_free(&comm);
    }
}

/* All of rank 1 send messages of unknown sizes, and all of rank 0 take any of them. */
static void takes(struct player *player)
{
    for (int turn = 0; turn < TURNS; turn++) {
        const int nbytes = 1 + (turn * THREADS + player->number) * 7;
        struct gpubind_message message;
        gpubind_matched matched;
        MPI_Status status;

        if (job.rank == 1) {
            buffer_fill(&player->out, 0, (size_t)nbytes, (uint64_t)nbytes);
            succeeds(MPI_GPUSend(player->out.at, nbytes, MPI_BYTE, 0, 3, player->comm), "send");
            continue;
        }
        buffer_reset(&player->in);
        if (!succeeds(gpubind_mprobe(MPI_ANY_SOURCE, 3, player->comm, &matched, &message),
                      "mprobe"))
            return;
        succeeds(gpubind_mrecv_c(player->in.at, message.nbytes, MPI_BYTE, &matched, &status),
                 "mrecv");
        status_is(&status, 1, 3, message.nbytes, "mrecv");
        received(&player->in, (size_t)message.nbytes, (uint64_t)message.nbytes, "mrecv");
    }
}

#define ON_STREAM_TAG 20

/* A receive waits for a stream, and the stream for a message that rank 0 sends only when its other thread's, which came
 * after the receive's, was received. */
static void behind_a_stream(struct player *player)
{
    const size_t half = LARGEST / 2;
    struct CUstream_st *stream;

    if (!gpu_count || player->number > 1)
        return;
    if (player->number) {
        if (job.rank == 0) {
            usleep(50000);
            succeeds(MPI_GPUSend(player->out.at, 100, MPI_BYTE, 1, player->tag, player->comm),
                     "send of the other thread");
            succeeds(MPI_GPURecv(player->in.at, 1, MPI_BYTE, 1, player->tag, player->comm,
                                 MPI_STATUS_IGNORE),
                     "answer");
            succeeds(MPI_GPUSend(player->out.at, 100, MPI_BYTE, 1, ON_STREAM_TAG, player->comm),
                     "send to the stream");
        } else {
            succeeds(MPI_GPURecv(player->in.at, 100, MPI_BYTE, 0, player->tag, player->comm,
                                 MPI_STATUS_IGNORE),
                     "receive of the other thread");
            succeeds(MPI_GPUSend(player->in.at, 1, MPI_BYTE, 0, player->tag, player->comm),
                     "answer from host memory, which waits for no stream");
        }
        return;
    }
    if (job.rank == 0) {
        buffer_fill(&player->out, 0, half, seed_of(0, 0, 0));
        usleep(20000);
        succeeds(MPI_GPUSend(player->out.at, (int)half, MPI_BYTE, 1, player->tag, player->comm),
                 "send");
        return;
    }
    is_int(cuda.cuStreamCreate(&stream, 0), CUDA_OK, "cuStreamCreate");
    buffer_reset(&player->in);
    succeeds(gpubind_recv_on_stream(player->out.at, 100, MPI_BYTE, 0, ON_STREAM_TAG, player->next,
                                    stream),
             "receive on a stream");
    succeeds(MPI_GPURecv(player->in.at, LARGEST, MPI_BYTE, 0, player->tag, player->comm,
                         MPI_STATUS_IGNORE),
             "receive");
    received(&player->in, half, seed_of(0, 0, 0), "receive");
    cuda.cuStreamDestroy_v2(stream);
}

static void *run(void *argument)
{
    struct player *player = argument;

    if (gpu_count)
        gpu_use(job.local % gpu_count);
    player->play(player);
    return NULL;
}

static void all(const char *what, void (*play)(struct player *), const MPI_Comm comms[])
{
    struct player players[THREADS];

    job_test("%s", what);
    for (int t = 0; t < THREADS; t++) {
        players[t] = (struct player){.number = t,
                                     .tag = 7 + t,
                                     .comm = comms[t],
                                     .next = comms[(t + 1) % THREADS],
                                     .play = play};
        need_buffer(&players[t].out, MEMORY_DEVICE, LARGEST);
        need_buffer(&players[t].in, t % 2 ? MEMORY_HOST : MEMORY_DEVICE, LARGEST);
    }
    for (int t = 0; t < THREADS; t++)
        pthread_create(&players[t].thread, NULL, run, &players[t]);
    for (int t = THREADS - 1; t >= 0; t--) {
        if (t == 0 && play == one_waits && job.rank == 1) {
            buffer_fill(&players[0].out, 0, 100, seed_of(1, 0, 0));
            succeeds(MPI_GPUSend(players[0].out.at, 100, MPI_BYTE, 0, 7, comms[0]), "the last");
        }
        pthread_join(players[t].thread, NULL);
    }
    for (int t = 0; t < THREADS; t++) {
        buffer_clear(&players[t].out);
        buffer_clear(&players[t].in);
    }
    job_result();
}

void test_threads(void)
{
    MPI_Comm own[THREADS], one[THREADS];

    for (int t = 0; t < THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
        one[t] = MPI_COMM_WORLD;
    }
    if (job.threads < MPI_THREAD_MULTIPLE) {
        job_test("several threads");
        job_skip("no MPI_THREAD_MULTIPLE");
    } else {
        all("ping-pong of threads with communicators of their own", ping_pong, own);
        all("ping-pong of threads in one communicator, by tag", ping_pong, one);
        all("exchanges of threads with communicators of their own", exchange, own);
        all("exchanges of threads in one communicator", exchange, one);
        all("a thread that waits does not hold up the others", one_waits, own);
        all("exchanges of threads while another one is in calls of MPI", beside_mpi, own);
        all("threads that take messages from one communicator", takes, one);
        all("a receive that waits for a stream does not hold up other threads", behind_a_stream,
            own);
    }
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&own[t]);
}
