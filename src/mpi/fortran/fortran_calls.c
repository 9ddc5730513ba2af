/* The functions behind the interfaces of gpubind.F90: synchronous sends, matched probes,
 * requests. */
#include "mpi/fortran/fortran.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- messages */

GPUBIND_PUBLIC void gpubind_fortran_ssend_c(const CFI_cdesc_t *buf, const int64_t *count,
                                            const MPI_Fint *type, const MPI_Fint *dest,
                                            const MPI_Fint *tag, const MPI_Fint *comm,
                                            MPI_Fint *ierror)
{
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_ssend", ierror))
        return;
    tell(ierror, gpubind_ssend_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                 MPI_Comm_f2c(*comm)));
}

GPUBIND_PUBLIC void gpubind_fortran_ssend(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                          const MPI_Fint *type, const MPI_Fint *dest,
                                          const MPI_Fint *tag, const MPI_Fint *comm,
                                          MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_ssend_c(buf, &wide, type, dest, tag, comm, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_issend_c(const CFI_cdesc_t *buf, const int64_t *count,
                                             const MPI_Fint *type, const MPI_Fint *dest,
                                             const MPI_Fint *tag, const MPI_Fint *comm,
                                             gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_issend", ierror))
        return;
    tell(ierror, gpubind_issend_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *tag,
                                  MPI_Comm_f2c(*comm), request));
}

GPUBIND_PUBLIC void gpubind_fortran_issend(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                           const MPI_Fint *type, const MPI_Fint *dest,
                                           const MPI_Fint *tag, const MPI_Fint *comm,
                                           gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_issend_c(buf, &wide, type, dest, tag, comm, request, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_sendrecv_replace_c(
    const CFI_cdesc_t *buf, const int64_t *count, const MPI_Fint *type, const MPI_Fint *dest,
    const MPI_Fint *sendtag, const MPI_Fint *source, const MPI_Fint *recvtag, const MPI_Fint *comm,
    MPI_Fint *status, MPI_Fint *ierror)
{
    MPI_Status got = {0};

    if (fortran_refuses(buf, MPI_Comm_f2c(*comm), "gpubind_sendrecv_replace", ierror))
        return;
    tell(ierror,
         gpubind_sendrecv_replace_c(address(buf), *count, MPI_Type_f2c(*type), *dest, *sendtag,
                                    *source, *recvtag, MPI_Comm_f2c(*comm), &got));
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_sendrecv_replace(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                                     const MPI_Fint *type, const MPI_Fint *dest,
                                                     const MPI_Fint *sendtag,
                                                     const MPI_Fint *source,
                                                     const MPI_Fint *recvtag, const MPI_Fint *comm,
                                                     MPI_Fint *status, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_sendrecv_replace_c(buf, &wide, type, dest, sendtag, source, recvtag, comm,
                                       status, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_mprobe(const MPI_Fint *source, const MPI_Fint *tag,
                                           const MPI_Fint *comm, gpubind_matched *matched,
                                           struct fortran_message *message, MPI_Fint *ierror)
{
    struct gpubind_message found;
    const int result = gpubind_mprobe(*source, *tag, MPI_Comm_f2c(*comm), matched, &found);

    if (result == MPI_SUCCESS)
        fortran_tell_message(message, &found);
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_improbe(const MPI_Fint *source, const MPI_Fint *tag,
                                            const MPI_Fint *comm, MPI_Fint *flag,
                                            gpubind_matched *matched,
                                            struct fortran_message *message, MPI_Fint *ierror)
{
    struct gpubind_message found;
    int there = 0;
    const int result = gpubind_improbe(*source, *tag, MPI_Comm_f2c(*comm), &there, matched, &found);

    *flag = result == MPI_SUCCESS && there;
    if (*flag)
        fortran_tell_message(message, &found);
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_mrecv_c(const CFI_cdesc_t *buf, const int64_t *count,
                                            const MPI_Fint *type, gpubind_matched *matched,
                                            MPI_Fint *status, MPI_Fint *ierror)
{
    MPI_Status got = {0};

    if (fortran_refuses(buf, MPI_COMM_WORLD, "gpubind_mrecv", ierror))
        return;
    tell(ierror, gpubind_mrecv_c(address(buf), *count, MPI_Type_f2c(*type), matched, &got));
    fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_mrecv(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                          const MPI_Fint *type, gpubind_matched *matched,
                                          MPI_Fint *status, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_mrecv_c(buf, &wide, type, matched, status, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_imrecv_c(const CFI_cdesc_t *buf, const int64_t *count,
                                             const MPI_Fint *type, gpubind_matched *matched,
                                             gpubind_request *request, MPI_Fint *ierror)
{
    *request = GPUBIND_REQUEST_NULL;
    if (fortran_refuses(buf, MPI_COMM_WORLD, "gpubind_imrecv", ierror))
        return;
    tell(ierror, gpubind_imrecv_c(address(buf), *count, MPI_Type_f2c(*type), matched, request));
}

GPUBIND_PUBLIC void gpubind_fortran_imrecv(const CFI_cdesc_t *buf, const MPI_Fint *count,
                                           const MPI_Fint *type, gpubind_matched *matched,
                                           gpubind_request *request, MPI_Fint *ierror)
{
    const int64_t wide = *count;

    gpubind_fortran_imrecv_c(buf, &wide, type, matched, request, ierror);
}

/* ---- requests */

GPUBIND_PUBLIC void gpubind_fortran_testall(const MPI_Fint *n, gpubind_request *requests,
                                            MPI_Fint *flag, MPI_Fint *statuses, MPI_Fint *ierror)
{
    int result = MPI_SUCCESS, ended = 0;
    MPI_Status *got = fortran_statuses(statuses, *n, "gpubind_testall", &result);

    if (result == MPI_SUCCESS) {
        result = gpubind_testall(*n, requests, &ended, got);
        fortran_tell_statuses(statuses, got, ended ? *n : 0);
    }
    *flag = ended;
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_testany(const MPI_Fint *n, gpubind_request *requests,
                                            MPI_Fint *which, MPI_Fint *flag, MPI_Fint *status,
                                            MPI_Fint *ierror)
{
    MPI_Status got = {0};
    int ended = MPI_UNDEFINED, one = 0;

    tell(ierror, gpubind_testany(*n, requests, &ended, &one, &got));
    *which = ended == MPI_UNDEFINED ? MPI_UNDEFINED : ended + 1;
    *flag = one;
    if (one)
        fortran_tell_status(status, &got);
}

static void end_some(int (*call)(int, gpubind_request *, int *, int *, MPI_Status *),
                     const char *name, int n, gpubind_request *requests, MPI_Fint *nended,
                     MPI_Fint *indices, MPI_Fint *statuses, MPI_Fint *ierror)
{
    int result = MPI_SUCCESS;
    MPI_Status *got = fortran_statuses(statuses, n, name, &result);

    *nended = MPI_UNDEFINED;
    if (result == MPI_SUCCESS) {
        result = call(n, requests, nended, indices, got);
        fortran_tell_statuses(statuses, got, *nended == MPI_UNDEFINED ? 0 : *nended);
    }
    for (int i = 0; *nended != MPI_UNDEFINED && i < *nended; i++)
        indices[i]++;
    tell(ierror, result);
}

GPUBIND_PUBLIC void gpubind_fortran_waitsome(const MPI_Fint *n, gpubind_request *requests,
                                             MPI_Fint *nended, MPI_Fint *indices,
                                             MPI_Fint *statuses, MPI_Fint *ierror)
{
    end_some(gpubind_waitsome, "gpubind_waitsome", *n, requests, nended, indices, statuses, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_testsome(const MPI_Fint *n, gpubind_request *requests,
                                             MPI_Fint *nended, MPI_Fint *indices,
                                             MPI_Fint *statuses, MPI_Fint *ierror)
{
    end_some(gpubind_testsome, "gpubind_testsome", *n, requests, nended, indices, statuses, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_request_get_status(const gpubind_request *request,
                                                       MPI_Fint *flag, MPI_Fint *status,
                                                       MPI_Fint *ierror)
{
    MPI_Status got = {0};
    int complete = 0;

    tell(ierror, gpubind_request_get_status(*request, &complete, &got));
    *flag = complete;
    if (complete)
        fortran_tell_status(status, &got);
}

GPUBIND_PUBLIC void gpubind_fortran_cancel(gpubind_request *request, MPI_Fint *ierror)
{
    tell(ierror, gpubind_cancel(request));
}
