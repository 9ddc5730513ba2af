/* The functions behind the interfaces of gpubind.F90: persistent requests, and messages on
 * streams. */
#include "mpi/fortran/fortran.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- persistent */

GPUBIND_PUBLIC void gpubind_fortran_send_init_c(const CFI_cdesc_t *buf, const int64_t *count,
                                                const MPI_Fint *type, const MPI_Fint *dest,
                                                const MPI_Fint *tag, const MPI_Fint *comm,
                                                gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_send_init", ierror))
        return;
    tell(ierror, gpubind_send_init_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                     MPI_Comm_f2c(*comm), request));
}

GPUBIND_PUBLIC void gpubind_fortran_send_init(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                              const MPI_Fint *type, const MPI_Fint *dest,
                                              const MPI_Fint *tag, const MPI_Fint *comm,
                                              gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_send_init_c(buf, &wide, type, dest, tag, comm, request, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_recv_init_c(const CFI_cdesc_t *buf, const int64_t *count,
                                                const MPI_Fint *type, const MPI_Fint *source,
                                                const MPI_Fint *tag, const MPI_Fint *comm,
                                                gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_recv_init", ierror))
        return;
    tell(ierror, gpubind_recv_init_c(address(buf), *count, MPI_Type_f2c(*type), *source, *tag,
                                     MPI_Comm_f2c(*comm), request));
}

GPUBIND_PUBLIC void gpubind_fortran_recv_init(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                              const MPI_Fint *type, const MPI_Fint *source,
                                              const MPI_Fint *tag, const MPI_Fint *comm,
                                              gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_recv_init_c(buf, &wide, type, source, tag, comm, request, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_start(gpubind_request *request, MPI_Fint *ierror)
{
    tell(ierror, gpubind_start(request));
}

GPUBIND_PUBLIC void gpubind_fortran_startall(const MPI_Fint *n, gpubind_request *requests,
                                             MPI_Fint *ierror)
{
    tell(ierror, gpubind_startall(*n, requests));
}

GPUBIND_PUBLIC void gpubind_fortran_startall_on_stream(const MPI_Fint *n, gpubind_request *requests,
                                                       const gpubind_stream *stream,
                                                       MPI_Fint *ierror)
{
    tell(ierror, gpubind_startall_on_stream(*n, requests, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_request_free(gpubind_request *request, MPI_Fint *ierror)
{
    tell(ierror, gpubind_request_free(request));
}

/* ---- on a stream */

GPUBIND_PUBLIC void gpubind_fortran_send_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                                   const MPI_Fint *type, const MPI_Fint *dest,
                                                   const MPI_Fint *tag, const MPI_Fint *comm,
                                                   const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_send_on_stream", ierror))
        return;
    tell(ierror, gpubind_send_on_stream(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                        MPI_Comm_f2c(*comm), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_recv_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                                   const MPI_Fint *type, const MPI_Fint *source,
                                                   const MPI_Fint *tag, const MPI_Fint *comm,
                                                   const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_recv_on_stream", ierror))
        return;
    tell(ierror, gpubind_recv_on_stream(address(buf), *count, MPI_Type_f2c(*type), *source, *tag,
                                        MPI_Comm_f2c(*comm), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_sendrecv_on_stream(
    const CFI_cdesc_t *sendbuf, const MPI_Fint *sendcount, const MPI_Fint *sendtype,
    const MPI_Fint *dest, const MPI_Fint *sendtag, const CFI_cdesc_t *recvbuf,
    const MPI_Fint *recvcount, const MPI_Fint *recvtype, const MPI_Fint *source,
    const MPI_Fint *recvtag, const MPI_Fint *comm, const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (fortran_refuses(sendbuf, MPI_Comm_f2c(*comm), "gpubind_sendrecv_on_stream", ierror) ||
        fortran_refuses(recvbuf, MPI_Comm_f2c(*comm), "gpubind_sendrecv_on_stream", ierror))
        return;
    tell(ierror,
         gpubind_sendrecv_on_stream(address(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), *dest,
                                    *sendtag, address(recvbuf), *recvcount, MPI_Type_f2c(*recvtype),
                                    *source, *recvtag, MPI_Comm_f2c(*comm), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_isend_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                                    const MPI_Fint *type, const MPI_Fint *dest,
                                                    const MPI_Fint *tag, const MPI_Fint *comm,
                                                    const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_isend_on_stream", ierror))
        return;
    tell(ierror, gpubind_isend_on_stream(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                         MPI_Comm_f2c(*comm), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_irecv_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                                    const MPI_Fint *type, const MPI_Fint *source,
                                                    const MPI_Fint *tag, const MPI_Fint *comm,
                                                    const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_irecv_on_stream", ierror))
        return;
    tell(ierror, gpubind_irecv_on_stream(address(buf), *count, MPI_Type_f2c(*type), *source, *tag,
                                         MPI_Comm_f2c(*comm), *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_group_on_stream(const gpubind_stream *stream, MPI_Fint *ierror)
{
    tell(ierror, gpubind_group_on_stream(*stream));
}

GPUBIND_PUBLIC void gpubind_fortran_quiet_on_stream(const gpubind_stream *stream, MPI_Fint *ierror)
{
    tell(ierror, gpubind_quiet_on_stream(*stream));
}
