/* The functions behind the interfaces of gpubind.F90: windows. A negative size or offset becomes
 * one that exceeds any window. */
#include "mpi/core/context.h"
#include "mpi/fortran/fortran.h"
#include "mpi/rma/window.h"

/* Called from Fortran alone. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

GPUBIND_PUBLIC void gpubind_fortran_win_allocate_c(const MPI_Fint *comm, const int64_t *nbytes,
                                                   const MPI_Fint *nsignals, gpubind_win *win,
                                                   MPI_Fint *ierror)
{
    tell(ierror, gpubind_win_allocate(MPI_Comm_f2c(*comm), (size_t)*nbytes, *nsignals, win));
}

GPUBIND_PUBLIC void gpubind_fortran_win_allocate(const MPI_Fint *comm, const MPI_Fint *nbytes,
                                                 const MPI_Fint *nsignals, gpubind_win *win,
                                                 MPI_Fint *ierror)
{
    const int64_t wide = *nbytes;

    gpubind_fortran_win_allocate_c(comm, &wide, nsignals, win, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_win_pointer(const gpubind_win *win, const MPI_Fint *rank,
                                                void **pointer, int64_t *nbytes, MPI_Fint *ierror)
{
    void *at = NULL;
    size_t size = 0;

    tell(ierror, gpubind_win_pointer(*win, *rank, &at, &size));
    if (pointer)
        *pointer = at;
    if (nbytes)
        *nbytes = (int64_t)size;
}

GPUBIND_PUBLIC void gpubind_fortran_win_device(const gpubind_win *win,
                                               const struct gpubind_device_win **device,
                                               MPI_Fint *ierror)
{
    tell(ierror, gpubind_win_device(*win, device));
}

GPUBIND_PUBLIC void gpubind_fortran_win_free(gpubind_win *win, MPI_Fint *ierror)
{
    tell(ierror, gpubind_win_free(win));
}

/* ---- on a stream */

/* Calls the error handler of the window's communicator. */
static bool refused(const CFI_cdesc_t *buf, gpubind_win win, const char *call, MPI_Fint *ierror)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    library_lock();
    if (window_check(win, NULL) == MPI_SUCCESS)
        comm = win->comm->user;
    library_unlock();
    return fortran_refuses(buf, comm, call, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_put_on_stream_c(const CFI_cdesc_t *buf, const int64_t *nbytes,
                                                    const MPI_Fint *target, const int64_t *offset,
                                                    const gpubind_win *win,
                                                    const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (refused(buf, *win, "gpubind_put_on_stream", ierror))
        return;
    tell(ierror, gpubind_put_on_stream(address(buf), (size_t)*nbytes, *target, (size_t)*offset,
                                       *win, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_put_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *nbytes,
                                                  const MPI_Fint *target, const MPI_Fint *offset,
                                                  const gpubind_win *win,
                                                  const gpubind_stream *stream, MPI_Fint *ierror)
{
    const int64_t wide = *nbytes, at = *offset;

    gpubind_fortran_put_on_stream_c(buf, &wide, target, &at, win, stream, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_get_on_stream_c(const CFI_cdesc_t *buf, const int64_t *nbytes,
                                                    const MPI_Fint *target, const int64_t *offset,
                                                    const gpubind_win *win,
                                                    const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (refused(buf, *win, "gpubind_get_on_stream", ierror))
        return;
    tell(ierror, gpubind_get_on_stream(address(buf), (size_t)*nbytes, *target, (size_t)*offset,
                                       *win, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_get_on_stream(const CFI_cdesc_t *buf, const MPI_Fint *nbytes,
                                                  const MPI_Fint *target, const MPI_Fint *offset,
                                                  const gpubind_win *win,
                                                  const gpubind_stream *stream, MPI_Fint *ierror)
{
    const int64_t wide = *nbytes, at = *offset;

    gpubind_fortran_get_on_stream_c(buf, &wide, target, &at, win, stream, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_signal_on_stream_c(const MPI_Fint *signal, const int64_t *value,
                                                       const MPI_Fint *target,
                                                       const gpubind_win *win,
                                                       const gpubind_stream *stream,
                                                       MPI_Fint *ierror)
{
    tell(ierror,
         gpubind_signal_on_stream(*signal, (unsigned long long)*value, *target, *win, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_signal_on_stream(const MPI_Fint *signal, const MPI_Fint *value,
                                                     const MPI_Fint *target, const gpubind_win *win,
                                                     const gpubind_stream *stream, MPI_Fint *ierror)
{
    const int64_t wide = *value;

    gpubind_fortran_signal_on_stream_c(signal, &wide, target, win, stream, ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_put_signal_on_stream_c(
    const CFI_cdesc_t *buf, const int64_t *nbytes, const MPI_Fint *signal, const int64_t *value,
    const MPI_Fint *target, const int64_t *offset, const gpubind_win *win,
    const gpubind_stream *stream, MPI_Fint *ierror)
{
    if (refused(buf, *win, "gpubind_put_signal_on_stream", ierror))
        return;
    tell(ierror, gpubind_put_signal_on_stream(address(buf), (size_t)*nbytes, *signal,
                                              (unsigned long long)*value, *target, (size_t)*offset,
                                              *win, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_put_signal_on_stream(
    const CFI_cdesc_t *buf, const MPI_Fint *nbytes, const MPI_Fint *signal, const MPI_Fint *value,
    const MPI_Fint *target, const MPI_Fint *offset, const gpubind_win *win,
    const gpubind_stream *stream, MPI_Fint *ierror)
{
    const int64_t wide = *nbytes, number = *value, at = *offset;

    gpubind_fortran_put_signal_on_stream_c(buf, &wide, signal, &number, target, &at, win, stream,
                                           ierror);
}

GPUBIND_PUBLIC void gpubind_fortran_wait_signal_on_stream_c(const MPI_Fint *signal,
                                                            const int64_t *value,
                                                            const gpubind_win *win,
                                                            const gpubind_stream *stream,
                                                            MPI_Fint *ierror)
{
    tell(ierror, gpubind_wait_signal_on_stream(*signal, (unsigned long long)*value, *win, *stream));
}

GPUBIND_PUBLIC void gpubind_fortran_wait_signal_on_stream(const MPI_Fint *signal,
                                                          const MPI_Fint *value,
                                                          const gpubind_win *win,
                                                          const gpubind_stream *stream,
                                                          MPI_Fint *ierror)
{
    const int64_t wide = *value;

    gpubind_fortran_wait_signal_on_stream_c(signal, &wide, win, stream, ierror);
}
