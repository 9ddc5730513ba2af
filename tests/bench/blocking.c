/* What the library's stand-ins cost: MPI_Barrier, MPI_Allreduce and half a ping-pong of
 * MPI_Send and MPI_Recv, by the names that are stood in for and by MPI's own, in
 * microseconds; before the first message of the library, after one, and with one under way.
 * By hand: make tests/bench/blocking && mpirun -np 2 tests/bench/blocking */
#include <mpi.h>
#include <stdio.h>

#include "gpubind.h"

enum { TURNS = 100, REPEATS = 30 };

static int rank;

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void barrier_of_mpi(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void)
{
    int sum = 1;

    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void allreduce_of_mpi(void)
{
    int sum = 1;

    PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void message(void)
{
    int value = 0;

    for (int step = 0; step < 2; step++)
        if (step == rank)
            MPI_Send(&value, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD);
        else if (rank < 2)
            MPI_Recv(&value, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void message_of_mpi(void)
{
    int value = 0;

    for (int step = 0; step < 2; step++)
        if (step == rank)
            PMPI_Send(&value, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD);
        else if (rank < 2)
            PMPI_Recv(&value, 1, MPI_INT, !rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The best of some repeats. */
static double measure(void (*call)(void), int per_turn)
{
    double best = 1e9;

    for (int repeat = 0; repeat < REPEATS; repeat++) {
        double time;

        PMPI_Barrier(MPI_COMM_WORLD);
        time = MPI_Wtime();
        for (int i = 0; i < TURNS; i++)
            call();
        time = 1e6 * (MPI_Wtime() - time) / TURNS / per_turn;
        if (time < best)
            best = time;
    }
    return best;
}

static void row(const char *when)
{
    const double times[] = {measure(barrier, 1),   measure(barrier_of_mpi, 1),
                            measure(allreduce, 1), measure(allreduce_of_mpi, 1),
                            measure(message, 2),   measure(message_of_mpi, 2)};

    if (rank == 0)
        printf("%-12s barrier %6.3f (%6.3f)  allreduce %6.3f (%6.3f)  message %6.3f (%6.3f)\n",
               when, times[0], times[1], times[2], times[3], times[4], times[5]);
}

int main(int argc, char *argv[])
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    int value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    row("never used");
    if (rank == 0)
        MPI_GPUSend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_GPURecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    row("used");
    if (rank == 1)
        gpubind_irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    row("under way");
    if (rank == 0)
        MPI_GPUSend(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    gpubind_wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
