! Two ranks: windows, and streams that put to them, get from them, signal and wait, with
! both kinds of streams and of numbers. Compiled for the handles of mpi and, with F08, of
! mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#else
#define HANDLES mpi
#endif
program windows
    use, intrinsic :: iso_c_binding
    use HANDLES
    use gpubind
    use checks
    use device
    implicit none

    integer, parameter :: n = 500
    integer(c_int64_t), parameter :: wide = 8 * n, one = 1, two = 2, zero = 0
    integer :: rank, other, ierr, step
    integer(c_intptr_t) :: number
    type(c_ptr) :: stream, from, mine
    type(gpubind_win) :: win
    integer(c_int64_t), target :: sent(n), wanted(n), got(n)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    other = 1 - rank
    call device_start()
    stream = device_stream()
    number = transfer(stream, number)
    call gpubind_alloc(from, 8 * n, ierr)
    step = 0

    call made()
    call put_and_signal()
    call get()
    call errors()

    call gpubind_win_free(win, ierr)
    call check(ierr == MPI_SUCCESS .and. .not. c_associated(win%window), 'a window is freed')
    call gpubind_win_free(win, ierr)
    call check(ierr == MPI_SUCCESS, '... which does nothing twice')
    win = GPUBIND_WIN_NULL
    call gpubind_win_free(win, ierr)
    call check(ierr == MPI_SUCCESS .and. .not. c_associated(win%window), 'no window is freed')
    call gpubind_free(from, ierr)
    call checks_end()
    call MPI_Finalize(ierr)

contains

    subroutine made()
        type(gpubind_win) :: small
        type(c_ptr) :: table, at
        integer(c_int64_t) :: nbytes

        call gpubind_win_allocate(MPI_COMM_WORLD, 2 * wide, 3, win, ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(win%window), 'a window is made')
        call gpubind_win_pointer(win, rank, mine, ierror=ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(mine), 'it has memory here')
        call gpubind_win_pointer(win, other, at, nbytes, ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(at) .and. nbytes == 2 * wide, &
                   '... and on the other rank')
        if (.not. c_associated(at)) error stop 'the GPUs do not reach each other'
        call gpubind_win_device(win, table, ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(table), 'there is a table for kernels')
        call gpubind_win_allocate(MPI_COMM_WORLD, 8 * rank, 0, small, ierr)
        call gpubind_win_pointer(small, 1, nbytes=nbytes)
        call check(ierr == MPI_SUCCESS .and. nbytes == 8, 'a window of another size on each rank')
        call gpubind_win_free(small)
        call gpubind_win_allocate(MPI_COMM_WORLD, -8, 0, small, ierr)
        call check(ierr == MPI_ERR_NO_MEM .and. .not. c_associated(small%window), &
                   'no window has a negative size')
        call gpubind_win_allocate(MPI_COMM_WORLD, zero, -1, small, ierr)
        call check(ierr == MPI_ERR_ARG, '... nor a negative number of signals')
    end subroutine made

    ! What goes to the other rank in the next step, the same in all of its numbers.
    subroutine next()
        step = step + 1
        sent = 100 * step + rank
        wanted = 100 * step + other
        got = -1
        call device_write(from, c_loc(sent), 8 * n)
    end subroutine next

    ! Signal 0 says that the data are there; signal 1 that they were read.
    subroutine arrived(nbytes, text)
        integer, intent(in) :: nbytes
        character(len=*), intent(in) :: text

        call device_wait(stream)
        call device_read(c_loc(got), device_at(mine, nbytes), 8 * n)
        call check(ierr == MPI_SUCCESS .and. all(got == wanted), text)
        call gpubind_signal_on_stream(1, step, other, win, stream)
        call gpubind_wait_signal_on_stream(1, step, win, stream)
    end subroutine arrived

    subroutine put_and_signal()
        call next()
        call gpubind_put_on_stream(from, 8 * n, other, 0, win, stream, ierr)
        call gpubind_signal_on_stream(0, step, other, win, stream, ierr)
        call gpubind_wait_signal_on_stream(0, step, win, stream, ierr)
        call arrived(0, 'a put and a signal')
        call next()
        call gpubind_put_on_stream(sent, 8 * n, other, 8 * n, win, number, ierr)
        call gpubind_signal_on_stream(0, step, other, win, number, ierr)
        call gpubind_wait_signal_on_stream(0, step, win, number, ierr)
        call arrived(8 * n, 'from an array, to an offset, with a stream as a number')
        call next()
        call gpubind_put_on_stream(from, wide, other, wide, win, stream, ierr)
        call gpubind_signal_on_stream(0, step * one, other, win, stream, ierr)
        call gpubind_wait_signal_on_stream(0, step * one, win, stream, ierr)
        call arrived(8 * n, 'with numbers of 8 bytes')
        call next()
        call gpubind_put_on_stream(from, wide, other, zero, win, number, ierr)
        call gpubind_signal_on_stream(0, step * one, other, win, number, ierr)
        call gpubind_wait_signal_on_stream(0, step * one, win, number, ierr)
        call arrived(0, '... and a stream as a number')

        call next()
        call gpubind_put_signal_on_stream(from, 8 * n, 0, step, other, 0, win, stream, ierr)
        call gpubind_wait_signal_on_stream(0, step, win, stream)
        call arrived(0, 'both in one')
        call next()
        call gpubind_put_signal_on_stream(from, 8 * n, 0, step, other, 0, win, number, ierr)
        call gpubind_wait_signal_on_stream(0, step, win, number)
        call arrived(0, '... with a stream as a number')
        call next()
        call gpubind_put_signal_on_stream(from, wide, 0, step * one, other, wide, win, stream, ierr)
        call gpubind_wait_signal_on_stream(0, step * one, win, stream)
        call arrived(8 * n, '... with numbers of 8 bytes')
        call next()
        call gpubind_put_signal_on_stream(from, wide, 0, step * one, other, wide, win, number)
        call gpubind_wait_signal_on_stream(0, step * one, win, number)
        call arrived(8 * n, '... both, and no ierror')
    end subroutine put_and_signal

    ! Of what the other rank was given last, which is what was sent last.
    subroutine get()
        got = -1
        call gpubind_get_on_stream(got, 8 * n, other, 8 * n, win, stream, ierr)
        call device_wait(stream)
        call check(ierr == MPI_SUCCESS .and. all(got == sent), 'a get')
        got = -1
        call gpubind_get_on_stream(got, 8 * n, other, 8 * n, win, number)
        call device_wait(stream)
        call check(all(got == sent), '... with a stream as a number')
        got = -1
        call gpubind_get_on_stream(got, wide, other, wide, win, stream)
        call device_wait(stream)
        call check(all(got == sent), '... with numbers of 8 bytes')
        got = -1
        call gpubind_get_on_stream(got(n), 8 * one, other, wide, win, number, ierr)
        call device_wait(stream)
        call check(ierr == MPI_SUCCESS .and. got(n) == sent(1) .and. all(got(1:n-1) == -1), &
                   '... of one element')
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
    end subroutine get

    logical function says(text)
        character(len=*), intent(in) :: text
        character(len=300) :: said

        call gpubind_error_text(said)
        says = index(said, text) > 0
    end function says

    subroutine errors()
        type(gpubind_win) :: none
        type(c_ptr) :: at

        call gpubind_put_on_stream(from, 8, 2, 0, win, stream, ierr)
        call check(ierr == MPI_ERR_RANK .and. says('gpubind_put_on_stream: '), 'a rank that is not')
        call gpubind_put_on_stream(from, 8, MPI_PROC_NULL, 0, win, stream, ierr)
        call check(ierr == MPI_SUCCESS, 'nobody')
        call gpubind_get_on_stream(got, wide, other, wide + 1, win, stream, ierr)
        call check(ierr == MPI_ERR_RMA_RANGE, 'more than the window has')
        call gpubind_get_on_stream(got, -8, other, 0, win, stream, ierr)
        call check(ierr == MPI_ERR_RMA_RANGE, '-8 bytes')
        call gpubind_put_on_stream(from, 8, other, -8, win, number, ierr)
        call check(ierr == MPI_ERR_RMA_RANGE, 'an offset of -8')
        call gpubind_put_on_stream(got(::2), 8, other, 0, win, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('gpubind_put_on_stream: '), &
                   'elements that lie apart')
        call gpubind_get_on_stream(got(::2), 8, other, 0, win, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER, '... of a get')
        call gpubind_put_signal_on_stream(got(::2), 8, 0, 1, other, 0, win, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER, '... of both in one')
        call gpubind_signal_on_stream(3, 1, other, win, stream, ierr)
        call check(ierr == MPI_ERR_ARG, 'a signal that is not')
        call gpubind_wait_signal_on_stream(-1, two, win, stream, ierr)
        call check(ierr == MPI_ERR_ARG, '... to wait for')
        call gpubind_put_on_stream(got(::2), 8, other, 0, none, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER, 'no window, and elements that lie apart')
        call gpubind_signal_on_stream(0, 1, other, none, number, ierr)
        call check(ierr == MPI_ERR_WIN, 'no window')
        call gpubind_win_pointer(none, 0, at, ierror=ierr)
        call check(ierr == MPI_ERR_WIN .and. .not. c_associated(at), '... has no memory')
        call gpubind_win_device(none, at, ierr)
        call check(ierr == MPI_ERR_WIN .and. .not. c_associated(at), '... no table')
    end subroutine errors
end program windows
