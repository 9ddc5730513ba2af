/* The C side of the Fortran module. All arguments are passed by reference: handles as integers
 * (types of mpi_f08 contain just an integer), buffers as the Fortran compiler's descriptors;
 * ierror is NULL where it was omitted. */
#ifndef GPUBIND_MPI_FORTRAN_FORTRAN_H
#define GPUBIND_MPI_FORTRAN_FORTRAN_H

#include <ISO_Fortran_binding.h>
#include <stdbool.h>
#include <stdint.h>

#include "mpi/gpubind.h"

static inline void tell(MPI_Fint *ierror, int result)
{
    if (ierror)
        *ierror = result;
}

/* The memory of a buffer. */
static inline void *address(const CFI_cdesc_t *buf)
{
    if (buf->rank == 0 && buf->type == CFI_type_cptr)
        return *(void **)buf->base_addr;
    return buf->base_addr;
}

/* gpubind_message of the module. */
struct fortran_message {
    MPI_Fint source, tag, datatype;
    bool on_gpu;
    int64_t count, nbytes;
};

/* A Fortran status: as many integers as fill the status of C. */
enum { STATUS_INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

/* Converts the status, unless it is ignored. */
void fortran_tell_status(MPI_Fint *to, const MPI_Status *status);
/* Sets ierror, unless it was omitted. */
void fortran_tell_message(struct fortran_message *to, const struct gpubind_message *message);
/* Room for n statuses in C: MPI_STATUSES_IGNORE when these are ignored or n is not above 0.
 * *result: MPI_ERR_NO_MEM, after the error handler was called; else it is as before. */
MPI_Status *fortran_statuses(const MPI_Fint *statuses, int n, const char *call, int *result);
/* Converts the first n statuses, and frees the room. */
void fortran_tell_statuses(MPI_Fint *statuses, MPI_Status *got, int n);

/* The buffer is contiguous, as an array section need not be. */
bool fortran_contiguous(const CFI_cdesc_t *buf);
/* For a section that is not contiguous, which a count cannot describe: calls the error handler of
 * comm, and sets *ierror to MPI_ERR_BUFFER. */
bool fortran_refuses(const CFI_cdesc_t *buf, MPI_Comm comm, const char *call, MPI_Fint *ierror);

#endif
