/* Large reads and writes of one rank's: the buffer in GPU memory goes through page-locked host memory in
 * pieces, and the next one is copied while MPI writes. */
#ifndef GPUBIND_AWARE_FILE_PIECES_H
#define GPUBIND_AWARE_FILE_PIECES_H

#include <mpi.h>
#include <stdbool.h>

/* The function of MPI; at has no meaning for those that have no such argument. */
typedef int file_transfer(MPI_File file, MPI_Offset at, void *host, int count, MPI_Datatype type,
                          MPI_Status *status);

struct file_call {
    MPI_File file;
    MPI_Offset at;
    void *buf;
    MPI_Count count;
    MPI_Datatype type;
    bool writes;
    file_transfer *transfer;
};

/* Does the call, with its result and status (or MPI_STATUS_IGNORE). false: it is not one for pieces, and nothing
 * was done. */
bool file_in_pieces(const struct file_call *call, MPI_Status *status, int *result);

#endif
