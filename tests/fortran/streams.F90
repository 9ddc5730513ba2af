! Two ranks: messages that are set up once, and messages on streams, of both kinds of
! streams. Compiled for the handles of mpi and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define STATUS type(MPI_Status)
#else
#define HANDLES mpi
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
program streams
    use, intrinsic :: iso_c_binding
    use HANDLES
    use gpubind
    use checks
    use device
    implicit none

    integer, parameter :: n = 1000
    integer :: rank, other, ierr
    integer(c_intptr_t) :: number
    type(c_ptr) :: stream, gpu
    double precision, target :: sent(n), wanted(n), got(n), read(n)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    other = 1 - rank
    call device_start()
    stream = device_stream()
    number = transfer(stream, number)
    call gpubind_alloc(gpu, 8 * n, ierr)

    call on_stream()
    call on_stream_at_once()
    call on_stream_later()
    call on_stream_errors()
    call one_by_one()
    call all_at_once()
    call persistent_errors()

    call gpubind_free(gpu, ierr)
    call checks_end()
    call MPI_Finalize(ierr)

contains

    ! What the ranks send differs from one time to the next.
    subroutine fill(time)
        integer, intent(in) :: time
        integer :: i

        sent = [(1000 * rank + 10000 * time + i, i = 1, n)]
        wanted = [(1000 * other + 10000 * time + i, i = 1, n)]
        got = -1
        read = -1
        call device_write(gpu, c_loc(sent), 8 * n)
    end subroutine fill

    logical function is_gpu(array)
        double precision, intent(in) :: array(n)

        call device_read(c_loc(read), gpu, 8 * n)
        is_gpu = all(read == array)
    end function is_gpu

    ! One rank sends from GPU memory what the other gets in an array, then both turn round.
    subroutine on_stream()
        logical :: good

        call fill(1)
        if (rank == 0) then
            call gpubind_send_on_stream(gpu, n, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, &
                                        stream, ierr)
            call gpubind_recv_on_stream(gpu, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 1, &
                                        MPI_COMM_WORLD, number, ierr)
            call device_wait(stream)
            good = is_gpu(wanted)
        else
            call gpubind_recv_on_stream(got, n, MPI_DOUBLE_PRECISION, 0, MPI_ANY_TAG, &
                                        MPI_COMM_WORLD, stream, ierr)
            call gpubind_send_on_stream(sent(1), n, MPI_DOUBLE_PRECISION, 0, 1, &
                                        MPI_COMM_WORLD, number)
            call device_wait(stream)
            good = all(got == wanted)
        end if
        call check(good .and. ierr == MPI_SUCCESS, 'send and receive on a stream')
    end subroutine on_stream

    ! Both send from an array and receive in GPU memory at the same time, then the other way round.
    subroutine on_stream_at_once()
        logical :: good

        call fill(4)
        call gpubind_sendrecv_on_stream(sent, n, MPI_DOUBLE_PRECISION, other, 0, &
                                        gpu, n, MPI_DOUBLE_PRECISION, other, 0, &
                                        MPI_COMM_WORLD, stream, ierr)
        call device_wait(stream)
        good = is_gpu(wanted) .and. ierr == MPI_SUCCESS
        call gpubind_sendrecv_on_stream(gpu, n, MPI_DOUBLE_PRECISION, other, 0, &
                                        got, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 0, &
                                        MPI_COMM_WORLD, number, ierr)
        call device_wait(stream)
        call check(good .and. all(got == sent) .and. ierr == MPI_SUCCESS, &
                   'send and receive at once on a stream')
    end subroutine on_stream_at_once

    ! As acc_get_cuda_stream gives one.
    function stream_of(queue)
        integer, intent(in) :: queue
        type(c_ptr) :: stream_of

        stream_of = merge(stream, c_null_ptr, queue > 0)
    end function stream_of

    subroutine on_stream_later()
        integer :: time

        do time = 2, 3
            call fill(time)
            if (time == 2) then
                call gpubind_group_on_stream(stream, ierr)
                call gpubind_irecv_on_stream(got, n, MPI_DOUBLE_PRECISION, other, 2, &
                                             MPI_COMM_WORLD, stream, ierr)
                call gpubind_isend_on_stream(gpu, n, MPI_DOUBLE_PRECISION, other, 2, &
                                             MPI_COMM_WORLD, stream, ierr)
                call gpubind_quiet_on_stream(stream_of(time), ierr)
            else
                call gpubind_group_on_stream(number)
                call gpubind_irecv_on_stream(got, n, MPI_DOUBLE_PRECISION, other, 2, &
                                             MPI_COMM_WORLD, number)
                call gpubind_isend_on_stream(gpu, n, MPI_DOUBLE_PRECISION, other, 2, &
                                             MPI_COMM_WORLD, number)
                call gpubind_quiet_on_stream(number)
            end if
            call device_wait(stream)
            call check(ierr == MPI_SUCCESS .and. all(got == wanted), trim(merge( &
                       'later work need not wait for messages                 ', &
                       'the same with a stream as a number and without ierror ', time == 2)))
        end do
    end subroutine on_stream_later

    logical function says(text)
        character(len=*), intent(in) :: text
        character(len=300) :: said

        call gpubind_error_text(said)
        says = index(said, text) > 0
    end function says

    subroutine on_stream_errors()
        call gpubind_send_on_stream(gpu, n, MPI_DOUBLE_PRECISION, 2, 0, MPI_COMM_WORLD, stream, ierr)
        call check(ierr == MPI_ERR_RANK .and. says('gpubind_send_on_stream: '), &
                   'a send on a stream to a rank that is not')
        call gpubind_irecv_on_stream(gpu, -1, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, &
                                     number, ierr)
        call check(ierr == MPI_ERR_COUNT, 'a negative count')
        call gpubind_recv_on_stream(got(::2), 2, MPI_DOUBLE_PRECISION, other, 0, &
                                    MPI_COMM_WORLD, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('gpubind_recv_on_stream: '), &
                   'elements that lie apart are not received on a stream')
        call gpubind_isend_on_stream(got(::2), 2, MPI_DOUBLE_PRECISION, other, 0, &
                                     MPI_COMM_WORLD, stream, ierr)
        call check(ierr == MPI_ERR_BUFFER, '... nor sent')
        call gpubind_send_on_stream(got, n, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 0, &
                                    MPI_COMM_WORLD, stream, ierr)
        call check(ierr == MPI_SUCCESS, 'a send on a stream to nobody')
    end subroutine on_stream_errors

    ! Started twice each; the requests stay. The ends are found by wait, test and waitany.
    subroutine one_by_one()
        type(gpubind_request) :: both(2)
        STATUS :: status
        integer :: time, which, count
        logical :: ended, good

        call gpubind_recv_init(got, n, MPI_DOUBLE_PRECISION, other, 5, MPI_COMM_WORLD, both(1), ierr)
        call gpubind_send_init(gpu, n, MPI_DOUBLE_PRECISION, other, 5, MPI_COMM_WORLD, both(2), ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(both(1)%operation) .and. &
                   c_associated(both(2)%operation), 'messages are set up')
        good = .true.
        do time = 4, 5
            call fill(time)
            call gpubind_start(both(1), ierr)
            good = good .and. ierr == MPI_SUCCESS
            call gpubind_start(both(2), ierr)
            good = good .and. ierr == MPI_SUCCESS
            if (time == 4) then
                call gpubind_wait(both(1), status, ierr)
                ended = .false.
                do while (.not. ended)
                    call gpubind_test(both(2), ended, MPI_STATUS_IGNORE, ierr)
                end do
                call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
                good = good .and. count == n
            else
                call gpubind_waitany(2, both, which, MPI_STATUS_IGNORE, ierr)
                good = good .and. which >= 1 .and. which <= 2
                call gpubind_waitall(2, both, MPI_STATUSES_IGNORE, ierr)
            end if
            good = good .and. ierr == MPI_SUCCESS .and. all(got == wanted) .and. &
                   c_associated(both(1)%operation) .and. c_associated(both(2)%operation)
        end do
        call check(good, 'they are started and waited for, twice')
        call gpubind_request_free(both(1), ierr)
        good = ierr == MPI_SUCCESS .and. .not. c_associated(both(1)%operation)
        call gpubind_request_free(both(2))
        call check(good .and. .not. c_associated(both(2)%operation), '... and freed')
    end subroutine one_by_one

    ! Between GPUs, by the host and on a stream of either kind.
    subroutine all_at_once()
        type(gpubind_request) :: both(2)
        type(c_ptr) :: from
        integer :: time, i
        logical :: good

        call gpubind_alloc(from, 8 * n, ierr)
        call gpubind_recv_init(gpu, n, MPI_DOUBLE_PRECISION, other, 6, MPI_COMM_WORLD, both(1), ierr)
        call gpubind_send_init(from, n, MPI_DOUBLE_PRECISION, other, 6, MPI_COMM_WORLD, both(2), ierr)
        good = ierr == MPI_SUCCESS
        do time = 6, 8
            call fill(time)
            call device_write(from, c_loc(sent), 8 * n)
            if (time == 6) then
                call gpubind_startall(2, both, ierr)
                good = good .and. ierr == MPI_SUCCESS
                call gpubind_waitall(2, both, MPI_STATUSES_IGNORE, ierr)
            else if (time == 7) then
                call gpubind_startall_on_stream(2, both, stream, ierr)
            else
                call gpubind_startall_on_stream(2, both, number, ierr)
            end if
            call device_wait(stream)
            good = good .and. ierr == MPI_SUCCESS .and. is_gpu(wanted)
        end do
        do i = 1, 2
            call gpubind_request_free(both(i), ierr)
            good = good .and. ierr == MPI_SUCCESS
        end do
        call gpubind_free(from, ierr)
        call check(good .and. ierr == MPI_SUCCESS, 'they are started together, also on a stream')
    end subroutine all_at_once

    subroutine persistent_errors()
        type(gpubind_request) :: request, both(2)

        call gpubind_send_init(gpu, n, MPI_DOUBLE_PRECISION, 2, 0, MPI_COMM_WORLD, request, ierr)
        call check(ierr == MPI_ERR_RANK .and. .not. c_associated(request%operation), &
                   'no message is set up to a rank that is not')
        call gpubind_recv_init(got(::2), 2, MPI_DOUBLE_PRECISION, other, 0, MPI_COMM_WORLD, &
                               request, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('gpubind_recv_init: ') .and. &
                   .not. c_associated(request%operation), '... nor into elements that lie apart')
        call gpubind_start(request, ierr)
        call check(ierr == MPI_ERR_REQUEST .and. says('gpubind_start: '), 'no request is no start')
        call gpubind_startall(-1, both, ierr)
        call check(ierr == MPI_ERR_COUNT, '-1 requests')
        call gpubind_startall_on_stream(2, both, number, ierr)
        call check(ierr == MPI_ERR_REQUEST, 'no requests for a stream')
        call gpubind_request_free(request, ierr)
        call check(ierr == MPI_ERR_REQUEST, 'nothing is freed')

        call gpubind_irecv(got, n, MPI_DOUBLE_PRECISION, other, 7, MPI_COMM_WORLD, request, ierr)
        call gpubind_start(request, ierr)
        call check(ierr == MPI_ERR_REQUEST, 'what gpubind_irecv made is not started')
        call MPI_GPUSend(sent, n, MPI_DOUBLE_PRECISION, other, 7, MPI_COMM_WORLD, ierr)
        call gpubind_wait(request, MPI_STATUS_IGNORE, ierr)
        call check(ierr == MPI_SUCCESS .and. .not. c_associated(request%operation), &
                   '... but waited for')
    end subroutine persistent_errors
end program streams
