/* What is left on communicators that are freed, of the application and of the library itself: `ranks comms_freed`;
 * `ranks comms_freed halos`, also with GPUBIND_UNEXPECTED=0: the latter alone. */
#include "tests/mpi/halo_world.h"
#include "tests/mpi/tests.h"

enum { MESSAGES = 100, BYTES = 64 };

static void send_all(const struct buffer *buffer, MPI_Comm comm)
{
    gpubind_request requests[MESSAGES];

    for (int k = 0; k < MESSAGES; k++)
        succeeds(gpubind_isend(buffer->at, BYTES, MPI_BYTE, 1, k, comm, &requests[k]), "isend");
    succeeds(gpubind_waitall(MESSAGES, requests, MPI_STATUSES_IGNORE), "waitall");
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, job.plain);
}

static void take_no_message(void)
{
    MPI_Request sent;
    int flag = 0;

    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, job.plain, &sent);
    while (!flag) {
        succeeds(gpubind_progress(), "progress");
        MPI_Test(&sent, &flag, MPI_STATUS_IGNORE);
    }
}

/* Their senders' eager buffers are theirs again: 512 messages would take all. */
static void left_messages(void)
{
    enum { COMMS = 8 };
    struct buffer buffer;

    job_test("messages on communicators that are freed before they are received");
    need_filled(&buffer, MEMORY_HOST, BYTES, 5);
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (job.rank == 0)
            send_all(&buffer, comm);
        else if (job.rank == 1)
            take_no_message();
        MPI_Comm_free(&comm);
    }
    job_result();

    job_test("... and messages after them");
    for (int i = 0; i < 200; i++) {
        if (job.rank == 0)
            succeeds(MPI_GPUSend(buffer.at, BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD), "send");
        if (job.rank != 1)
            continue;
        buffer_reset(&buffer);
        succeeds(MPI_GPURecv(buffer.at, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        received(&buffer, BYTES, 5, "the message");
    }
    buffer_clear(&buffer);
    job_result();
}

/* What rank 0 says at the end of each of its requests comes when rank 1 has freed its own. */
static void halos(void)
{
    enum { TIMES = 40, CELLS = 8 };
    struct gpubind_halo_grid grid = {.ndims = 2,
                                     .cells = {CELLS, CELLS},
                                     .width = {1, 1},
                                     .periodic = {1, 1},
                                     .corners = 1,
                                     .element = MPI_DOUBLE};
    struct buffer buffer;

    job_test("halos, made, used and freed");
    need_buffer(&buffer, MEMORY_DEVICE, (CELLS + 2) * (CELLS + 2) * sizeof(double));
    for (int i = 0; i < TIMES; i++) {
        void *array = buffer.at;
        gpubind_halo halo;

        job_at("halo %d", i);
        succeeds(gpubind_halo_create(MPI_COMM_WORLD, &grid, 1, &array, &halo), "create");
        succeeds(gpubind_halo_start(halo, 0), "start");
        succeeds(gpubind_halo_wait(halo), "wait");
        if (job.rank == 1)
            succeeds(gpubind_halo_free(&halo), "free");
        job_barrier();
        if (job.rank != 1)
            succeeds(gpubind_halo_free(&halo), "free");
    }
    buffer_clear(&buffer);
    job_result();
}

void test_comms_freed(void)
{
    if (nargs == 0)
        left_messages();
    if (gpu_count > 0)
        halos();
}
