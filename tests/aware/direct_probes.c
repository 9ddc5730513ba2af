/* What probes say of messages from GPU memory, among messages of host memory of every small size. */
#include "tests/aware/direct.h"

#include <stdlib.h>

enum { HELD = 10 };

/* Any of the four. Returns the size; with a message for the last two. */
static int probe(int how, int from, int tag, MPI_Message *matched, MPI_Status *status)
{
    int flag = 0, count = -1;

    *matched = MPI_MESSAGE_NULL;
    *status = (MPI_Status){0}; /* MPICH's probes leave what MPI_Test_cancelled asks for */
    if (how == 0)
        MPI_Probe(from, tag, messages, status);
    else if (how == 2)
        MPI_Mprobe(from, tag, messages, matched, status);
    while (how == 1 && !flag)
        MPI_Iprobe(from, tag, messages, &flag, status);
    while (how == 3 && !flag)
        MPI_Improbe(from, tag, messages, &flag, matched, status);
    MPI_Get_count(status, MPI_BYTE, &count);
    return count;
}

/* Probes, and then receives what the probe says, no byte more. */
static void receive_probed(enum memory kind, int how, bool any, int from, size_t nbytes,
                           uint64_t seed)
{
    MPI_Message matched;
    struct buffer buffer;
    MPI_Status status;
    int count;

    count = probe(how, any ? MPI_ANY_SOURCE : from, any ? MPI_ANY_TAG : TAG, &matched, &status);
    status_says(&status, from, TAG, nbytes, NULL, "the probe");
    if (count < 0 || (size_t)count > nbytes)
        count = (int)nbytes;
    need_buffer(&buffer, kind, (size_t)count + 1);
    if (matched == MPI_MESSAGE_NULL)
        MPI_Recv(buffer.at, count, MPI_BYTE, from, TAG, messages, &status);
    else
        MPI_Mrecv(buffer.at, count, MPI_BYTE, &matched, &status);
    status_says(&status, from, TAG, nbytes, NULL, "the receive");
    received(&buffer, nbytes, seed, "the receive");
    buffer_clear(&buffer);
}

/* A host message, one of a GPU, a host message, of one tag. */
static void pass_three(size_t nbytes)
{
    static const size_t large[] = {1, 1024, 3000, 65536, 300000};
    const size_t sizes[3] = {nbytes, large[draw(5)], nbytes};
    const enum memory kinds[3] = {MEMORY_HOST, draw_gpu(), MEMORY_HOST};
    const uint64_t seed = draw_seed();
    MPI_Request requests[3];
    struct buffer buffers[3];

    job_at("%zu bytes", nbytes);
    for (int i = 0; i < 3; i++) {
        const enum memory to = draw_memory();
        const int how = (int)draw(4);
        const bool any = draw(3) == 0;

        if (job.rank == 1) {
            receive_probed(to, how, any, 0, sizes[i], seed + (uint64_t)i);
        } else if (job.rank == 0) {
            need_filled(&buffers[i], kinds[i], sizes[i], seed + (uint64_t)i);
            MPI_Isend(buffers[i].at, (int)sizes[i], MPI_BYTE, 1, TAG, messages, &requests[i]);
        }
    }
    if (job.rank != 0)
        return;
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        buffer_clear(&buffers[i]);
}

static void test_sizes(void)
{
    job_test("probes of GPU messages between host messages of every small size");
    for (size_t nbytes = MIX_FIRST; nbytes <= MIX_LAST; nbytes += 16)
        pass_three(nbytes);
    for (size_t nbytes = 0; nbytes < MIX_FIRST; nbytes += 1 + draw(32))
        pass_three(nbytes);
    job_result();
}

/* ---- from everybody */

static void test_everybody(void)
{
    const uint64_t seed = draw_seed();

    job_test("probes of any source and tag, GPU messages of all ranks");
    for (int round = 0; round < 20; round++) {
        if (job.rank == 0) {
            for (int i = 1; i < job.size; i++) {
                const int how = (i + round) % 4;
                MPI_Message matched;
                struct buffer buffer;
                MPI_Status status;
                int count = probe(how, MPI_ANY_SOURCE, MPI_ANY_TAG, &matched, &status);
                const int from = status.MPI_SOURCE, tag = 100 * from + round;

                status_says(&status, from, tag, (size_t)(from * 50000 + round), NULL, "the probe");
                need_buffer(&buffer, round % 2 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)count);
                if (matched == MPI_MESSAGE_NULL)
                    MPI_Recv(buffer.at, count, MPI_BYTE, from, tag, messages, &status);
                else
                    MPI_Mrecv(buffer.at, count, MPI_BYTE, &matched, &status);
                received(&buffer, (size_t)count, seed + (uint64_t)tag, "the receive");
                buffer_clear(&buffer);
            }
        } else {
            const int tag = 100 * job.rank + round, count = job.rank * 50000 + round;
            struct buffer buffer;

            need_filled(&buffer, (round + job.rank) % 3 ? MEMORY_DEVICE : MEMORY_HOST,
                        (size_t)count, seed + (uint64_t)tag);
            MPI_Send(buffer.at, count, MPI_BYTE, 0, tag, messages);
            buffer_clear(&buffer);
        }
        MPI_Barrier(job.plain);
    }
    job_result();
}

/* ---- matched messages that are kept */

static size_t held_size(int i)
{
    return i % 3 == 0 ? 2000 + 16 * (size_t)i : 40000 * (size_t)i;
}

static void send_held(uint64_t seed)
{
    MPI_Request requests[2 * HELD];
    struct buffer buffers[2 * HELD];

    for (int i = 0; i < 2 * HELD; i++) {
        need_filled(&buffers[i], i % 4 == 3 ? MEMORY_HOST : MEMORY_DEVICE, held_size(i),
                    seed + (uint64_t)i);
        MPI_Isend(buffers[i].at, (int)held_size(i), MPI_BYTE, 1, TAG, messages, &requests[i]);
    }
    MPI_Waitall(2 * HELD, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * HELD; i++)
        buffer_clear(&buffers[i]);
}

static void receive_held(uint64_t seed, MPI_Message *matched, int i)
{
    struct buffer buffer;
    MPI_Request request;
    MPI_Status status;
    const int room = (int)held_size(i) + 50;

    need_buffer(&buffer, i % 3 ? MEMORY_DEVICE : MEMORY_HOST, (size_t)room);
    if (!matched) {
        MPI_Recv(buffer.at, room, MPI_BYTE, 0, TAG, messages, &status);
    } else if (i % 2) {
        MPI_Mrecv(buffer.at, room, MPI_BYTE, matched, &status);
    } else {
        MPI_Imrecv(buffer.at, room, MPI_BYTE, matched, &request);
        MPI_Wait(&request, &status);
    }
    status_says(&status, 0, TAG, held_size(i), NULL, "the receive");
    received(&buffer, held_size(i), seed + (uint64_t)i, "the receive");
    buffer_clear(&buffer);
}

/* The even ones are matched and kept while the odd ones are received. */
static void test_held(void)
{
    const uint64_t seed = draw_seed();

    job_test("matched messages received after later ones, last first");
    if (job.rank == 0)
        send_held(seed);
    if (job.rank == 1) {
        MPI_Message matched[HELD];
        MPI_Status status;

        for (int i = 0; i < HELD; i++) {
            int count = probe(2 + i % 2, 0, TAG, &matched[i], &status);

            is_int(count, (long long)held_size(2 * i), "the size");
            receive_held(seed, NULL, 2 * i + 1);
        }
        for (int i = HELD - 1; i >= 0; i--)
            receive_held(seed, &matched[i], 2 * i);
    }
    job_result();
}

/* ---- nothing that the program has not sent is seen */

static void look(MPI_Comm comm, const char *name)
{
    MPI_Message matched;
    MPI_Status status;
    int flag;

    for (int i = 0; i < 20; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
        expect(!flag, "MPI_Iprobe finds a message of tag %d in %s", status.MPI_TAG, name);
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &matched, &status);
        expect(!flag, "MPI_Improbe finds a message of tag %d in %s", status.MPI_TAG, name);
    }
}

/* Every rank receives from anybody all the while, and gets no message. */
static void test_unseen(void)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    const MPI_Comm comms[3] = {messages, MPI_COMM_WORLD, MPI_COMM_SELF};
    struct buffer out, in, none;
    MPI_Request wild[3], request;
    MPI_Comm other;
    int cancelled;
    MPI_Status status;

    job_test("wildcards see no message but the program's own");
    MPI_Comm_dup(messages, &other);
    need_filled(&out, MEMORY_DEVICE, MIB, (uint64_t)job.rank + 1);
    need_buffer(&in, MEMORY_DEVICE, MIB);
    need_buffer(&none, MEMORY_HOST, 100000);
    for (int i = 0; i < 3; i++)
        MPI_Irecv(none.at, 100000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comms[i], &wild[i]);
    for (int i = 0; i < 4; i++) {
        const int nbytes = i == 0 ? 100 : i * 300000;

        MPI_Isend(out.at, nbytes, MPI_BYTE, next, TAG, other, &request);
        if (i % 2)
            nap(3);
        MPI_Recv(in.at, nbytes, MPI_BYTE, last, TAG, other, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        received(&in, (size_t)nbytes, (uint64_t)last + 1, "the message");
        buffer_reset(&in);
        MPI_Barrier(job.plain);
        look(other, "the communicator of the messages");
        MPI_Barrier(job.plain);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Cancel(&wild[i]);
        MPI_Wait(&wild[i], &status);
        MPI_Test_cancelled(&status, &cancelled);
        expect(cancelled, "communicator %d has had a message", i);
        look(comms[i], "another communicator");
    }
    expect(buffer_untouched(&none, 0), "a cancelled receive wrote");
    buffer_clear(&out);
    buffer_clear(&in);
    buffer_clear(&none);
    MPI_Comm_free(&other);
    job_result();
}

/* ---- messages as long as what stands for one of a GPU */

/* In another communicator, or in the same one, where a receive has taken the large one. What stands for that is up
 * to 3,568 bytes long: 1,552, and 32 more for each of those that are under way. */
static void pass_alike(size_t nbytes, enum memory kind, MPI_Comm other, bool synchronous)
{
    const uint64_t seed = draw_seed();
    const size_t large = 100000 + nbytes;
    const enum memory to = draw(2) ? MEMORY_HOST : MEMORY_DEVICE;
    struct buffer first, second;
    MPI_Request request;
    MPI_Status status;
    int count = -1;

    job_at("%zu bytes of %s", nbytes, memory_name(kind));
    if (job.rank > 1)
        return;
    if (job.rank == 0) {
        need_filled(&first, MEMORY_DEVICE, large, seed);
        need_filled(&second, kind, nbytes, seed + 1);
        MPI_Isend(first.at, (int)large, MPI_BYTE, 1, TAG, other, &request);
        (synchronous ? MPI_Ssend : MPI_Send)(second.at, (int)nbytes, MPI_BYTE, 1, TAG, messages);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        need_buffer(&first, MEMORY_DEVICE, large);
        if (other == messages)
            MPI_Irecv(first.at, (int)large, MPI_BYTE, 0, TAG, other, &request);
        MPI_Probe(0, TAG, messages, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        is_int(count, (long long)nbytes, "the size that the probe says");
        need_buffer(&second, to, nbytes);
        MPI_Recv(second.at, (int)nbytes, MPI_BYTE, 0, TAG, messages, &status);
        status_says(&status, 0, TAG, nbytes, NULL, "the receive");
        received(&second, nbytes, seed + 1, "the receive");
        if (other != messages)
            MPI_Irecv(first.at, (int)large, MPI_BYTE, 0, TAG, other, &request);
        MPI_Wait(&request, &status);
        status_says(&status, 0, TAG, large, NULL, "the large one");
        received(&first, large, seed, "the large one");
    }
    buffer_clear(&first);
    buffer_clear(&second);
}

static void test_alike(void)
{
    MPI_Comm other;

    MPI_Comm_dup(messages, &other);
    job_test("probes of messages as long as what stands for another one of the same ranks and tag");
    for (size_t nbytes = MIX_LAST; nbytes >= MIX_FIRST; nbytes -= 16) {
        pass_alike(nbytes, nbytes % 48 ? MEMORY_HOST : draw_gpu(), other, false);
        pass_alike(nbytes, MEMORY_HOST, messages, nbytes % 64 == 0);
    }
    job_result();
    MPI_Comm_free(&other);
}

void test_probes(void)
{
    test_alike(); /* before others have sent messages of all these sizes */
    test_sizes();
    test_everybody();
    test_held();
    test_unseen();
}

/* ---- a message as long as what stood for the one before it */

enum { LEAST = 1552, STEP = 32, KINDS = 64 }; /* the lengths of what stands for one of a GPU */

/* Those of host memory that have a length take it from those of a GPU. */
static void take_lengths_but(int kept)
{
    struct buffer buffer;

    need_buffer(&buffer, MEMORY_HOST, MIX_LAST);
    for (int i = 0; i < KINDS && job.rank < 2; i++) {
        if (i == kept)
            continue;
        if (job.rank == 0)
            MPI_Send(buffer.at, LEAST + i * STEP, MPI_BYTE, 1, TAG, messages);
        else
            MPI_Recv(buffer.at, MIX_LAST, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
    }
    buffer_clear(&buffer);
}

/* A part of its own: no message before has taken a length. The receiver has the first one, and its sender has not looked
 * whether it has. */
void test_probes_behind(void)
{
    const size_t large = 100000, nbytes = LEAST + STEP;
    const uint64_t seed = draw_seed();
    struct buffer first, second;
    MPI_Request request;

    job_test("a probe of a message as long as what stood for the one before it");
    need_filled(&first, MEMORY_DEVICE, large, seed);
    if (job.rank == 0)
        MPI_Send(first.at, (int)large, MPI_BYTE, 1, TAG, messages);
    if (job.rank == 1)
        MPI_Recv(first.at, (int)large, MPI_BYTE, 0, TAG, messages, MPI_STATUS_IGNORE);
    MPI_Barrier(job.plain);
    take_lengths_but(1);
    if (job.rank == 0) {
        need_filled(&second, MEMORY_HOST, nbytes, seed + 1);
        MPI_Isend(first.at, (int)large, MPI_BYTE, 1, TAG, messages, &request);
        MPI_Send(second.at, (int)nbytes, MPI_BYTE, 1, TAG, messages);
        nap(100);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        buffer_clear(&second);
    } else if (job.rank == 1) {
        receive_probed(MEMORY_DEVICE, 0, false, 0, large, seed);
        receive_probed(MEMORY_HOST, 1, false, 0, nbytes, seed + 1);
    }
    buffer_clear(&first);
    job_result();
}
