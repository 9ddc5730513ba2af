/* GPUBIND_SIM_FAIL lets each copy from GPU memory fail: a message of two allocations, at absolute addresses, is
 * refused, and neither of them is read as host memory. Rank 0 prints the result. */
#include <mpi.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

enum { N = 64 };

/* Blocks of each allocation in turn: what comes of the first one has to be copied before the second one is
 * looked at. */
static MPI_Datatype of_both(const char *one, const char *other)
{
    const int lengths[] = {N, N, N};
    MPI_Aint places[3];
    MPI_Datatype type;

    MPI_Get_address(one, &places[0]);
    MPI_Get_address(other, &places[1]);
    MPI_Get_address(one + 2 * N, &places[2]);
    MPI_Type_create_hindexed(3, lengths, places, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char **argv)
{
    char *one, *other, bytes[3 * N];
    MPI_Datatype type;
    int code, class = MPI_SUCCESS;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    one = device_alloc(4 * N);
    other = device_alloc(4 * N);
    type = of_both(one, other);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    code = MPI_Sendrecv(MPI_BOTTOM, 1, type, 0, 3, bytes, 3 * N, MPI_CHAR, 0, 3, MPI_COMM_SELF,
                        MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    wrong += class != MPI_ERR_BUFFER;
    result("the message is refused");
    MPI_Type_free(&type);
    device_free(one);
    device_free(other);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
