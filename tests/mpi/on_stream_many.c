/* What streams take by themselves is bounded, and no call waits for what the application is to do later: many small
 * receives before their messages, eager buffers of a rank that still has to send, memory that is freed at once. */
#include "tests/mpi/on_stream.h"
#include "tests/mpi/tests.h"

enum { SMALL = 64, MANY = 600, LARGE = 1 << 20, PIECE = 20000, ALLOCATION = 32 << 20, TURNS = 60 };

static struct CUstream_st *stream;
static struct buffer small, large;
static const struct buffer *const both[] = {&small, &large};

static char *piece(int i)
{
    return small.at + (size_t)i * SMALL;
}

/* To the other rank, without the library: it makes no progress here meanwhile. */
static void tell(void)
{
    PMPI_Send(NULL, 0, MPI_BYTE, 1 - job.rank, 0, job.plain);
}

static void hear(void)
{
    PMPI_Recv(NULL, 0, MPI_BYTE, 1 - job.rank, 0, job.plain, MPI_STATUS_IGNORE);
}

/* Rank 0 sends, rank 1 receives. */
static void begin(void)
{
    for (int i = 0; i < 2; i++) {
        buffer_reset(both[i]);
        if (job.rank == 0)
            buffer_fill(both[i], 0, both[i]->nbytes, 7);
    }
    job_barrier();
}

static void send_pieces(int n)
{
    for (int i = 0; i < n; i++)
        succeeds(gpubind_send_on_stream(piece(i), SMALL, MPI_BYTE, 1, 0, MPI_COMM_WORLD, stream),
                 "send_on_stream %d", i);
}

static void receive_pieces(int n, bool waits)
{
    for (int i = 0; i < n; i++)
        succeeds((waits ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                     piece(i), SMALL, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream),
                 "receive %d on the stream", i);
}

static void check_pieces(int n)
{
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
    stream_ends(stream);
    expect(job.rank == 0 || buffer_holds(&small, 0, (size_t)n * SMALL, 7, NULL),
           "%d messages have other bytes", n);
}

/* All calls return before the first message is sent. */
static void receives_before(int n, bool waits)
{
    job_test("%d small %sreceives before their messages", n, waits ? "" : "nonblocking ");
    begin();
    if (job.rank == 1) {
        receive_pieces(n, waits);
        if (!waits)
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
        tell();
    } else {
        hear();
        send_pieces(n);
    }
    check_pieces(n);
    job_result();
}

/* Both hosts are ahead of their streams: the receives of many a window are called before the last is over. */
static void windows_ahead(int n, int window)
{
    job_test("%d windows of %d small messages and a reply, queued ahead", n, window);
    begin();
    for (int i = 0; i < n * window; i++) {
        const bool last = (i + 1) % window == 0;

        if (job.rank == 0)
            succeeds(
                gpubind_isend_on_stream(piece(i), SMALL, MPI_BYTE, 1, 0, MPI_COMM_WORLD, stream),
                "isend_on_stream %d", i);
        else
            succeeds(
                gpubind_irecv_on_stream(piece(i), SMALL, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream),
                "irecv_on_stream %d", i);
        if (last)
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
        if (last && job.rank == 0)
            succeeds(gpubind_recv_on_stream(large.at, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, stream),
                     "the reply");
        else if (last)
            succeeds(gpubind_send_on_stream(large.at, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD, stream),
                     "the reply");
    }
    check_pieces(n * window);
    job_result();
}

/* Small sends end without their receives, whatever the receiver's streams have taken and no quiet has put in. */
static void eager_buffers(void)
{
    job_test("a small send while %d messages wait for a quiet", MANY);
    begin();
    for (int done = 0; done < MANY; done += 100) {
        if (job.rank == 0)
            for (int i = done; i < done + 100; i++)
                succeeds(
                    gpubind_send_on_stream(piece(i), SMALL, MPI_BYTE, 1, 0, MPI_COMM_WORLD, stream),
                    "send_on_stream %d", i);
        job_barrier();
        if (job.rank == 1)
            for (int i = done; i < done + 100; i++)
                succeeds(gpubind_irecv_on_stream(piece(i), SMALL, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                                                 stream),
                         "irecv_on_stream %d", i);
        job_barrier();
    }
    if (job.rank == 0) {
        succeeds(MPI_GPUSend(large.at, SMALL, MPI_BYTE, 1, 1, MPI_COMM_WORLD), "a small send");
        tell();
    } else {
        hear();
        succeeds(MPI_GPURecv(large.at, SMALL, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "its receive");
    }
    check_pieces(MANY);
    job_result();
}

/* One that goes over its channel, and one that does not, as host memory has none. */
static void starts_beside(int n)
{
    const int other = 1 - job.rank;
    gpubind_request requests[2];
    static char host[LARGE];

    job_test("%d small receives that no quiet has put in, and persistent requests", n);
    begin();
    for (int i = 0; i < 2; i++) {
        char *at = i ? host : large.at;

        succeeds(job.rank == 0 ? gpubind_send_init(at, LARGE, MPI_BYTE, other, 3 + i,
                                                   MPI_COMM_WORLD, &requests[i])
                               : gpubind_recv_init(at, LARGE, MPI_BYTE, other, 3 + i,
                                                   MPI_COMM_WORLD, &requests[i]),
                 "init");
    }
    for (int turn = 0; turn < 2; turn++) {
        if (turn == 1 && job.rank == 1)
            receive_pieces(n, false);
        job_barrier();
        if (turn == 1 && job.rank == 0)
            send_pieces(n);
        succeeds(gpubind_startall_on_stream(2, requests, stream), "startall_on_stream");
        succeeds(gpubind_quiet_on_stream(stream), "quiet");
        stream_ends(stream);
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    check_pieces(n);
    for (int i = 0; i < 2; i++)
        succeeds(gpubind_request_free(&requests[i]), "free");
    job_result();
}

/* The receiver's stream needs nothing of the sender, where it can map the sender's memory. */
static void without_sender(void)
{
    gpubind_request request;

    job_test("a small message of no stream, whose sender waits elsewhere");
    begin();
    if (job.rank == 1)
        receive_pieces(1, true);
    job_barrier();
    if (job.rank == 0) {
        succeeds(gpubind_isend(piece(0), SMALL, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request), "isend");
        hear();
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    } else {
        stream_ends(stream);
        tell();
    }
    check_pieces(1);
    job_result();
}

/* The other rank has mapped it, and closes its mapping: else there is no memory after some turns. */
static void freed_memory(bool sends)
{
    const bool frees = sends == (job.rank == 0);
    void *at = large.at;

    job_test("memory that was %s is freed when the stream has ended",
             sends ? "sent" : "received into");
    for (int turn = 0; turn < TURNS && job_faults() == 0; turn++) {
        if (frees)
            succeeds(gpubind_alloc(&at, ALLOCATION), "alloc, turn %d", turn);
        job_barrier();
        if (job.rank == 0)
            succeeds(gpubind_send_on_stream(at, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, stream),
                     "send_on_stream");
        else
            succeeds(gpubind_recv_on_stream(at, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream),
                     "recv_on_stream");
        job_barrier();
        stream_ends(stream);
        if (frees)
            succeeds(gpubind_free(at), "free");
        job_barrier();
    }
    job_result();
}

enum late { IN_TIME, AFTER_SENDS, IN_STREAM, WITHOUT_STREAM, WAYS };

static void receive_large(int n, enum late way)
{
    static const char call[] = "receive %d of large ones, way %d";

    for (int i = 0; i < n; i++) {
        char *at = large.at + (size_t)i * PIECE;

        if (way == WITHOUT_STREAM)
            succeeds(MPI_GPURecv(at, PIECE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     call, i, way);
        else
            succeeds((way == IN_STREAM ? gpubind_recv_on_stream : gpubind_irecv_on_stream)(
                         at, PIECE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, stream),
                     call, i, way);
    }
}

static void send_large(int n)
{
    for (int i = 0; i < n; i++)
        succeeds(gpubind_isend_on_stream(large.at + (size_t)i * PIECE, PIECE, MPI_BYTE, 1, 0,
                                         MPI_COMM_WORLD, stream),
                 "isend_on_stream %d", i);
    succeeds(gpubind_quiet_on_stream(stream), "quiet");
}

/* A later quiet, when some of the messages have been received, lets no earlier one go. */
static void quiet_again(int n)
{
    job_test("a quiet behind %d large sends, and another when one of them is over", n);
    begin();
    if (job.rank == 0) {
        send_large(n);
        cuda.cuMemsetD8Async(address_of(&large), 0xee, (size_t)n * PIECE, stream);
        tell();
        hear();
        succeeds(gpubind_quiet_on_stream(stream), "quiet again");
        tell();
    } else {
        hear();
        receive_large(1, WITHOUT_STREAM);
        tell();
        hear();
        for (int i = 1; i < n; i++)
            succeeds(MPI_GPURecv(large.at + (size_t)i * PIECE, PIECE, MPI_BYTE, 0, 0,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive %d", i);
    }
    stream_ends(stream);
    expect(job.rank == 0 || buffer_holds(&large, 0, (size_t)n * PIECE, 7, NULL), "other bytes");
    job_result();
}

/* Of a request that is started on a stream and received otherwise. */
static void receive_started(void)
{
    succeeds(MPI_GPURecv(small.at, SMALL, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "receive");
}

static void end_start(gpubind_request *request)
{
    stream_ends(stream);
    succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
}

/* A start does not wait for the sends before it, however many quiets wait for these. The first one asks the other
 * rank how it receives. */
static void start_behind_quiets(void)
{
    gpubind_request request;

    job_test("a persistent start behind two quiets of 16 large sends");
    begin();
    if (job.rank == 0) {
        succeeds(gpubind_send_init(small.at, SMALL, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request),
                 "init");
        succeeds(gpubind_startall_on_stream(1, &request, stream), "the first start");
        end_start(&request);
        send_large(16);
        send_large(16);
        succeeds(gpubind_startall_on_stream(1, &request, stream), "start");
        tell();
        end_start(&request);
        succeeds(gpubind_request_free(&request), "free");
    } else {
        receive_started();
        hear();
        receive_large(16, WITHOUT_STREAM);
        receive_large(16, WITHOUT_STREAM);
        receive_started();
    }
    job_result();
}

/* Behind the quiet the sender's stream overwrites what it has sent, whoever receives it how. */
static void overwritten(int n)
{
    job_test("%d large nonblocking sends, and a stream that overwrites their memory behind a quiet",
             n);
    for (int way = 0; way < WAYS; way++) {
        begin();
        if (job.rank == 0) {
            send_large(n);
            cuda.cuMemsetD8Async(address_of(&large), 0xee, (size_t)n * PIECE, stream);
            if (way != IN_TIME)
                tell();
        } else {
            if (way != IN_TIME)
                hear();
            receive_large(n, (enum late)way);
            succeeds(gpubind_quiet_on_stream(stream), "quiet");
        }
        stream_ends(stream);
        expect(job.rank == 0 || buffer_holds(&large, 0, (size_t)n * PIECE, 7, NULL),
               "other bytes, way %d", way);
    }
    job_result();
}

/* `ranks on_stream_many [mapped]`: mapped: the ranks map each other's memory. */
void test_on_stream_many(void)
{
    const bool mapped = nargs > 0;

    if (cuda.cuStreamCreate(&stream, 1))
        MPI_Abort(MPI_COMM_WORLD, 2);
    need_buffer(&small, MEMORY_DEVICE, (size_t)MANY * SMALL);
    need_buffer(&large, MEMORY_DEVICE, LARGE);
    receives_before(1, false);
    receives_before(300, false);
    receives_before(250, true);
    windows_ahead(4, 64);
    windows_ahead(60, 10);
    eager_buffers();
    starts_beside(30);
    starts_beside(200);
    overwritten(1);
    overwritten(16);
    overwritten(40);
    quiet_again(16);
    quiet_again(17);
    start_behind_quiets();
    if (mapped) {
        without_sender();
        freed_memory(true);
        freed_memory(false);
    }
    buffer_clear(&small);
    buffer_clear(&large);
    cuda.cuStreamDestroy_v2(stream);
}
