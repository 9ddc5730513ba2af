/* Messages that are taken before they are received, and sends that what comes replaces. For two
 * ranks and more; rank 1 sends to rank 0. */
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define LARGEST 2000000

static const int sizes[] = {0, 8, 5000, 70001, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static struct buffer outs[2], ins[2]; /* in host memory and on the GPU */

static int nothing_there(int tag)
{
    struct gpubind_message message;
    int flag = 1;

    succeeds(gpubind_iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &message), "iprobe");
    return !flag;
}

/* Two messages with one tag: the first is taken, what is posted then gets the second. */
static void taken(const struct buffer *out, const struct buffer *in, int nbytes, bool wait)
{
    struct gpubind_message message;
    gpubind_matched matched = GPUBIND_MATCHED_NULL;
    gpubind_request requests[2];
    MPI_Status status;
    int flag = 0;

    job_barrier(); /* the messages of the next time come when this one was looked at */
    if (job.rank == 1) {
        buffer_fill(out, 0, (size_t)nbytes, 31);
        succeeds(gpubind_isend(out->at, nbytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[0]),
                 "isend");
        succeeds(gpubind_issend(out->at, 0, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[1]),
                 "issend");
        succeeds(gpubind_waitall(2, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    if (job.rank != 0)
        return;
    buffer_reset(in);
    if (wait)
        succeeds(gpubind_mprobe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &matched, &message), "mprobe");
    while (!wait && !flag)
        if (!succeeds(gpubind_improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &matched, &message),
                      "improbe"))
            break;
    expect(message.source == 1 && message.tag == 3 && message.nbytes == nbytes,
           "taken: %lld bytes from rank %d with tag %d", (long long)message.nbytes, message.source,
           message.tag);
    succeeds(MPI_GPURecv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status),
             "the second");
    status_is(&status, 1, 3, 0, "the second");
    expect(nothing_there(3), "a probe sees what was taken");
    if (wait) {
        succeeds(gpubind_mrecv(in->at, LARGEST, MPI_BYTE, &matched, &status), "mrecv");
    } else {
        succeeds(gpubind_imrecv(in->at, LARGEST, MPI_BYTE, &matched, &requests[0]), "imrecv");
        expect(matched == GPUBIND_MATCHED_NULL, "the message is left");
        succeeds(gpubind_wait(&requests[0], &status), "wait");
    }
    expect(matched == GPUBIND_MATCHED_NULL, "the message is left");
    status_is(&status, 1, 3, nbytes, "the first");
    received(in, (size_t)nbytes, 31, "the first");
}

static void nobody_and_nothing(void)
{
    gpubind_matched matched = GPUBIND_MATCHED_NULL, other;
    gpubind_request request;
    MPI_Status status;
    int flag = 1;

    job_test("messages of nobody, none, and ones that were received");
    succeeds(gpubind_improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &matched, NULL),
             "improbe");
    expect(!flag && matched == GPUBIND_MATCHED_NULL, "something was taken");
    fails(gpubind_mrecv(ins[0].at, 1, MPI_BYTE, &matched, MPI_STATUS_IGNORE), MPI_ERR_REQUEST,
          "NULL", "mrecv of none");
    fails(gpubind_imrecv(ins[0].at, 1, MPI_BYTE, &matched, &request), MPI_ERR_REQUEST, "NULL",
          "imrecv of none");
    succeeds(gpubind_mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &matched, NULL), "mprobe of nobody");
    expect(matched == GPUBIND_MATCHED_NO_PROC, "a message of nobody is one");
    buffer_reset(&ins[0]);
    succeeds(gpubind_mrecv(ins[0].at, 10, MPI_BYTE, &matched, &status), "mrecv of nobody");
    status_is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "mrecv of nobody");
    expect(matched == GPUBIND_MATCHED_NULL, "the message of nobody is left");
    succeeds(gpubind_improbe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &matched, NULL), "improbe");
    expect(flag && matched == GPUBIND_MATCHED_NO_PROC, "a message of nobody is one");
    succeeds(gpubind_imrecv_c(ins[0].at, 10, MPI_BYTE, &matched, &request), "imrecv of nobody");
    succeeds(gpubind_wait(&request, &status), "wait");
    status_is(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "imrecv of nobody");
    expect(buffer_untouched(&ins[0], 0), "nobody has sent something");
    fails(gpubind_mprobe(job.size, 0, MPI_COMM_WORLD, &matched, NULL), MPI_ERR_RANK, NULL,
          "mprobe of a rank that is not");
    fails(gpubind_mprobe(0, -7, MPI_COMM_WORLD, &matched, NULL), MPI_ERR_TAG, "-7",
          "mprobe of a tag that is not");
    job_result();

    job_test("a failed mrecv leaves the message; a short one takes it; twice is an error");
    if (job.rank == 1) {
        buffer_fill(&outs[1], 0, 5000, 32);
        for (int i = 0; i < 2; i++)
            succeeds(MPI_GPUSend(outs[1].at, 5000, MPI_BYTE, 0, i, MPI_COMM_WORLD), "send");
    }
    if (job.rank == 0) {
        succeeds(gpubind_mprobe(1, 0, MPI_COMM_WORLD, &matched, NULL), "mprobe");
        other = matched;
        fails(gpubind_mrecv(ins[1].at, -1, MPI_BYTE, &matched, &status), MPI_ERR_COUNT, "-1",
              "mrecv of less than nothing");
        expect(matched == other, "a failed mrecv takes the message");
        fails(gpubind_mrecv_c(ins[1].at, 50, MPI_BYTE, &matched, &status), MPI_ERR_TRUNCATE, "5000",
              "mrecv with too little room");
        expect(matched == GPUBIND_MATCHED_NULL, "the message is left");
        fails(gpubind_mrecv(ins[1].at, 5000, MPI_BYTE, &other, &status), MPI_ERR_REQUEST,
              "received already", "mrecv again");
        buffer_reset(&ins[1]);
        succeeds(MPI_GPURecv(ins[1].at, 5000, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &status), "receive");
        received(&ins[1], 5000, 32, "the next message");
    }
    job_result();
}

/* Its communicator goes between the two. */
static void comm_freed(void)
{
    gpubind_matched matched = GPUBIND_MATCHED_NULL;
    gpubind_request request = GPUBIND_REQUEST_NULL;
    MPI_Comm comm;

    job_test("a message that was taken outlives MPI_Comm_free");
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (job.rank == 1) {
        buffer_fill(&outs[1], 0, 70001, 33);
        succeeds(gpubind_isend(outs[1].at, 70001, MPI_BYTE, 0, 1, comm, &request), "isend");
    }
    if (job.rank == 0)
        succeeds(gpubind_mprobe(1, 1, comm, &matched, NULL), "mprobe");
    MPI_Comm_free(&comm);
    if (job.rank == 0) {
        buffer_reset(&ins[1]);
        succeeds(gpubind_mrecv(ins[1].at, 70001, MPI_BYTE, &matched, MPI_STATUS_IGNORE), "mrecv");
        received(&ins[1], 70001, 33, "mrecv");
    }
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    job_result();
}

/* Around all ranks; strided: every other 8 bytes. */
static void replaced(const struct buffer *buffer, int nbytes, bool strided)
{
    const int left = (job.rank + job.size - 1) % job.size, right = (job.rank + 1) % job.size;
    const size_t all = (size_t)nbytes;
    static char before[LARGEST], now[LARGEST], theirs[LARGEST];
    MPI_Datatype type;
    MPI_Status status;
    int size;

    MPI_Type_vector(strided ? nbytes / 16 : nbytes, 1, strided ? 2 : 1,
                    strided ? MPI_DOUBLE : MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    buffer_reset(buffer);
    buffer_fill(buffer, 0, all, (uint64_t)job.rank);
    bytes_of_seed(before, all, (uint64_t)job.rank);
    bytes_of_seed(theirs, all, (uint64_t)left);
    succeeds(
        gpubind_sendrecv_replace(buffer->at, 1, type, right, 4, left, 4, MPI_COMM_WORLD, &status),
        "sendrecv_replace");
    status_is(&status, left, 4, size, "sendrecv_replace");
    gpu_get(now, buffer->at, all);
    for (size_t i = 0; i < all; i++) {
        const bool moved = strided ? i % 16 < 8 && i < all / 16 * 16 : true;

        if (!expect(now[i] == (moved ? theirs : before)[i], "byte %zu of %zu in %s", i, all,
                    memory_name(buffer->kind)))
            break;
    }
    expect(buffer_untouched(buffer, all), "written too far");
    MPI_Type_free(&type);
}

static void replaced_at_an_end(void)
{
    const int right = job.rank + 1 < job.size ? job.rank + 1 : MPI_PROC_NULL;
    const int left = job.rank > 0 ? job.rank - 1 : MPI_PROC_NULL;
    MPI_Status status;

    job_test("sendrecv_replace along a line, with itself, and with too little room");
    buffer_reset(&outs[1]);
    buffer_fill(&outs[1], 0, 5000, (uint64_t)job.rank);
    succeeds(gpubind_sendrecv_replace_c(outs[1].at, 5000, MPI_BYTE, right, 1, left, 1,
                                        MPI_COMM_WORLD, &status),
             "along a line");
    status_is(&status, left, left == MPI_PROC_NULL ? MPI_ANY_TAG : 1,
              left == MPI_PROC_NULL ? 0 : 5000, "along a line");
    received(&outs[1], 5000, (uint64_t)(left == MPI_PROC_NULL ? job.rank : left), "along a line");
    succeeds(gpubind_sendrecv_replace(outs[1].at, 5000, MPI_BYTE, 0, 1, 0, MPI_ANY_TAG,
                                      MPI_COMM_SELF, &status),
             "with itself");
    received(&outs[1], 5000, (uint64_t)(left == MPI_PROC_NULL ? job.rank : left), "with itself");
    succeeds(gpubind_sendrecv_replace(NULL, 0, MPI_BYTE, 0, 1, 0, 1, MPI_COMM_SELF, &status),
             "nothing");
    fails(gpubind_sendrecv_replace(outs[1].at, -1, MPI_BYTE, 0, 1, 0, 1, MPI_COMM_WORLD, &status),
          MPI_ERR_COUNT, "-1", "less than nothing");
    fails(gpubind_sendrecv_replace(outs[1].at, 1, MPI_BYTE, 4711, 1, 0, 1, MPI_COMM_WORLD, &status),
          MPI_ERR_RANK, "4711", "to a rank that is not");
    job_result();
}

void test_matched(void)
{
    for (int kind = 0; kind < 2; kind++) {
        need_buffer(&outs[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
        need_buffer(&ins[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, LARGEST);
    }
    for (int wait = 0; wait < 2; wait++) {
        job_test("%s: nobody else gets the message", wait ? "mprobe, mrecv" : "improbe, imrecv");
        for (int way = 0; way < 4; way++)
            for (int i = 0; i < SIZES; i++)
                taken(&outs[way / 2], &ins[way % 2], sizes[i], wait);
        job_result();
    }
    nobody_and_nothing();
    comm_freed();
    for (int strided = 0; strided < 2; strided++) {
        job_test("sendrecv_replace around all ranks%s", strided ? ", strided" : "");
        for (int kind = 0; kind < 2; kind++)
            for (int i = strided; i < SIZES; i++)
                replaced(&outs[kind], sizes[i], strided);
        job_result();
    }
    replaced_at_an_end();
    for (int kind = 0; kind < 2; kind++) {
        buffer_clear(&outs[kind]);
        buffer_clear(&ins[kind]);
    }
}
