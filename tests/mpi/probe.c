/* What comes, before it is received: probe, iprobe, recv_alloc. For two ranks and more;
 * rank 1 sends to rank 0, the others send to it in the last test. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 2400
#define LARGE 300000

static struct buffer device, host;
static int gpus[2]; /* of ranks 0 and 1 */

static void message_is(const struct gpubind_message *message, int source, int tag, int on_gpu,
                       MPI_Datatype type, MPI_Count count, MPI_Count nbytes, const char *what)
{
    expect(message->source == source && message->tag == tag, "%s: from %d, tag %d", what,
           message->source, message->tag);
    expect(!nbytes || message->on_gpu == (on_gpu && gpus[1] > 0), "%s: on_gpu is %d", what,
           message->on_gpu);
    expect(message->type == type, "%s: another type", what);
    expect(message->count == count && message->nbytes == nbytes, "%s: %lld elements, %lld bytes",
           what, (long long)message->count, (long long)message->nbytes);
}

/* What rank 1 sends, rank 0 sees before and receives then. */
static void seen_and_received(const struct buffer *buffer, int count, MPI_Datatype sent,
                              MPI_Datatype type, MPI_Count elements, size_t nbytes,
                              const char *what)
{
    int on_gpu = buffer == &device, flag = 0;
    struct gpubind_message message;
    MPI_Status status;

    job_barrier(); /* the last one was looked for in vain */
    if (job.rank == 1) {
        buffer_fill(buffer, 0, BYTES, 9);
        succeeds(MPI_GPUSend(buffer->at, count, sent, 0, 3, MPI_COMM_WORLD), "send");
    }
    if (job.rank)
        return;
    succeeds(gpubind_probe(1, 3, MPI_COMM_WORLD, &message), "probe");
    message_is(&message, 1, 3, on_gpu, type, elements, (MPI_Count)nbytes, what);
    memset(&message, 0x55, sizeof message);
    succeeds(gpubind_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message), "probe");
    message_is(&message, 1, 3, on_gpu, type, elements, (MPI_Count)nbytes, what);
    succeeds(gpubind_iprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message), "iprobe");
    expect(flag, "%s: probe sees it, iprobe does not", what);
    flag = 1;
    succeeds(gpubind_iprobe(1, 4, MPI_COMM_WORLD, &flag, &message), "iprobe");
    expect(!flag, "%s: iprobe sees a message of another tag", what);
    buffer_reset(&device);
    succeeds(MPI_GPURecv(device.at, BYTES, MPI_BYTE, message.source, message.tag, MPI_COMM_WORLD,
                         &status),
             "receive");
    status_is(&status, 1, 3, (MPI_Count)nbytes, what);
    received(&device, nbytes, 9, what);
    flag = 1;
    succeeds(gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message),
             "iprobe");
    expect(!flag, "%s: iprobe sees it after it was received", what);
}

static void probing(void)
{
    MPI_Datatype three, mixed;
    static const int lengths[] = {2, 1};
    static const MPI_Aint displacements[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};

    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    MPI_Type_create_struct(2, lengths, displacements, parts, &mixed);
    MPI_Type_commit(&mixed);
    job_test("probe and iprobe: kind, type and size, and the message stays");
    seen_and_received(&device, 100, MPI_INT, MPI_INT, 100, 400, "ints on the GPU");
    seen_and_received(&host, 100, MPI_INT, MPI_INT, 100, 400, "ints in host memory");
    seen_and_received(&device, 300, MPI_DOUBLE, MPI_DOUBLE, 300, 2400, "doubles");
    seen_and_received(&device, 50, three, MPI_INT, 150, 600, "threes of ints");
    seen_and_received(&device, 10, mixed, MPI_BYTE, 160, 160, "ints and doubles");
    seen_and_received(&device, 0, MPI_INT, MPI_INT, 0, 0, "nothing");
    job_result();
    MPI_Type_free(&three);
    MPI_Type_free(&mixed);
}

static void nothing_comes(void)
{
    struct gpubind_message message;
    gpubind_request request;
    int flag = 1;

    job_test("iprobe without a message; a posted receive hides what it takes");
    for (int i = 0; i < 100; i++) {
        flag = 1;
        succeeds(gpubind_iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message),
                 "iprobe");
        expect(!flag, "a message that nobody sent");
    }
    if (job.rank == 0)
        succeeds(gpubind_irecv(device.at, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request),
                 "irecv");
    job_barrier();
    if (job.rank == 1) {
        succeeds(MPI_GPUSend(device.at, 10, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
        succeeds(MPI_GPUSend(device.at, 20, MPI_BYTE, 0, 2, MPI_COMM_WORLD), "send");
    }
    if (job.rank == 0) {
        succeeds(gpubind_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message), "probe");
        is_int(message.tag, 2, "the tag that probe sees");
        is_int(message.nbytes, 20, "the size that probe sees");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        succeeds(MPI_GPURecv(device.at, BYTES, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
    }
    job_result();
}

/* Probed while its sender waits: beyond the eager size, by polling. */
static void large_one(void)
{
    struct gpubind_message message;
    struct buffer large;
    int flag = 0;

    job_test("iprobe until a large message comes");
    need_filled(&large, MEMORY_DEVICE, LARGE, 15);
    if (job.rank == 1)
        succeeds(MPI_GPUSend(large.at, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
    if (job.rank == 0) {
        while (!flag)
            if (!succeeds(gpubind_iprobe(1, 1, MPI_COMM_WORLD, &flag, &message), "iprobe"))
                break;
        is_int(message.nbytes, LARGE, "nbytes");
        buffer_reset(&large);
        succeeds(MPI_GPURecv(large.at, LARGE, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&large, LARGE, 15, "receive");
    }
    buffer_clear(&large);
    job_result();
}

/* The bytes at an address that the library made. */
static bool holds(const void *at, size_t nbytes, uint64_t seed)
{
    const struct buffer view = {(char *)(uintptr_t)at, nbytes, MEMORY_OURS};

    return buffer_holds(&view, 0, nbytes, seed, NULL);
}

static size_t size_of(int rank, int i)
{
    static const size_t sizes[] = {1, 5000, 0, 300000, 64, 65536, 70001};

    return sizes[(rank + i) % 7];
}

static void allocated(void)
{
    const int each = 7;
    struct gpubind_message message;
    struct buffer out;

    job_test("recv_alloc: messages of unknown size from anyone");
    if (!gpus[0]) {
        job_skip("no GPU to allocate on");
        return;
    }
    need_buffer(&out, MEMORY_DEVICE, LARGE);
    for (int i = 0; i < each && job.rank; i++) {
        const struct buffer *from = i % 2 && i != 5 ? &host : &out;
        size_t nbytes = size_of(job.rank, i);

        if (nbytes > from->nbytes)
            from = &out;
        buffer_fill(from, 0, nbytes, (uint64_t)job.rank * 100 + (uint64_t)i);
        succeeds(MPI_GPUSend(from->at, (int)nbytes, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send");
    }
    for (int n = 0; n < each * (job.size - 1) && job.rank == 0; n++) {
        void *at = &message;

        memset(&message, 0x55, sizeof message);
        if (!succeeds(
                gpubind_recv_alloc(&at, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message),
                "recv_alloc"))
            break;
        if (!expect(message.source > 0 && message.source < job.size && message.tag >= 0 &&
                        message.tag < each,
                    "from rank %d, tag %d", message.source, message.tag))
            break;
        is_int(message.nbytes, (long long)size_of(message.source, message.tag), "nbytes");
        if (message.nbytes == 0) {
            expect(!at, "an empty message has memory");
        } else if (expect(at != NULL, "no memory")) {
            expect(gpu_owns(at), "the memory is not a GPU's");
            expect(holds(at, (size_t)message.nbytes,
                         (uint64_t)message.source * 100 + (uint64_t)message.tag),
                   "wrong bytes from rank %d, tag %d", message.source, message.tag);
        }
        succeeds(gpubind_free(at), "free");
    }
    buffer_clear(&out);
    job_result();
}

static void without_description(void)
{
    void *at = NULL;

    job_test("recv_alloc whose caller wants no description, sent on from there");
    if (!gpus[0]) {
        job_skip("no GPU to allocate on");
        return;
    }
    if (job.rank == 1) {
        buffer_fill(&device, 0, 1000, 33);
        succeeds(MPI_GPUSend(device.at, 1000, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "send");
        buffer_reset(&device);
        succeeds(MPI_GPURecv(device.at, 1000, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&device, 1000, 33, "receive");
    }
    if (job.rank == 0) {
        succeeds(gpubind_recv_alloc(&at, 1, 1, MPI_COMM_WORLD, NULL), "recv_alloc");
        succeeds(MPI_GPUSend(at, 1000, MPI_BYTE, 1, 2, MPI_COMM_WORLD), "send");
        succeeds(gpubind_free(at), "free");
        succeeds(gpubind_free(NULL), "free of NULL");
    }
    job_result();
}

void test_probe(void)
{
    need_buffer(&device, MEMORY_DEVICE, BYTES);
    need_buffer(&host, MEMORY_HOST, LARGE);
    for (int rank = 0; rank < 2; rank++) {
        gpus[rank] = gpu_count;
        MPI_Bcast(&gpus[rank], 1, MPI_INT, rank, job.plain);
    }
    probing();
    nothing_comes();
    large_one();
    allocated();
    without_description();
    buffer_clear(&device);
    buffer_clear(&host);
}
