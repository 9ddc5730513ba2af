/* Messages end while the other rank waits for something else in MPI: only what the standard promises of
 * progress, and of sends whose receive has been posted. */
#include "tests/aware/direct.h"

#include <stdlib.h>

/* ---- what a rank does that goes on only after another one has come there */

enum elsewhere {
    BARRIER,
    RECV,
    PROBE,
    MPROBE,
    WAITANY,
    SSEND,
    SENDRECV,
    TESTS,
    IPROBES,
    IBARRIER,
    ALLREDUCE,
    GPU_ALLREDUCE,
    COMM_DUP,
    COMM_SPLIT,
    ELSEWHERES
};

static const char *const names[ELSEWHERES] = {
    "MPI_Barrier",  "MPI_Recv",       "MPI_Probe",     "MPI_Mprobe",
    "MPI_Waitany",  "MPI_Ssend",      "MPI_Sendrecv",  "MPI_Test",
    "MPI_Iprobe",   "MPI_Ibarrier",   "MPI_Allreduce", "MPI_Allreduce of GPU memory",
    "MPI_Comm_dup", "MPI_Comm_split",
};

/* Rank 1 waits, by a call of its own, for an int that the third rank sends. */
static void wait_for_int(enum elsewhere how, int third)
{
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Message matched;
    int value = 0, flag = 0, which;

    if (how == WAITANY || how == TESTS)
        MPI_Irecv(&value, 1, MPI_INT, third, TAG + 1, messages, &request[1]);
    if (how == PROBE)
        MPI_Probe(third, TAG + 1, messages, MPI_STATUS_IGNORE);
    while (how == IPROBES && !flag)
        MPI_Iprobe(third, TAG + 1, messages, &flag, MPI_STATUS_IGNORE);
    while (how == TESTS && !flag)
        MPI_Test(&request[1], &flag, MPI_STATUS_IGNORE);
    if (how == WAITANY) {
        MPI_Waitany(2, request, &which, MPI_STATUS_IGNORE);
    } else if (how == MPROBE) {
        MPI_Mprobe(third, TAG + 1, messages, &matched, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &matched, MPI_STATUS_IGNORE);
    } else if (how == SENDRECV) {
        MPI_Sendrecv(NULL, 0, MPI_INT, MPI_PROC_NULL, TAG, &value, 1, MPI_INT, third, TAG + 1,
                     messages, MPI_STATUS_IGNORE);
    } else if (how == SSEND) {
        value = third;
        MPI_Ssend(&value, 1, MPI_INT, third, TAG + 1, messages);
    } else if (how != TESTS) {
        MPI_Recv(&value, 1, MPI_INT, third, TAG + 1, messages, MPI_STATUS_IGNORE);
    }
    is_int(value, third, "the int of the third rank");
}

/* The rank that waits goes on only after ahead has come here. */
static void meet_by_message(enum elsewhere how, int waiting, int ahead)
{
    const int third = job.size > 2 ? 2 : ahead;
    int value;

    if (job.rank == ahead && third != ahead)
        token_to(third);
    if (job.rank == third) {
        if (third != ahead)
            token_from(ahead);
        if (how == SSEND)
            MPI_Recv(&value, 1, MPI_INT, waiting, TAG + 1, messages, MPI_STATUS_IGNORE);
        else
            MPI_Send(&third, 1, MPI_INT, waiting, TAG + 1, messages);
    }
    if (job.rank == waiting)
        wait_for_int(how, third);
}

static void meet(enum elsewhere how, int waiting, int ahead)
{
    int one = 1, sum = 0;
    MPI_Request request;
    struct buffer buffer;
    MPI_Comm comm;

    switch (how) {
    case BARRIER:
        MPI_Barrier(messages);
        break;
    case IBARRIER:
        MPI_Ibarrier(messages, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case ALLREDUCE:
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, messages);
        is_int(sum, job.size, "the sum");
        break;
    case GPU_ALLREDUCE:
        need_buffer(&buffer, MEMORY_DEVICE, sizeof one);
        gpu_put(buffer.at, &one, sizeof one);
        MPI_Allreduce(MPI_IN_PLACE, buffer.at, 1, MPI_INT, MPI_SUM, messages);
        gpu_get(&sum, buffer.at, sizeof sum);
        is_int(sum, job.size, "the sum in GPU memory");
        buffer_clear(&buffer);
        break;
    case COMM_DUP:
        MPI_Comm_dup(messages, &comm);
        MPI_Comm_free(&comm);
        break;
    case COMM_SPLIT:
        MPI_Comm_split(messages, 0, -job.rank, &comm);
        MPI_Comm_free(&comm);
        break;
    default:
        meet_by_message(how, waiting, ahead);
    }
}

/* ---- sends that end while the receiver is elsewhere */

enum { MESSAGES = 3, MODES = 8 };

static const struct {
    enum memory from, to;
} pairs[] = {{MEMORY_DEVICE, MEMORY_DEVICE},
             {MEMORY_DEVICE, MEMORY_HOST},
             {MEMORY_HOST, MEMORY_DEVICE},
             {MEMORY_POOL, MEMORY_MANAGED}};
static const int sizes[] = {3008, 70000, 300000, MIB};

/* Ends when the message may be overwritten. */
static void send_by(int mode, const struct buffer *buffer, int to, int tag)
{
    static int (*const starts[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                 MPI_Request *) = {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Send_init,
                                                   MPI_Ssend_init};
    const int n = (int)buffer->nbytes;
    MPI_Request request;
    MPI_Status status;

    if (mode < 3) {
        (mode == 0   ? MPI_Send
         : mode == 1 ? MPI_Ssend
                     : MPI_Rsend)(buffer->at, n, MPI_BYTE, to, tag, messages);
        return;
    }
    starts[mode - 3](buffer->at, n, MPI_BYTE, to, tag, messages, &request);
    if (mode >= 6)
        MPI_Start(&request);
    complete((mode + n) % COMPLETIONS, 1, &request, &status);
    if (mode >= 6)
        MPI_Request_free(&request);
}

static void send_to_posted(enum elsewhere how, int mode, int nbytes, enum memory from,
                           uint64_t seed)
{
    struct buffer buffer;

    for (int i = 0; i < MESSAGES; i++) {
        need_filled(&buffer, from, (size_t)nbytes, seed + (uint64_t)i);
        if (i == 0)
            token_from(1);
        send_by(mode, &buffer, 1, TAG + 10 + i);
        buffer_clear(&buffer);
    }
    meet(how, 1, 0);
}

static void receive_elsewhere(enum elsewhere how, int nbytes, enum memory to, uint64_t seed)
{
    MPI_Request requests[MESSAGES];
    MPI_Status statuses[MESSAGES];
    struct buffer buffers[MESSAGES];

    for (int i = 0; i < MESSAGES; i++) {
        need_buffer(&buffers[i], to, (size_t)nbytes);
        MPI_Irecv(buffers[i].at, nbytes, MPI_BYTE, 0, TAG + 10 + i, messages, &requests[i]);
    }
    token_to(0);
    meet(how, 1, 0);
    MPI_Waitall(MESSAGES, requests, statuses);
    for (int i = 0; i < MESSAGES; i++) {
        status_says(&statuses[i], 0, TAG + 10 + i, (size_t)nbytes, NULL, "the status");
        received(&buffers[i], (size_t)nbytes, seed + (uint64_t)i, "the message");
        buffer_clear(&buffers[i]);
    }
}

static void test_receiver_elsewhere(enum elsewhere how)
{
    job_test("sends end while the receiver is in %s", names[how]);
    for (int mode = 0; mode < MODES; mode++)
        for (int i = 0; i < 4; i++) {
            const int nbytes = sizes[(i + mode) % 4];
            const uint64_t seed = draw_seed();

            job_at("mode %d, %d bytes of %s into %s", mode, nbytes, memory_name(pairs[i].from),
                   memory_name(pairs[i].to));
            if (job.rank == 0)
                send_to_posted(how, mode, nbytes, pairs[i].from, seed);
            else if (job.rank == 1)
                receive_elsewhere(how, nbytes, pairs[i].to, seed);
            else
                meet(how, 1, 0);
        }
    job_result();
}

/* ---- receives that end while the sender is elsewhere */

static void receive_by(int way, struct buffer *buffer)
{
    const int n = (int)buffer->nbytes;
    MPI_Request request;
    MPI_Message matched;
    MPI_Status status;

    if (way == 0) {
        MPI_Recv(buffer->at, n, MPI_BYTE, 0, TAG, messages, &status);
    } else if (way == 1) {
        MPI_Mprobe(0, TAG, messages, &matched, &status);
        MPI_Mrecv(buffer->at, n, MPI_BYTE, &matched, &status);
    } else {
        MPI_Irecv(buffer->at, n, MPI_BYTE, MPI_ANY_SOURCE, TAG, messages, &request);
        complete(way == 2 ? 0 : 4, 1, &request, &status);
    }
    status_says(&status, 0, TAG, (size_t)n, NULL, "the status");
}

/* freed: the sender frees its request, and does not ask again. */
static void pass_from_elsewhere(enum elsewhere how, int nbytes, int turn, uint64_t seed)
{
    const bool freed = turn % 3 == 2;
    struct buffer buffer;
    MPI_Request request;

    if (job.rank == 0) {
        need_filled(&buffer, pairs[turn % 4].from, (size_t)nbytes, seed);
        (turn % 2 ? MPI_Issend : MPI_Isend)(buffer.at, nbytes, MPI_BYTE, 1, TAG, messages,
                                            &request);
        if (freed)
            MPI_Request_free(&request);
    } else if (job.rank == 1) {
        need_buffer(&buffer, pairs[turn % 4].to, (size_t)nbytes);
        if (turn % 5 == 4)
            nap(2);
        receive_by(turn / 2 % 4, &buffer);
        received(&buffer, (size_t)nbytes, seed, "the message");
    }
    meet(how, 0, 1);
    if (job.rank == 0 && freed)
        is_int(request == MPI_REQUEST_NULL, 1, "the freed request");
    else if (job.rank == 0)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (freed) { /* the receiver has it all: the buffer is the program's again */
        if (job.rank == 1)
            token_to(0);
        if (job.rank == 0)
            token_from(1);
    }
    if (job.rank < 2)
        buffer_clear(&buffer);
}

static void test_sender_elsewhere(enum elsewhere how)
{
    job_test("receives end while the sender is in %s", names[how]);
    for (int turn = 0; turn < 24; turn++) {
        const uint64_t seed = draw_seed();

        job_at("turn %d", turn);
        pass_from_elsewhere(how, sizes[(turn + turn / 4) % 4], turn, seed);
    }
    job_result();
}

void test_progress(void)
{
    for (int how = 0; how < ELSEWHERES; how++)
        test_receiver_elsewhere((enum elsewhere)how);
    for (int how = 0; how < ELSEWHERES; how++)
        test_sender_elsewhere((enum elsewhere)how);
}
