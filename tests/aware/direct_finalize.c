/* Messages that are received when their sender is in MPI_Finalize already, and receives that were freed:
 * what they receive is there when MPI_Finalize ends. */
#include "tests/aware/direct.h"

#include <stdio.h>
#include <stdlib.h>

enum { LATE_MESSAGES = 4, FREED = 4, GIVEN = 50 };

static const int sizes[LATE_MESSAGES] = {MIB, 3008, LARGEST, 70000};

static void start_late(struct buffer buffers[LATE_MESSAGES])
{
    MPI_Request request;

    for (int i = 0; i < LATE_MESSAGES; i++)
        need_filled(&buffers[i], i == 3 ? MEMORY_POOL : MEMORY_DEVICE, (size_t)sizes[i],
                    (uint64_t)(10 * job.rank + i));
    for (int i = 0; i < 2; i++) {
        MPI_Isend(buffers[i].at, sizes[i], MPI_BYTE, 0, i, messages, &request);
        MPI_Request_free(&request);
    }
    for (int i = 2; i < LATE_MESSAGES; i++)
        MPI_Send(buffers[i].at, sizes[i], MPI_BYTE, 0, i, messages);
}

static void receive_late(int tag)
{
    for (int from = 1; from < job.size; from++) {
        struct buffer buffer;
        MPI_Status status;

        job_at("tag %d, of rank %d", tag, from);
        need_buffer(&buffer, from % 2 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)sizes[tag]);
        MPI_Recv(buffer.at, sizes[tag], MPI_BYTE, from, tag, messages, &status);
        status_says(&status, from, tag, (size_t)sizes[tag], NULL, "the status");
        received(&buffer, (size_t)sizes[tag], (uint64_t)(10 * from + tag), "a late message");
        buffer_clear(&buffer);
    }
}

static void post_freed(struct buffer buffers[FREED])
{
    MPI_Request request;

    for (int i = 0; i < FREED; i++) {
        need_buffer(&buffers[i], i % 2 ? MEMORY_HOST : MEMORY_DEVICE, (size_t)sizes[i]);
        MPI_Irecv(buffers[i].at, sizes[i], MPI_BYTE, 0, GIVEN + i, messages, &request);
        MPI_Request_free(&request);
    }
}

static void send_to_freed(void)
{
    for (int to = 1; to < job.size; to++)
        for (int i = 0; i < FREED; i++) {
            struct buffer buffer;

            job_at("a freed receive of rank %d", to);
            need_filled(&buffer, i ? MEMORY_DEVICE : MEMORY_HOST, (size_t)sizes[i], (uint64_t)i);
            MPI_Ssend(buffer.at, sizes[i], MPI_BYTE, to, GIVEN + i, messages);
            buffer_clear(&buffer);
        }
}

static int say(const char *name)
{
    printf("%sok 1 - %s\n1..1\n", job_faults() ? "not " : "", name);
    return job_faults() > 0;
}

int finalize(void)
{
    struct buffer late[LATE_MESSAGES], freed[FREED];

    job_test("messages received when their sender is in MPI_Finalize");
    if (job.rank > 0) {
        post_freed(freed);
        start_late(late);
        MPI_Finalize();
        for (int i = 0; i < FREED; i++)
            received(&freed[i], (size_t)sizes[i], (uint64_t)i, "a freed receive");
        if (job_faults())
            printf("# rank %d: %d of the freed receives are wrong\n", job.rank, job_faults());
        return job_faults() > 0;
    }
    nap(700);
    receive_late(2);
    receive_late(3);
    nap(300);
    receive_late(1);
    send_to_freed();
    receive_late(0);
    MPI_Finalize();
    return say("messages received when their sender is in MPI_Finalize");
}
