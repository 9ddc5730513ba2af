/* Datatypes and what the status says of them; MPI_PROC_NULL; empty messages. For two
 * ranks and more: the first sends to the second. */
#include <stddef.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 4800

static struct buffer out, in;

/* Rank 0 sends count of type, rank 1 receives room of into. Returns what the receive
 * says, and MPI_SUCCESS on the others. */
static int pass(int count, MPI_Datatype type, int room, MPI_Datatype into, MPI_Status *status)
{
    int result = MPI_SUCCESS;

    buffer_fill(&out, 0, BYTES, 11);
    buffer_reset(&in);
    if (job.rank == 0)
        succeeds(MPI_GPUSend(out.at, count, type, 1, 5, MPI_COMM_WORLD), "send");
    if (job.rank == 1)
        result = MPI_GPURecv(in.at, room, into, 0, 5, MPI_COMM_WORLD, status);
    return result;
}

static void counted(int count, MPI_Datatype type, int room, MPI_Datatype into, int wanted,
                    size_t nbytes, const char *what)
{
    MPI_Status status;
    int got;

    if (!succeeds(pass(count, type, room, into, &status), "%s", what) || job.rank != 1)
        return;
    status_is(&status, 0, 5, (MPI_Count)nbytes, what);
    MPI_Get_count(&status, into, &got);
    is_int(got, wanted, what);
    received(&in, nbytes, 11, what);
}

static MPI_Datatype contiguous(int count, MPI_Datatype of)
{
    MPI_Datatype type;

    MPI_Type_contiguous(count, of, &type);
    MPI_Type_commit(&type);
    return type;
}

static void predefined(void)
{
    static const struct {
        MPI_Datatype type;
        int size;
        const char *name;
    } types[] = {
        {MPI_INT, sizeof(int), "int"},
        {MPI_DOUBLE, sizeof(double), "double"},
        {MPI_FLOAT, sizeof(float), "float"},
        {MPI_CHAR, 1, "char"},
        {MPI_LONG, sizeof(long), "long"},
        {MPI_SHORT, sizeof(short), "short"},
        {MPI_UINT64_T, 8, "uint64_t"},
        {MPI_C_DOUBLE_COMPLEX, 16, "double complex"},
        {MPI_LONG_LONG, sizeof(long long), "long long"},
    };

    job_test("predefined types: count, bytes, room to spare");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        counted(100, types[i].type, 100, types[i].type, 100, 100 * (size_t)types[i].size,
                types[i].name);
        counted(3, types[i].type, 200, types[i].type, 3, 3 * (size_t)types[i].size, types[i].name);
    }
    job_result();
}

static void derived(void)
{
    MPI_Datatype three = contiguous(3, MPI_INT), six = contiguous(2, three);
    MPI_Datatype none = contiguous(0, MPI_INT);
    MPI_Status status;
    MPI_Count elements = -1;
    int count = 0;

    job_test("contiguous derived types");
    counted(10, three, 10, three, 10, 120, "three to three");
    counted(10, three, 60, MPI_INT, 30, 120, "three to int");
    counted(30, MPI_INT, 20, three, 10, 120, "int to three");
    counted(5, six, 20, three, 10, 120, "six to three");
    counted(100, none, 100, none, 0, 0, "a type without bytes");
    job_result();

    job_test("a receive that ends within an element of its type");
    succeeds(pass(4, MPI_INT, 10, three, &status), "4 ints into threes");
    if (job.rank == 1) {
        MPI_Get_count(&status, three, &count);
        is_int(count, MPI_UNDEFINED, "MPI_Get_count");
        MPI_Get_elements_x(&status, three, &elements);
        is_int(elements, 4, "MPI_Get_elements");
        received(&in, 16, 11, "4 ints");
    }
    job_result();
    MPI_Type_free(&three);
    MPI_Type_free(&six);
    MPI_Type_free(&none);
}

/* A type that is not simply bytes from the buffer's start on: its data must come right,
 * or the call that names it must refuse it. offset: where the one int of an element of
 * 16 bytes lies. */
static void right_or_refused(MPI_Datatype type, const int ints[4], int n, const char *what)
{
    int source[4], arrived[4] = {0}, sent = MPI_SUCCESS;

    job_test("%s: right, or refused", what);
    MPI_Type_commit(&type);
    buffer_fill(&out, 0, BYTES, 11);
    buffer_reset(&in);
    gpu_get(source, out.at, sizeof source);
    if (job.rank == 0)
        sent = MPI_GPUSend(out.at, 1, type, 1, 6, MPI_COMM_WORLD);
    MPI_Bcast(&sent, 1, MPI_INT, 0, job.plain);
    if (sent != MPI_SUCCESS && job.rank == 0)
        fails(sent, MPI_ERR_TYPE, NULL, "send");
    if (sent == MPI_SUCCESS && job.rank == 1) {
        succeeds(MPI_GPURecv(in.at, 4, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "recv");
        gpu_get(arrived, in.at, sizeof arrived);
        for (int i = 0; i < n; i++)
            expect(arrived[i] == source[ints[i]], "int %d is not int %d of the buffer", i, ints[i]);
        expect(buffer_untouched(&in, (size_t)n * sizeof(int)), "written too far");
    }
    MPI_Type_free(&type);
    job_result();
}

static void not_contiguous(void)
{
    static const int ones[] = {1, 1};
    static const MPI_Aint swapped[] = {4, 0}, later[] = {8, 12};
    MPI_Datatype type, part;

    MPI_Type_create_hindexed(2, ones, swapped, MPI_INT, &type);
    right_or_refused(type, (int[4]){1, 0}, 2, "two ints in the other order");
    MPI_Type_create_hindexed(2, ones, later, MPI_INT, &type);
    right_or_refused(type, (int[4]){2, 3}, 2, "a type that begins behind the buffer's start");
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    right_or_refused(type, (int[4]){0, 2}, 2, "a vector with gaps");
    MPI_Type_create_hindexed(2, ones, later, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, 16, &type);
    MPI_Type_free(&part);
    right_or_refused(type, (int[4]){2, 3}, 2, "a resized type");
}

static void empty(void)
{
    MPI_Status status;
    int count = -1;

    job_test("no elements, from NULL and into NULL");
    if (job.rank == 0) {
        succeeds(MPI_GPUSend(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), "send");
        succeeds(MPI_GPUSend(out.at, 0, MPI_INT, 1, 2, MPI_COMM_WORLD), "send");
    }
    if (job.rank == 1) {
        buffer_reset(&in);
        succeeds(MPI_GPURecv(in.at, 10, MPI_INT, 0, 1, MPI_COMM_WORLD, &status), "receive");
        status_is(&status, 0, 1, 0, "receive with room");
        MPI_Get_count(&status, MPI_INT, &count);
        is_int(count, 0, "MPI_Get_count");
        succeeds(MPI_GPURecv(NULL, 0, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, &status), "receive");
        status_is(&status, 0, 2, 0, "receive without");
        expect(buffer_untouched(&in, 0), "an empty message wrote something");
    }
    job_result();
}

static void of_nobody(MPI_Status *status, const char *what)
{
    status_is(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, what);
    memset(status, 0x55, sizeof *status);
}

static void proc_null(void)
{
    struct gpubind_message message = {7, 7, 7, MPI_DOUBLE, 7, 7};
    gpubind_request requests[2];
    MPI_Status statuses[2];
    void *made = &message;
    int flag = 0;

    job_test("MPI_PROC_NULL: every verb returns at once");
    buffer_reset(&in);
    memset(statuses, 0x55, sizeof statuses);
    succeeds(MPI_GPUSend(out.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD), "send");
    succeeds(MPI_GPUSend_c(out.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD), "send_c");
    succeeds(MPI_GPURecv(in.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &statuses[0]),
             "receive");
    of_nobody(&statuses[0], "receive");
    succeeds(MPI_GPURecv_c(in.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &statuses[0]),
             "receive_c");
    of_nobody(&statuses[0], "receive_c");
    succeeds(gpubind_sendrecv(out.at, 10, MPI_INT, MPI_PROC_NULL, 3, in.at, 10, MPI_INT,
                              MPI_PROC_NULL, 3, MPI_COMM_WORLD, &statuses[0]),
             "sendrecv");
    of_nobody(&statuses[0], "sendrecv");
    succeeds(gpubind_irecv(in.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]),
             "irecv");
    succeeds(gpubind_isend(out.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]),
             "isend");
    succeeds(gpubind_waitall(2, requests, statuses), "waitall");
    of_nobody(&statuses[0], "irecv");
    succeeds(gpubind_irecv(in.at, 10, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]),
             "irecv");
    succeeds(gpubind_test(&requests[0], &flag, &statuses[0]), "test");
    expect(flag && !requests[0], "a receive from nobody is not complete");
    of_nobody(&statuses[0], "test");
    succeeds(gpubind_probe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message), "probe");
    expect(message.source == MPI_PROC_NULL && message.tag == MPI_ANY_TAG && !message.nbytes &&
               !message.count,
           "probe of nobody: from %d, tag %d", message.source, message.tag);
    flag = 0;
    succeeds(gpubind_iprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &flag, &message), "iprobe");
    expect(flag, "iprobe of nobody finds nothing");
    succeeds(gpubind_recv_alloc(&made, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message), "recv_alloc");
    expect(!made, "recv_alloc from nobody made something");
    expect(buffer_untouched(&in, 0), "something was received from nobody");
    job_result();
}

/* One side has a partner, the other has none: a line of ranks, shifted. */
static void shift(void)
{
    int left = job.rank ? job.rank - 1 : MPI_PROC_NULL;
    int right = job.rank + 1 < job.size ? job.rank + 1 : MPI_PROC_NULL;
    MPI_Status status;

    job_test("a shift along a line: sendrecv with MPI_PROC_NULL at the ends");
    buffer_fill(&out, 0, BYTES, (uint64_t)job.rank);
    buffer_reset(&in);
    succeeds(gpubind_sendrecv(out.at, BYTES, MPI_BYTE, right, 1, in.at, BYTES, MPI_BYTE, left, 1,
                              MPI_COMM_WORLD, &status),
             "sendrecv");
    if (left == MPI_PROC_NULL) {
        of_nobody(&status, "sendrecv");
        expect(buffer_untouched(&in, 0), "the first received something");
    } else {
        status_is(&status, left, 1, BYTES, "sendrecv");
        received(&in, BYTES, (uint64_t)left, "sendrecv");
    }
    job_result();
}

void test_types(void)
{
    need_buffer(&out, MEMORY_DEVICE, BYTES);
    need_buffer(&in, MEMORY_DEVICE, BYTES);
    predefined();
    derived();
    not_contiguous();
    empty();
    proc_null();
    shift();
    buffer_clear(&out);
    buffer_clear(&in);
}
