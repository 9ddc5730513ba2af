/* The C side of the Fortran module. Everything comes by reference: handles as integers
 * (a type of mpi_f08 holds nothing else), buffers as the Fortran compiler's descriptors;
 * ierror is NULL where it was left out. */
#ifndef GPUBIND_MPI_FORTRAN_H
#define GPUBIND_MPI_FORTRAN_H

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

/* A section is, or not. */
bool fortran_contiguous(const CFI_cdesc_t *buf);
/* Elements that lie apart cannot be told by a count: MPI_ERR_BUFFER in *ierror, after the
 * error handler of comm was called. */
bool fortran_refuses(const CFI_cdesc_t *buf, MPI_Comm comm, const char *call, MPI_Fint *ierror);

#endif
