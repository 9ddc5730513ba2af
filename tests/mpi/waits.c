/* Calls of the library while a stream of the application waits for something that comes only
 * after them. For two ranks and more; rank 0 has the stream, rank 1 the other side. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define ROWS 64
#define ROW 16
#define STRIDE 32
#define AREA ((size_t)ROWS * STRIDE)
#define LARGE 300000 /* passes in more than one piece where it is staged */

enum kind { LEGACY, BLOCKING, NON_BLOCKING };
static const char *const kinds[] = {"the legacy stream", "a blocking stream",
                                    "a non-blocking stream"};

static struct buffer rows, large, small;
static MPI_Datatype strided; /* ROWS rows of ROW bytes */
static MPI_Win shared;
static _Atomic int *released; /* of rank 0's stream; both ranks set it */
static atomic_int in_vain;

/* Work that ends when somebody says so, or when nobody has for long. */
static void wait_for_release(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000 && !*released; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    in_vain |= !*released;
}

static struct CUstream_st *make_stream(enum kind kind)
{
    struct CUstream_st *stream = CUDA_LEGACY_STREAM;

    if (kind != LEGACY)
        cuda.cuStreamCreate(&stream, kind == BLOCKING ? 0 : CUDA_STREAM_NON_BLOCKING);
    return stream;
}

static void hold(struct CUstream_st *stream)
{
    cuda.cuLaunchHostFunc(stream, wait_for_release, NULL);
}

static bool is_held(struct CUstream_st *stream)
{
    return cuda.cuStreamQuery(stream) == CUDA_NOT_READY;
}

static void end_stream(struct CUstream_st *stream)
{
    *released = 1;
    cuda.cuStreamSynchronize(stream);
    if (stream != CUDA_LEGACY_STREAM)
        cuda.cuStreamDestroy_v2(stream);
}

__attribute__((format(printf, 1, 2))) static void begin(const char *format, ...)
{
    char name[200];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    job_test("%s", name);
    in_vain = 0;
    if (job.rank == 0)
        *released = 0;
    buffer_reset(&rows);
    buffer_reset(&large);
    buffer_reset(&small);
    job_barrier();
}

static void end(void)
{
    expect(!in_vain, "a call waited for work that waits for it");
    job_result();
}

static void send(const struct buffer *buffer, int n, MPI_Datatype type, int tag)
{
    succeeds(MPI_GPUSend(buffer->at, n, type, !job.rank, tag, MPI_COMM_WORLD), "send, tag %d", tag);
}

static void receive(const struct buffer *buffer, int n, MPI_Datatype type, int tag)
{
    succeeds(MPI_GPURecv(buffer->at, n, type, !job.rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "receive, tag %d", tag);
}

static gpubind_request receive_later(const struct buffer *buffer, int n, MPI_Datatype type, int tag)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;

    succeeds(gpubind_irecv(buffer->at, n, type, !job.rank, tag, MPI_COMM_WORLD, &request),
             "irecv, tag %d", tag);
    return request;
}

static void wait_for(gpubind_request *request)
{
    succeeds(gpubind_wait(request, MPI_STATUS_IGNORE), "wait");
}

/* The rows have the seed's bytes, and nothing lies between them. */
static void compare_rows(uint64_t seed)
{
    char here[AREA], there[AREA];

    bytes_of_seed(there, AREA, seed);
    gpu_get(here, rows.at, AREA);
    for (size_t at = 0; at < AREA; at++)
        if (!expect(here[at] == (at % STRIDE < ROW ? there[at] : here[AREA - 1]), "byte %zu", at))
            break;
}

/* ---- strided receives that are posted while the stream has work */

static void posted(enum kind kind)
{
    struct CUstream_st *stream;
    gpubind_request first, second;

    begin("a strided receive behind %s stops no other one", kinds[kind]);
    if (job.rank == 0) {
        stream = make_stream(kind);
        hold(stream);
        first = receive_later(&rows, 1, strided, 1);
        second = receive_later(&large, LARGE, MPI_BYTE, 2);
        wait_for(&second);
        received(&large, LARGE, 2, "the other one");
        expect(is_held(stream), "it came after the stream's work");
        *released = 1;
        wait_for(&first);
        compare_rows(1);
        end_stream(stream);
    }
    if (job.rank == 1) {
        gpubind_request request;

        buffer_fill(&rows, 0, AREA, 1);
        buffer_fill(&large, 0, LARGE, 2);
        succeeds(gpubind_isend(rows.at, 1, strided, 0, 1, MPI_COMM_WORLD, &request), "isend");
        send(&large, LARGE, MPI_BYTE, 2);
        wait_for(&request);
    }
    end();
}

/* A blocking receive has its message, which it may not take yet. */
static void blocking(enum kind kind)
{
    struct CUstream_st *stream;
    gpubind_request request;

    begin("a blocking receive behind %s stops no other one", kinds[kind]);
    if (job.rank == 0) {
        stream = make_stream(kind);
        request = receive_later(&large, LARGE, MPI_BYTE, 2);
        hold(stream);
        receive(&small, 1000, MPI_BYTE, 1);
        expect(*released, "it did not wait for the stream");
        received(&small, 1000, 1, "the blocking one");
        wait_for(&request);
        received(&large, LARGE, 2, "the other one");
        end_stream(stream);
    }
    if (job.rank == 1) {
        buffer_fill(&small, 0, 1000, 1);
        buffer_fill(&large, 0, LARGE, 2);
        succeeds(gpubind_isend(small.at, 1000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request), "isend");
        send(&large, LARGE, MPI_BYTE, 2); /* until it was received */
        *released = 1;
        wait_for(&request);
    }
    end();
}

static void truncated(void)
{
    struct CUstream_st *stream;
    gpubind_request request;

    begin("a strided receive behind a blocking stream, and too long a message");
    if (job.rank == 0) {
        stream = make_stream(BLOCKING);
        hold(stream);
        request = receive_later(&rows, 1, strided, 1);
        fails(gpubind_wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, NULL, "wait");
        expect(is_held(stream), "the wait came after the stream's work");
        expect(request == GPUBIND_REQUEST_NULL, "there is a request still");
        end_stream(stream);
        expect(buffer_untouched(&rows, 0), "the buffer was written to");
    }
    if (job.rank == 1)
        send(&large, LARGE, MPI_BYTE, 1);
    end();
}

/* The stream waits for a message that its rank asks for only afterwards. */
static void behind_message(void)
{
    struct CUstream_st *stream;
    gpubind_request request;

    begin("a strided receive while a blocking stream waits for a message");
    if (job.rank == 0) {
        stream = make_stream(BLOCKING);
        succeeds(gpubind_recv_on_stream(large.at, LARGE, MPI_BYTE, 1, 1, MPI_COMM_WORLD, stream),
                 "recv_on_stream");
        request = receive_later(&rows, 1, strided, 2);
        send(&small, 0, MPI_BYTE, 3);
        wait_for(&request);
        end_stream(stream);
        received(&large, LARGE, 1, "the stream's");
        compare_rows(2);
    }
    if (job.rank == 1) {
        buffer_fill(&large, 0, LARGE, 1);
        buffer_fill(&rows, 0, AREA, 2);
        receive(&small, 0, MPI_BYTE, 3);
        send(&large, LARGE, MPI_BYTE, 1);
        send(&rows, 1, strided, 2);
    }
    end();
}

/* A start by the host holds a stream of the library's. */
static void behind_start(void)
{
    struct CUstream_st *stream;
    gpubind_request request, persistent = GPUBIND_REQUEST_NULL;

    begin("a strided receive between a start and its message");
    if (job.rank == 0)
        succeeds(gpubind_recv_init(large.at, LARGE, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &persistent),
                 "recv_init");
    if (job.rank == 1)
        succeeds(gpubind_send_init(large.at, LARGE, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &persistent),
                 "send_init");
    if (job.rank < 2) {
        succeeds(gpubind_start(&persistent), "start");
        wait_for(&persistent);
    }
    job_barrier();
    if (job.rank == 0) {
        stream = make_stream(BLOCKING);
        succeeds(gpubind_start(&persistent), "start");
        hold(stream);
        request = receive_later(&rows, 1, strided, 2);
        expect(is_held(stream), "irecv came after the stream's work");
        end_stream(stream);
    }
    job_barrier();
    if (job.rank == 0) {
        wait_for(&request);
        wait_for(&persistent);
        compare_rows(2);
    }
    if (job.rank == 1) {
        buffer_fill(&rows, 0, AREA, 2);
        succeeds(gpubind_start(&persistent), "start");
        wait_for(&persistent);
        send(&rows, 1, strided, 2);
    }
    if (job.rank < 2)
        succeeds(gpubind_request_free(&persistent), "request_free");
    end();
}

/* ---- strided sends */

/* Their sender makes no call until they were received. */
static void sender_elsewhere(enum kind kind)
{
    struct CUstream_st *stream = NULL;
    gpubind_request request;

    begin("a strided send behind %s, and its sender in MPI_Barrier", kinds[kind]);
    if (job.rank == 0) {
        stream = make_stream(kind);
        buffer_fill(&rows, 0, AREA, 1);
        hold(stream);
        succeeds(gpubind_isend(rows.at, 1, strided, 1, 1, MPI_COMM_WORLD, &request), "isend");
        expect(is_held(stream), "isend waited for earlier work");
        send(&small, 0, MPI_BYTE, 2);
    }
    if (job.rank == 1) {
        receive(&small, 0, MPI_BYTE, 2);
        *released = 1;
        receive(&rows, 1, strided, 1);
        compare_rows(1);
    }
    job_barrier();
    if (job.rank == 0) {
        wait_for(&request);
        end_stream(stream);
    }
    end();
}

/* ---- memory that is freed, and mappings that are closed */

enum freeing { A_TYPE, OWN_MEMORY, THEIR_MEMORY };

/* A stream waits for a signal that is sent after a message which the rank receives when it
 * has freed something. */
static void freed(enum freeing what)
{
    static const char *const names[] = {"an irregular type's tables", "memory of gpubind_alloc",
                                        "memory that the other rank has mapped"};
    const int lengths[] = {5, 7, 300}, places[] = {0, 20, 41};
    struct CUstream_st *stream = make_stream(NON_BLOCKING);
    MPI_Datatype irregular;
    gpubind_win win;
    void *memory = NULL;

    begin("%s: freed while a stream waits for a signal", names[what]);
    MPI_Type_indexed(3, lengths, places, MPI_BYTE, &irregular);
    MPI_Type_commit(&irregular);
    succeeds(gpubind_win_allocate(MPI_COMM_WORLD, 1024, 2, &win), "win_allocate");
    if (job.rank < 2)
        succeeds(gpubind_alloc(&memory, LARGE), "alloc");
    if (job.rank == 0) {
        receive(&large, 10, irregular, 1);
        receive(&large, LARGE, MPI_BYTE, 2);
        if (what == A_TYPE)
            MPI_Type_free(&irregular);
        succeeds(gpubind_wait_signal_on_stream(0, 1, win, stream), "wait_signal_on_stream");
        if (what == OWN_MEMORY)
            succeeds(gpubind_free(memory), "free");
        send(&small, 0, MPI_BYTE, 3);
        receive(&large, LARGE, MPI_BYTE, 4);
        expect(is_held(stream), "there was no signal to wait for");
        send(&small, 0, MPI_BYTE, 5);
    }
    if (job.rank == 1) {
        const struct buffer its = {memory, LARGE, MEMORY_OURS};

        send(&large, 10, irregular, 1);
        send(&its, LARGE, MPI_BYTE, 2);
        receive(&small, 0, MPI_BYTE, 3);
        if (what == THEIR_MEMORY)
            succeeds(gpubind_free(memory), "free");
        send(&large, LARGE, MPI_BYTE, 4);
        receive(&small, 0, MPI_BYTE, 5);
        succeeds(gpubind_signal_on_stream(0, 1, 0, win, stream), "signal_on_stream");
    }
    cuda.cuStreamSynchronize(stream);
    cuda.cuStreamDestroy_v2(stream);
    if (job.rank < 2 && what != (job.rank == 0 ? OWN_MEMORY : THEIR_MEMORY))
        succeeds(gpubind_free(memory), "free");
    if (irregular != MPI_DATATYPE_NULL)
        MPI_Type_free(&irregular);
    succeeds(gpubind_win_free(&win), "win_free");
    end();
}

/* ---- */

static void make_all(void)
{
    MPI_Comm node;
    MPI_Aint size;
    int unit;

    need_buffer(&rows, MEMORY_DEVICE, AREA);
    need_buffer(&large, MEMORY_DEVICE, LARGE);
    need_buffer(&small, MEMORY_DEVICE, 1000);
    MPI_Type_vector(ROWS, ROW, STRIDE, MPI_BYTE, &strided);
    MPI_Type_commit(&strided);
    MPI_Comm_split_type(job.plain, MPI_COMM_TYPE_SHARED, job.rank, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(job.rank == 0 ? sizeof *released : 0, 1, MPI_INFO_NULL, node, &released,
                            &shared);
    MPI_Win_shared_query(shared, 0, &size, &unit, &released);
    MPI_Comm_free(&node);
    if (job.rank == 0) /* the library knows the GPU from now on */
        send(&rows, 1, strided, 0);
    if (job.rank == 1)
        receive(&rows, 1, strided, 0);
}

/* `ranks waits [reached]`; reached: receivers need no help of their senders. */
void test_waits(void)
{
    int all_have;

    MPI_Allreduce(&gpu_count, &all_have, 1, MPI_INT, MPI_MIN, job.plain);
    if (!all_have)
        return;
    make_all();
    for (enum kind kind = LEGACY; kind <= NON_BLOCKING; kind++)
        posted(kind);
    for (enum kind kind = LEGACY; kind <= BLOCKING; kind++)
        blocking(kind);
    truncated();
    behind_message();
    behind_start();
    for (enum kind kind = LEGACY; kind <= BLOCKING && nargs > 0; kind++)
        sender_elsewhere(kind);
    for (enum freeing what = A_TYPE; what <= THEIR_MEMORY; what++)
        freed(what);
    MPI_Type_free(&strided);
    MPI_Win_free(&shared);
    buffer_clear(&rows);
    buffer_clear(&large);
    buffer_clear(&small);
}
