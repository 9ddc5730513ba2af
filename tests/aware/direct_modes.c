/* Every way to send a message and every way to receive it, of and into every kind of memory; every type
 * on either side. */
#include "tests/aware/direct_pass.h"

#include <stdlib.h>

static const enum memory kinds[] = {MEMORY_HOST, MEMORY_DEVICE, MEMORY_POOL, MEMORY_MANAGED,
                                    MEMORY_PINNED};
enum { KINDS = sizeof kinds / sizeof *kinds, PAIRS = 8 };

static void test_mode(enum send send)
{
    struct message message;

    job_test("%s to every receive, of and into every kind of memory", send_name(send));
    for (int receive = 0; receive < RECEIVES; receive++)
        for (int i = 0; i < PAIRS; i++) { /* all of them over the receives of a few modes */
            const int k = ((int)send * RECEIVES + receive + i * 9) % (KINDS * KINDS);

            draw_message(&message);
            message.send = send;
            message.receive = (enum receive)receive;
            message.from = kinds[k % KINDS];
            message.to = kinds[k / KINDS];
            pass(&message);
        }
    job_result();
}

/* ---- both at once */

/* Around the ring, of a size of each rank's own, into buffers of the largest of them. */
static void exchange(bool replaces)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;
    size_t sizes[16], most = 0;
    const uint64_t seed = draw_seed();
    const enum shape shape = draw(SHAPES);
    const enum memory to = draw_memory(), from = draw_memory();
    struct place out, in;
    MPI_Status status;

    for (int i = 0; i < job.size; i++) {
        sizes[i] = replaces ? 1 << 16 : draw_size();
        most = sizes[i] > most ? sizes[i] : most;
    }
    job_at("%s, %s", memory_name(from), memory_name(to));
    place_make(&in, to, shape, MPI_BYTE, most);
    if (replaces) {
        place_fill(&in, seed + (uint64_t)job.rank);
        MPI_Sendrecv_replace(in.at, in.layout.count, in.layout.type, next, TAG, last, TAG, messages,
                             &status);
    } else {
        place_make(&out, from, draw(SHAPES), MPI_BYTE, sizes[job.rank]);
        place_fill(&out, seed + (uint64_t)job.rank);
        MPI_Sendrecv(out.at, out.layout.count, out.layout.type, next, TAG, in.at, in.layout.count,
                     in.layout.type, last, TAG, messages, &status);
        place_clear(&out);
    }
    status_says(&status, last, TAG, sizes[last], &in.layout, "the status");
    place_holds(&in, sizes[last], seed + (uint64_t)last, "the exchange");
    place_clear(&in);
}

static void test_exchanges(void)
{
    job_test("MPI_Sendrecv around the ring, of different sizes");
    for (int i = 0; i < 40; i++)
        exchange(false);
    job_result();
    job_test("MPI_Sendrecv_replace around the ring");
    for (int i = 0; i < 40; i++)
        exchange(true);
    job_result();
}

/* ---- nobody */

static void nobody_sent(MPI_Status *status, const struct buffer *buffer, const char *what)
{
    status_is(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, what);
    expect(buffer_untouched(buffer, 0), "%s: the buffer was written to", what);
}

static void receive_of_nobody(const struct buffer *buffer)
{
    const int n = (int)buffer->nbytes;
    MPI_Message matched;
    MPI_Request request;
    MPI_Status status;
    int flag;

    MPI_Recv(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &status);
    nobody_sent(&status, buffer, "MPI_Recv");
    MPI_Irecv(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &request);
    MPI_Wait(&request, &status);
    nobody_sent(&status, buffer, "MPI_Irecv");
    MPI_Recv_init(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &request);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        if (status.MPI_SOURCE == MPI_ANY_SOURCE) /* MPICH's word */
            status.MPI_SOURCE = MPI_PROC_NULL;
        nobody_sent(&status, buffer, "MPI_Recv_init");
    }
    MPI_Request_free(&request);
    MPI_Probe(MPI_PROC_NULL, TAG, messages, &status);
    nobody_sent(&status, buffer, "MPI_Probe");
    MPI_Iprobe(MPI_PROC_NULL, TAG, messages, &flag, &status);
    is_int(flag, 1, "MPI_Iprobe's flag");
    MPI_Mprobe(MPI_PROC_NULL, TAG, messages, &matched, &status);
    is_int(matched == MPI_MESSAGE_NO_PROC, 1, "MPI_Mprobe's message");
    MPI_Mrecv(buffer->at, n, MPI_BYTE, &matched, &status);
    nobody_sent(&status, buffer, "MPI_Mrecv");
    MPI_Improbe(MPI_PROC_NULL, TAG, messages, &flag, &matched, &status);
    is_int(flag, 1, "MPI_Improbe's flag");
    MPI_Imrecv(buffer->at, n, MPI_BYTE, &matched, &request);
    MPI_Wait(&request, &status);
    nobody_sent(&status, buffer, "MPI_Imrecv");
}

static void send_to_nobody(const struct buffer *buffer)
{
    const int n = (int)buffer->nbytes;
    MPI_Request requests[8];

    MPI_Send(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages);
    MPI_Ssend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages);
    MPI_Rsend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages);
    MPI_Bsend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages);
    MPI_Isend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[0]);
    MPI_Issend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[1]);
    MPI_Irsend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[2]);
    MPI_Ibsend(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[3]);
    MPI_Send_init(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[4]);
    MPI_Ssend_init(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[5]);
    MPI_Rsend_init(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[6]);
    MPI_Bsend_init(buffer->at, n, MPI_BYTE, MPI_PROC_NULL, TAG, messages, &requests[7]);
    MPI_Startall(4, requests + 4);
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
    for (int i = 4; i < 8; i++)
        MPI_Request_free(&requests[i]);
}

static void test_nobody(void)
{
    struct buffer buffer;
    MPI_Status status;

    job_test("messages to and from MPI_PROC_NULL");
    for (int k = 0; k < KINDS; k++) {
        job_at("%s", memory_name(kinds[k]));
        need_buffer(&buffer, kinds[k], MIB);
        receive_of_nobody(&buffer);
        send_to_nobody(&buffer);
        MPI_Sendrecv_replace(buffer.at, MIB, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_PROC_NULL, TAG,
                             messages, &status);
        nobody_sent(&status, &buffer, "MPI_Sendrecv_replace");
        buffer_clear(&buffer);
    }
    job_result();
}

void test_modes(void)
{
    attach_room();
    for (int send = 0; send < SENDS; send++)
        test_mode((enum send)send);
    job_test("persistent buffered sends, started again");
    if (restarts_buffered())
        job_result();
    else
        job_skip("this MPI loses such messages of host memory, too");
    test_exchanges();
    test_nobody();
    detach_room();
}

/* ---- types */

static const struct {
    enum memory from, to;
} pairs[] = {{MEMORY_DEVICE, MEMORY_DEVICE},
             {MEMORY_DEVICE, MEMORY_HOST},
             {MEMORY_HOST, MEMORY_DEVICE},
             {MEMORY_POOL, MEMORY_MANAGED}};

static void test_shape(enum shape out)
{
    static const size_t sizes[] = {24, 2400, 65536, 300000, MIB};
    struct message message;
    int size;

    job_test("messages of %s into every type", shape_name(out));
    for (int in = 0; in < SHAPES; in++)
        for (size_t i = 0; i < 4 * (sizeof sizes / sizeof *sizes); i++) {
            draw_message(&message);
            MPI_Type_size(message.element, &size);
            message.n = sizes[i / 4] / (size_t)size;
            message.more = draw(4) ? 0 : message.n / 3 + 1;
            message.out = out;
            message.in = (enum shape)in;
            message.send = draw(SENDS);
            message.receive = draw(RECEIVES);
            message.from = pairs[i % 4].from;
            message.to = pairs[i % 4].to;
            pass(&message);
        }
    job_result();
}

void test_types(void)
{
    attach_room();
    for (int out = 0; out < SHAPES; out++)
        test_shape((enum shape)out);
    detach_room();
}
