/* The C side of the Fortran module. Everything comes by reference: handles as integers
 * (a type of mpi_f08 holds nothing else), buffers as the Fortran compiler's descriptors;
 * ierror is NULL where it was left out. */
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

/* The memory that a buffer stands for. */
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

/* A status of MPI's in Fortran: integers, as many as fill the one of C. */
enum { STATUS_INTS = sizeof(MPI_Status) / sizeof(MPI_Fint) };

/* Unless it is ignored. */
void fortran_tell_status(MPI_Fint *to, const MPI_Status *status);
/* Unless it was left out. */
void fortran_tell_message(struct fortran_message *to, const struct gpubind_message *message);
/* Room for n statuses in C: MPI_STATUSES_IGNORE when these are ignored or n is not above 0.
 * *result: MPI_ERR_NO_MEM, after the error handler was called; else it is as before. */
MPI_Status *fortran_statuses(const MPI_Fint *statuses, int n, const char *call, int *result);
/* Hands over the first n, and frees the room. */
void fortran_tell_statuses(MPI_Fint *statuses, MPI_Status *got, int n);

/* A section is, or not. */
bool fortran_contiguous(const CFI_cdesc_t *buf);
/* Elements that lie apart cannot be told by a count: MPI_ERR_BUFFER in *ierror, after the
 * error handler of comm was called. */
bool fortran_refuses(const CFI_cdesc_t *buf, MPI_Comm comm, const char *call, MPI_Fint *ierror);

#endif
