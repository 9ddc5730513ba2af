/* The functions behind the interfaces of gpubind.F90: messages. */
#include <stdlib.h>

#include "mpi/core/context.h"
#include "mpi/fortran/fortran.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- arguments */

/* MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are recognized by their addresses. For mpi_f08 MPI has
 * two more variables; Open MPI 4 has none, and MPICH has them in its Fortran library, which only
 * Fortran programs load: without it they have no address. */
extern const void *const f08_ignored __asm__("MPI_F08_STATUS_IGNORE") __attribute__((weak));
extern const void *const f08_all_ignored __asm__("MPI_F08_STATUSES_IGNORE") __attribute__((weak));

static bool ignored(const MPI_Fint *status)
{
    return status == MPI_F_STATUS_IGNORE || (&f08_ignored && status == f08_ignored);
}

static bool all_ignored(const MPI_Fint *statuses)
{
    return statuses == MPI_F_STATUSES_IGNORE || (&f08_all_ignored && statuses == f08_all_ignored);
}

void fortran_tell_status(MPI_Fint *to, const MPI_Status *status)
{
    if (!ignored(to))
        MPI_Status_c2f(status, to);
}

void fortran_tell_message(struct fortran_message *to, const struct gpubind_message *message)
{
    if (!to)
        return;
    to->source = message->source;
    to->tag = message->tag;
    to->datatype = MPI_Type_c2f(message->type);
    to->on_gpu = message->on_gpu != 0;
    to->count = message->count;
    to->nbytes = message->nbytes;
}

MPI_Status *fortran_statuses(const MPI_Fint *statuses, int n, const char *call, int *result)
{
    struct gpubind_error err;
    MPI_Status *got;

    if (n <= 0 || all_ignored(statuses))
        return MPI_STATUSES_IGNORE;
    got = calloc((size_t)n, sizeof *got);
    if (got)
        return got;
    library_enter(call);
    error_set(&err, "no memory for %d statuses", n);
    *result = library_leave(MPI_COMM_WORLD, MPI_ERR_NO_MEM, call, &err);
    return MPI_STATUSES_IGNORE;
}

void fortran_tell_statuses(MPI_Fint *statuses, MPI_Status *got, int n)
{
    if (got == MPI_STATUSES_IGNORE)
        return;
    for (int i = 0; i < n; i++)
        MPI_Status_c2f(&got[i], statuses + (size_t)i * STATUS_INTS);
    free(got);
}

/* ---- point to point */

GPUBIND_PUBLIC void gpubind_fortran_send_c(const CFI_cdesc_t *buf, const int64_t *count,
                                           const MPI_Fint *type, const MPI_Fint *dest,
                                           const MPI_Fint *tag, const MPI_Fint *comm,
                                           MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "MPI_GPUSend", ierror))
        return;
    tell(ierror, MPI_GPUSend_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                               MPI_Comm_f2c(*comm)));
}

GPUBIND_PUBLIC void gpubind_fortran_send(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                         const MPI_Fint *type, const MPI_Fint *dest,
                                         const MPI_Fint *tag, const MPI_Fint *comm,
                                         MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_send_c(buf, &wide, type, dest, tag, comm, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_recv_c(const CFI_cdesc_t *buf, const int64_t *count,
                                           const MPI_Fint *type, const MPI_Fint *source,
                                           const MPI_Fint *tag, const MPI_Fint *comm,
                                           MPI_Fint *status, MPI_Fint *ierror)
{
    MPI_Status got = {0};

    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "MPI_GPURecv", ierror))
        return;
    tell(ierror, MPI_GPURecv_c(address(buf), *count, MPI_Type_f2c(*type), *source, *tag,
                               MPI_Comm_f2c(*comm), &got));
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_recv(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                         const MPI_Fint *type, const MPI_Fint *source,
                                         const MPI_Fint *tag, const MPI_Fint *comm,
                                         MPI_Fint *status, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_recv_c(buf, &wide, type, source, tag, comm, status, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_sendrecv_c(const CFI_cdesc_t *sendbuf, const int64_t *sendcount,
                                               const MPI_Fint *sendtype, const MPI_Fint *dest,
                                               const MPI_Fint *sendtag, const CFI_cdesc_t *recvbuf,
                                               const int64_t *recvcount, const MPI_Fint *recvtype,
                                               const MPI_Fint *source, const MPI_Fint *recvtag,
                                               const MPI_Fint *comm, MPI_Fint *status,
                                               MPI_Fint *ierror)
{
    MPI_Status got = {0};

    if (fortran_refuses(sendbuf, MPI_Comm_f2c(*comm), "gpubind_sendrecv", ierror) ||
        fortran_refuses(recvbuf, MPI_Comm_f2c(*comm), "gpubind_sendrecv", ierror))
        return;
    tell(ierror, gpubind_sendrecv_c(address(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), *dest,
                                    *sendtag, address(recvbuf), *recvcount, MPI_Type_f2c(*recvtype),
                                    *source, *recvtag, MPI_Comm_f2c(*comm), &got));
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_sendrecv(const CFI_cdesc_t *sendbuf, const MPI_Fint *sendcount,
                                             const MPI_Fint *sendtype, const MPI_Fint *dest,
                                             const MPI_Fint *sendtag, const CFI_cdesc_t *recvbuf,
                                             const MPI_Fint *recvcount, const MPI_Fint *recvtype,
                                             const MPI_Fint *source, const MPI_Fint *recvtag,
                                             const MPI_Fint *comm, MPI_Fint *status,
                                             MPI_Fint *ierror)
{
    const int64_t out = *sendcount, in = *recvcount;

    gpubind_fortran_sendrecv_c(sendbuf, &out, sendtype, dest, sendtag, recvbuf, &in, recvtype,
                               source, recvtag, comm, status, ierror);
}

/* ---- nonblocking */

GPUBIND_PUBLIC void gpubind_fortran_isend_c(const CFI_cdesc_t *buf, const int64_t *count,
                                            const MPI_Fint *type, const MPI_Fint *dest,
                                            const MPI_Fint *tag, const MPI_Fint *comm,
                                            gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_isend", ierror))
        return;
    tell(ierror, gpubind_isend_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                 MPI_Comm_f2c(*comm), request));
}

GPUBIND_PUBLIC void gpubind_fortran_isend(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                          const MPI_Fint *type, const MPI_Fint *dest,
                                          const MPI_Fint *tag, const MPI_Fint *comm,
                                          gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_isend_c(buf, &wide, type, dest, tag, comm, request, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_irecv_c(const CFI_cdesc_t *buf, const int64_t *count,
                                            const MPI_Fint *type, const MPI_Fint *source,
                                            const MPI_Fint *tag, const MPI_Fint *comm,
                                            gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_irecv", ierror))
        return;
    tell(ierror, gpubind_irecv_c(address(buf), *count, MPI_Type_f2c(*type), *source, *tag,
                                 MPI_Comm_f2c(*comm), request));
}

GPUBIND_PUBLIC void gpubind_fortran_irecv(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                          const MPI_Fint *type, const MPI_Fint *source,
                                          const MPI_Fint *tag, const MPI_Fint *comm,
                                          gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_irecv_c(buf, &wide, type, source, tag, comm, request, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_test(gpubind_request *request, MPI_Fint *flag, MPI_Fint *status,
                                         MPI_Fint *ierror)
{
    MPI_Status got = {0};
    int ended = 0;

    tell(ierror, gpubind_test(request, &ended, &got));
    *flag = ended;
    if (ended)
        fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_wait(gpubind_request *request, MPI_Fint *status,
                                         MPI_Fint *ierror)
{
    MPI_Status got = {0};

    tell(ierror, gpubind_wait(request, &got));
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_waitall(const MPI_Fint *n, gpubind_request *requests,
                                            MPI_Fint *statuses, MPI_Fint *ierror)
{
    int result = MPI_SUCCESS;
    MPI_Status *got = fortran_statuses(statuses, *n, "gpubind_waitall", &result);

    if (result == MPI_SUCCESS) {
        result = gpubind_waitall(*n, requests, got);
        fortran_tell_statuses(statuses, got, *n);
    }
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_waitany(const MPI_Fint *n, gpubind_request *requests,
                                            MPI_Fint *which, MPI_Fint *status, MPI_Fint *ierror)
{
    MPI_Status got = {0};
    int ended = MPI_UNDEFINED;

    tell(ierror, gpubind_waitany(*n, requests, &ended, &got));
    *which = ended == MPI_UNDEFINED ? MPI_UNDEFINED : ended + 1;
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_progress(MPI_Fint *ierror)
{
    tell(ierror, gpubind_progress());
}

/* ---- probes */

GPUBIND_PUBLIC void gpubind_fortran_probe(const MPI_Fint *source, const MPI_Fint *tag,
                                          const MPI_Fint *comm, struct fortran_message *message,
                                          MPI_Fint *ierror)
{
    struct gpubind_message found;
    int result = gpubind_probe(*source, *tag, MPI_Comm_f2c(*comm), &found);

    if (result == MPI_SUCCESS)
        fortran_tell_message(message, &found);
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_iprobe(const MPI_Fint *source, const MPI_Fint *tag,
                                           const MPI_Fint *comm, MPI_Fint *flag,
                                           struct fortran_message *message, MPI_Fint *ierror)
{
    struct gpubind_message found;
    int there = 0;
    int result = gpubind_iprobe(*source, *tag, MPI_Comm_f2c(*comm), &there, &found);

    *flag = result == MPI_SUCCESS && there;
    if (*flag)
        fortran_tell_message(message, &found);
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_recv_alloc(void **buf, const MPI_Fint *source,
                                               const MPI_Fint *tag, const MPI_Fint *comm,
                                               struct fortran_message *message, MPI_Fint *ierror)
{
    struct gpubind_message found;
    int result;

    *buf = NULL;
    result = gpubind_recv_alloc(buf, *source, *tag, MPI_Comm_f2c(*comm), &found);
    if (result == MPI_SUCCESS)
        fortran_tell_message(message, &found);
    tell(ierror, result);
}
