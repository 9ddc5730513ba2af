/* What programs ask MPICH about GPU memory. Rank 0 prints the results. */
#include <mpi.h>

#include "tests/tap.h"

#ifdef MPIX_GPU_SUPPORT_CUDA
static void asks(int rank)
{
    int by_one = 0, by_other = 0, of_ze = -1;

    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &by_one);
    PMPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &by_other);
    MPIX_GPU_query_support(MPIX_GPU_SUPPORT_ZE, &of_ze);
    if (rank > 0)
        return;
    tap_ok(MPIX_Query_cuda_support() == 1 && PMPIX_Query_cuda_support() == 1,
           "MPIX_Query_cuda_support");
    tap_ok(by_one == 1 && by_other == 1, "MPIX_GPU_query_support of CUDA");
    tap_ok(of_ze == MPIX_Query_ze_support(), "MPIX_GPU_query_support of others is MPI's");
}
#endif

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#ifdef MPIX_GPU_SUPPORT_CUDA
    asks(rank);
#else
    if (rank == 0)
        tap_skip("MPIX_GPU_query_support", "not in this MPI");
#endif
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
