! gpubind from Fortran: the calls of gpubind.h, which says what each does.
!
!     use gpubind                  ! beside use mpi, include 'mpif.h' or use mpi_f08
!     mpifort prog.f90 $(pkg-config --cflags --libs gpubind)
!
! Handles are integers or, with use mpi_f08, its types; a status is an integer array
! of MPI_STATUS_SIZE or a type(MPI_Status); counts are integers of 4 or 8 bytes, but of
! 4 in messages on streams; ierror may be left out.
!
! A buffer is either of
!   - a scalar variable of type(c_ptr): the memory that it points to (gpubind_alloc,
!     cudaMalloc). Not a function's result, which gfortran (12 to 14 at least) passes
!     wrongly to any such interface: assign it to a variable first;
!   - anything else, an array or its first element: the memory where it lies, host
!     memory or GPU memory (!$acc host_data use_device). A section must be contiguous:
!     MPI_ERR_BUFFER if not.
!
! A stream is a type(c_ptr), as acc_get_cuda_stream of C gives it, or an integer of 8 bytes,
! as CUDA Fortran has them: integer(cuda_stream_kind). c_null_ptr, or 0 of that kind, is the
! legacy default stream.
!
! There are interfaces only, so no object of this module needs to be linked.

! To CUDA Fortran an array in GPU memory is of another kind, which no buffer would match:
! m4/gpubind_fortran.m4 has looked whether the compiler can be told to overlook that.
#ifdef GPUBIND_IGNORE_DEVICE
#define DEVICE_TOO(buf) !dir$ ignore_tkr (d) buf
#else
#define DEVICE_TOO(buf)
#endif

module gpubind
    use, intrinsic :: iso_c_binding, only : c_bool, c_char, c_int, c_int64_t, c_intptr_t, &
        c_null_ptr, c_ptr
#ifdef GPUBIND_MPI_F08
    use mpi_f08, only : MPI_Comm, MPI_Datatype, MPI_Status
#endif
    implicit none
    private

    public :: MPI_GPUSend, MPI_GPURecv
    public :: gpubind_init, gpubind_finalize, gpubind_comm_attach
    public :: gpubind_sendrecv, gpubind_probe, gpubind_iprobe, gpubind_recv_alloc
    public :: gpubind_isend, gpubind_irecv, gpubind_test, gpubind_wait, gpubind_waitall
    public :: gpubind_waitany, gpubind_progress
    public :: gpubind_ssend, gpubind_issend, gpubind_sendrecv_replace
    public :: gpubind_mprobe, gpubind_improbe, gpubind_mrecv, gpubind_imrecv
    public :: gpubind_waitsome, gpubind_testall, gpubind_testany, gpubind_testsome
    public :: gpubind_request_get_status, gpubind_cancel
    public :: gpubind_send_init, gpubind_recv_init, gpubind_request_free
    public :: gpubind_start, gpubind_startall, gpubind_startall_on_stream
    public :: gpubind_send_on_stream, gpubind_recv_on_stream, gpubind_sendrecv_on_stream
    public :: gpubind_isend_on_stream, gpubind_irecv_on_stream, gpubind_group_on_stream
    public :: gpubind_quiet_on_stream
    public :: gpubind_halo_create, gpubind_halo_start, gpubind_halo_wait
    public :: gpubind_halo_exchange_on_stream, gpubind_halo_place, gpubind_halo_neighbor
    public :: gpubind_halo_free
    public :: gpubind_win_allocate, gpubind_win_pointer, gpubind_win_device, gpubind_win_free
    public :: gpubind_put_on_stream, gpubind_get_on_stream, gpubind_put_signal_on_stream
    public :: gpubind_signal_on_stream, gpubind_wait_signal_on_stream
    public :: gpubind_alloc, gpubind_free, gpubind_release
    public :: gpubind_enable_peer_access, gpubind_peers_print, gpubind_comm_gpus
    public :: gpubind_neighbors, gpubind_rank_at
    public :: gpubind_error_text, gpubind_paths_print

    ! What gpubind_isend and gpubind_irecv make. Ended, its operation is c_null_ptr again:
    ! .not. c_associated(request%operation). That of gpubind_send_init and gpubind_recv_init
    ! stays until gpubind_request_free.
    type, bind(C), public :: gpubind_request
        type(c_ptr) :: operation = c_null_ptr
    end type gpubind_request
    type(gpubind_request), parameter, public :: GPUBIND_REQUEST_NULL = gpubind_request(c_null_ptr)

    ! What gpubind_probe and gpubind_recv_alloc tell. With mpi_f08: MPI_Datatype(message%datatype).
    type, bind(C), public :: gpubind_message
        integer(c_int) :: source, tag
        integer(c_int) :: datatype
        logical(c_bool) :: on_gpu
        integer(c_int64_t) :: count, nbytes
    end type gpubind_message

    ! What gpubind_mprobe and gpubind_improbe take. Its message is 0 when it was received.
    type, bind(C), public :: gpubind_matched
        integer(c_intptr_t) :: message = 0
    end type gpubind_matched
    type(gpubind_matched), parameter, public :: GPUBIND_MATCHED_NULL = gpubind_matched(0)
    type(gpubind_matched), parameter, public :: GPUBIND_MATCHED_NO_PROC = gpubind_matched(1)

    ! The grid of gpubind_halo_create. Dimensions are those of a Fortran array: the first lies
    ! together in memory. Ranks are numbered as MPI_Cart_create does it: the last dimension
    ! runs fastest. element: a datatype; with mpi_f08, its MPI_VAL.
    type, bind(C), public :: gpubind_halo_grid
        integer(c_int) :: ndims = 0
        integer(c_int) :: ranks(3) = 0
        logical(c_bool) :: periodic(3) = .false._c_bool
        integer(c_int) :: cells(3) = 0, width(3) = 0
        integer(c_int) :: pitch = 0
        logical(c_bool) :: corners = .false._c_bool
        integer(c_int) :: element = 0
        integer(c_int) :: flags = 0
    end type gpubind_halo_grid
    integer(c_int), parameter, public :: GPUBIND_HALO_IN_TURN = 1

    ! What gpubind_halo_create makes. Freed, and on ranks without a GPU: its plan is c_null_ptr.
    type, bind(C), public :: gpubind_halo
        type(c_ptr) :: plan = c_null_ptr
    end type gpubind_halo
    type(gpubind_halo), parameter, public :: GPUBIND_HALO_NULL = gpubind_halo(c_null_ptr)

    ! What gpubind_win_allocate makes. Freed, its window is c_null_ptr again.
    type, bind(C), public :: gpubind_win
        type(c_ptr) :: window = c_null_ptr
    end type gpubind_win
    type(gpubind_win), parameter, public :: GPUBIND_WIN_NULL = gpubind_win(c_null_ptr)

    ! What gpubind_enable_peer_access finds between two ranks.
    integer(c_int), parameter, public :: GPUBIND_PEER_NONE = 0
    integer(c_int), parameter, public :: GPUBIND_PEER_DIRECT = 1
    integer(c_int), parameter, public :: GPUBIND_PEER_REMOTE = 2
    integer(c_int), parameter, public :: GPUBIND_PEER_NO_GPU = 3

    ! ---- the same with every kind of handle

    interface
        subroutine gpubind_init(ierror) bind(C, name="gpubind_fortran_init")
            import :: c_int
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_init

        subroutine gpubind_finalize(ierror) bind(C, name="gpubind_fortran_finalize")
            import :: c_int
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_finalize

        subroutine gpubind_progress(ierror) bind(C, name="gpubind_fortran_progress")
            import :: c_int
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_progress

        subroutine gpubind_free(buf, ierror) bind(C, name="gpubind_fortran_free")
            import :: c_int, c_ptr
            type(c_ptr), intent(in) :: buf
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_free

        subroutine gpubind_release(buf, ierror) bind(C, name="gpubind_fortran_release")
            import :: c_int
            type(*), dimension(..), intent(in) :: buf
            DEVICE_TOO(buf)
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_release

        subroutine gpubind_start(request, ierror) bind(C, name="gpubind_fortran_start")
            import :: c_int, gpubind_request
            type(gpubind_request), intent(inout) :: request
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_start

        subroutine gpubind_startall(n, requests, ierror) &
                bind(C, name="gpubind_fortran_startall")
            import :: c_int, gpubind_request
            integer(c_int), intent(in) :: n
            type(gpubind_request), intent(inout) :: requests(*)
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_startall

        subroutine gpubind_request_free(request, ierror) &
                bind(C, name="gpubind_fortran_request_free")
            import :: c_int, gpubind_request
            type(gpubind_request), intent(inout) :: request
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_request_free

        subroutine gpubind_cancel(request, ierror) bind(C, name="gpubind_fortran_cancel")
            import :: c_int, gpubind_request
            type(gpubind_request), intent(inout) :: request
            integer(c_int), intent(out), optional :: ierror
        end subroutine gpubind_cancel

        ! The matrix of gpubind_enable_peer_access, on standard output.
        subroutine gpubind_peers_print(access) bind(C, name="gpubind_fortran_peers_print")
            import :: c_int
            integer(c_int), intent(in) :: access(:, :)
        end subroutine gpubind_peers_print

        ! Blank-padded, cut where text is too short.
        subroutine gpubind_error_text(text) bind(C, name="gpubind_fortran_error_text")
            import :: c_char
            character(kind=c_char, len=*), intent(out) :: text
        end subroutine gpubind_error_text
    end interface

    interface gpubind_alloc
        subroutine alloc(buf, nbytes, ierror) bind(C, name="gpubind_fortran_alloc")
            import :: c_int, c_ptr
            type(c_ptr), intent(out) :: buf
            integer(c_int), intent(in) :: nbytes
            integer(c_int), intent(out), optional :: ierror
        end subroutine alloc
        subroutine alloc_c(buf, nbytes, ierror) bind(C, name="gpubind_fortran_alloc_c")
            import :: c_int, c_int64_t, c_ptr
            type(c_ptr), intent(out) :: buf
            integer(c_int64_t), intent(in) :: nbytes
            integer(c_int), intent(out), optional :: ierror
        end subroutine alloc_c
    end interface

    interface gpubind_startall_on_stream
        subroutine startall_on_stream(n, requests, stream, ierror) &
                bind(C, name="gpubind_fortran_startall_on_stream")
            import :: c_int, c_ptr, gpubind_request
            integer(c_int), intent(in) :: n
            type(gpubind_request), intent(inout) :: requests(*)
            type(c_ptr), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine startall_on_stream
        subroutine startall_on_stream_number(n, requests, stream, ierror) &
                bind(C, name="gpubind_fortran_startall_on_stream")
            import :: c_int, c_intptr_t, gpubind_request
            integer(c_int), intent(in) :: n
            type(gpubind_request), intent(inout) :: requests(*)
            integer(c_intptr_t), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine startall_on_stream_number
    end interface

    interface gpubind_group_on_stream
        subroutine group_on_stream(stream, ierror) &
                bind(C, name="gpubind_fortran_group_on_stream")
            import :: c_int, c_ptr
            type(c_ptr), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine group_on_stream
        subroutine group_on_stream_number(stream, ierror) &
                bind(C, name="gpubind_fortran_group_on_stream")
            import :: c_int, c_intptr_t
            integer(c_intptr_t), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine group_on_stream_number
    end interface

    interface gpubind_quiet_on_stream
        subroutine quiet_on_stream(stream, ierror) &
                bind(C, name="gpubind_fortran_quiet_on_stream")
            import :: c_int, c_ptr
            type(c_ptr), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine quiet_on_stream
        subroutine quiet_on_stream_number(stream, ierror) &
                bind(C, name="gpubind_fortran_quiet_on_stream")
            import :: c_int, c_intptr_t
            integer(c_intptr_t), intent(in) :: stream
            integer(c_int), intent(out), optional :: ierror
        end subroutine quiet_on_stream_number
    end interface

#include "gpubind_halo.inc"
#include "gpubind_window.inc"
#include "gpubind_integer.inc"
#include "gpubind_calls_integer.inc"
#include "gpubind_stream_integer.inc"
#ifdef GPUBIND_MPI_F08
#include "gpubind_f08.inc"
#include "gpubind_calls_f08.inc"
#include "gpubind_stream_f08.inc"
#endif
end module gpubind
