/* The functions of MPI 4 that ours stand in for. MPICH's ABI is the same since MPI 3.0, so that the
 * program's MPI may lack them where mpi.h here has them: the program links and starts all the same, as
 * it calls none of them. Not for static objects, since the linker takes nothing from an archive for the
 * sake of a weak name. */
#ifndef GPUBIND_MPI_API_NEWER_MPI_H
#define GPUBIND_MPI_API_NEWER_MPI_H

#include <mpi.h>

#if defined GPUBIND_MPI_OF_PROGRAM && defined PIC
#pragma weak PMPI_Allgather_c
#pragma weak PMPI_Allgatherv_c
#pragma weak PMPI_Allreduce_c
#pragma weak PMPI_Alltoall_c
#pragma weak PMPI_Alltoallv_c
#pragma weak PMPI_Alltoallw_c
#pragma weak PMPI_Bcast_c
#pragma weak PMPI_Comm_create_from_group
#pragma weak PMPI_Exscan_c
#pragma weak PMPI_File_read_all_c
#pragma weak PMPI_File_read_at_all_c
#pragma weak PMPI_File_read_ordered_c
#pragma weak PMPI_File_write_all_c
#pragma weak PMPI_File_write_at_all_c
#pragma weak PMPI_File_write_ordered_c
#pragma weak PMPI_Gather_c
#pragma weak PMPI_Gatherv_c
#pragma weak PMPI_Imrecv_c
#pragma weak PMPI_Irecv_c
#pragma weak PMPI_Irsend_c
#pragma weak PMPI_Isend_c
#pragma weak PMPI_Issend_c
#pragma weak PMPI_Mrecv_c
#pragma weak PMPI_Neighbor_allgather_c
#pragma weak PMPI_Neighbor_allgatherv_c
#pragma weak PMPI_Neighbor_alltoall_c
#pragma weak PMPI_Neighbor_alltoallv_c
#pragma weak PMPI_Neighbor_alltoallw_c
#pragma weak PMPI_Pack_c
#pragma weak PMPI_Pack_size_c
#pragma weak PMPI_Recv_c
#pragma weak PMPI_Reduce_c
#pragma weak PMPI_Reduce_scatter_block_c
#pragma weak PMPI_Reduce_scatter_c
#pragma weak PMPI_Rsend_c
#pragma weak PMPI_Scan_c
#pragma weak PMPI_Scatter_c
#pragma weak PMPI_Scatterv_c
#pragma weak PMPI_Send_c
#pragma weak PMPI_Sendrecv_c
#pragma weak PMPI_Sendrecv_replace_c
#pragma weak PMPI_Ssend_c
#pragma weak PMPI_Win_allocate_c
#pragma weak PMPI_Win_allocate_shared_c
#pragma weak PMPI_Win_create_c
#endif

#endif
