/* Messages that wait for long, with GPUBIND_WAIT_NOTICE=1: what is said is seen by the shell.
 * Rank 0 sends to rank 1. */
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

static char bytes[8];

static void send(int dest, int tag)
{
    succeeds(MPI_GPUSend(bytes, 8, MPI_BYTE, dest, tag, MPI_COMM_WORLD), "send");
}

static void receive(int source, int tag)
{
    succeeds(MPI_GPURecv(bytes, 8, MPI_BYTE, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             "receive");
}

/* The sender calls MPI first, and sends what is waited for at last. */
static void by_mpi(void)
{
    MPI_Request request;
    char other[8] = "";

    if (job.rank == 0) {
        MPI_Issend(other, 8, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
        sleep(3);
        send(1, 3);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (job.rank == 1) {
        receive(0, 3);
        MPI_Recv(other, 8, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receive_first(void)
{
    if (job.rank == 0) {
        sleep(3);
        send(1, 4);
    } else if (job.rank == 1) {
        receive(0, 4);
    }
}

static void probe_first(void)
{
    struct gpubind_message message;

    if (job.rank == 0) {
        sleep(3);
        send(1, 5);
    } else if (job.rank == 1) {
        succeeds(gpubind_probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message), "probe");
        receive(0, 5);
    }
}

/* The receiver calls nothing for long. */
static void not_received(void)
{
    if (job.rank == 0) {
        send(1, 6);
        receive(1, 7);
    } else if (job.rank == 1) {
        sleep(4);
        receive(0, 6);
        send(0, 7);
    }
}

static void left(void)
{
    if (job.rank == 0)
        send(1, 8);
}

/* `ranks mixed WHAT` */
void test_mixed(void)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"by_mpi", by_mpi},
                 {"receive_first", receive_first},
                 {"probe_first", probe_first},
                 {"not_received", not_received},
                 {"left", left}};

    for (size_t i = 0; nargs && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, arguments[0]) != 0)
            continue;
        job_test("what waits for long is said: %s", cases[i].name);
        cases[i].run();
        job_result();
    }
}
