! Two ranks: synchronous sends, taken messages, lists of requests. Compiled for the handles of
! mpi and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define STATUS type(MPI_Status)
#define STATUSES(n) type(MPI_Status), dimension(n)
#define AT(i) i
#else
#define HANDLES mpi
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(n) integer, dimension(MPI_STATUS_SIZE, n)
#define AT(i) :, i
#endif
program calls
    use, intrinsic :: iso_c_binding
    use HANDLES
    use gpubind
    use checks
    implicit none

    integer, parameter :: n = 600
    integer :: rank, other, ierr
    double precision :: sent(n), got(n)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    other = 1 - rank
    call random_number(sent)
    call MPI_Bcast(sent, n, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)

    call synchronous()
    call replaced()
    call taken()
    call all_or_none()
    call one_of_them()
    call some_of_them(.true.)
    call some_of_them(.false.)
    call looked_at()
    call cancelled()
    call set_up()
    call errors()

    call checks_end()
    call MPI_Finalize(ierr)

contains

    logical function is_status(status, source, tag, count)
        STATUS, intent(in) :: status
        integer, intent(in) :: source, tag, count
        integer :: has, ierr

        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, has, ierr)
#ifdef F08
        is_status = status%MPI_SOURCE == source .and. status%MPI_TAG == tag .and. has == count
#else
        is_status = status(MPI_SOURCE) == source .and. status(MPI_TAG) == tag .and. has == count
#endif
    end function is_status

    logical function is_null(request)
        type(gpubind_request), intent(in) :: request

        is_null = .not. c_associated(request%operation)
    end function is_null

    subroutine synchronous()
        integer(MPI_COUNT_KIND), parameter :: many = n
        type(gpubind_request) :: requests(2)
        logical :: ended, good

        good = .true.
        requests = GPUBIND_REQUEST_NULL
        if (rank == 0) then
            call gpubind_issend(sent, n, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, requests(1), ierr)
            call gpubind_issend(sent, many, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, requests(2))
            call gpubind_test(requests(1), ended, MPI_STATUS_IGNORE, ierr)
            good = .not. ended
            call MPI_Barrier(MPI_COMM_WORLD, ierr)
            call gpubind_waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
            call gpubind_ssend(sent, n, MPI_DOUBLE_PRECISION, 1, 3, MPI_COMM_WORLD, ierr)
            call gpubind_ssend(sent, many, MPI_DOUBLE_PRECISION, 1, 4, MPI_COMM_WORLD)
        else
            call MPI_Barrier(MPI_COMM_WORLD, ierr)
            call receive(2, good)
            call receive(1, good)
            call receive(3, good)
            call receive(4, good)
        end if
        call check(good .and. ierr == MPI_SUCCESS .and. is_null(requests(1)), 'synchronous sends')
    end subroutine synchronous

    subroutine receive(tag, good)
        integer, intent(in) :: tag
        logical, intent(inout) :: good
        STATUS :: status

        got = 0
        call MPI_GPURecv(got, n, MPI_DOUBLE_PRECISION, 0, tag, MPI_COMM_WORLD, status, ierr)
        good = good .and. is_status(status, 0, tag, n) .and. all(got == sent)
    end subroutine receive

    subroutine replaced()
        STATUS :: status
        logical :: good

        got = sent + rank
        call gpubind_sendrecv_replace(got, n, MPI_DOUBLE_PRECISION, other, 5, other, 5, &
                                      MPI_COMM_WORLD, status, ierr)
        good = ierr == MPI_SUCCESS .and. is_status(status, other, 5, n) .and. &
               all(got == sent + other)
        call gpubind_sendrecv_replace(got, int(n, MPI_COUNT_KIND), MPI_DOUBLE_PRECISION, other, 5, &
                                      other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call check(good .and. all(got == sent + rank), 'what comes replaces what was sent')
    end subroutine replaced

    subroutine taken()
        type(gpubind_matched) :: matched
        type(gpubind_message) :: message
        type(gpubind_request) :: request
        STATUS :: status
        logical :: there, good

        good = .true.
        if (rank == 0) then
            call MPI_GPUSend(sent, n, MPI_DOUBLE_PRECISION, 1, 6, MPI_COMM_WORLD, ierr)
            call MPI_GPUSend(sent, n, MPI_DOUBLE_PRECISION, 1, 7, MPI_COMM_WORLD, ierr)
        else
            call gpubind_mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, matched, message, ierr)
            good = message%source == 0 .and. message%tag == 6 .and. message%count == n
            call gpubind_mrecv(got, n, MPI_DOUBLE_PRECISION, matched, status, ierr)
            good = good .and. is_status(status, 0, 6, n) .and. all(got == sent) .and. &
                   matched%message == GPUBIND_MATCHED_NULL%message
            there = .false.
            do while (.not. there)
                call gpubind_improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, there, matched)
            end do
            got = 0
            call gpubind_imrecv(got, int(n, MPI_COUNT_KIND), MPI_DOUBLE_PRECISION, matched, request)
            call gpubind_wait(request, status, ierr)
            good = good .and. is_status(status, 0, 7, n) .and. all(got == sent)
        end if
        call gpubind_mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, matched, ierror=ierr)
        good = good .and. matched%message == GPUBIND_MATCHED_NO_PROC%message
        call gpubind_imrecv(got, n, MPI_DOUBLE_PRECISION, matched, request, ierr)
        call gpubind_wait(request, status, ierr)
        good = good .and. is_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0)
        call check(good .and. ierr == MPI_SUCCESS, 'messages that are taken')
    end subroutine taken

    ! Rank 0 receives parts 1 to 4 of what the other sends, in the opposite order.
    subroutine begin(requests)
        type(gpubind_request), intent(out) :: requests(4)
        integer, parameter :: part = n / 4
        integer :: i

        got = 0
        do i = 1, 4
            if (rank == 0) then
                call gpubind_irecv(got(1 + (i - 1) * part), part, MPI_DOUBLE_PRECISION, 1, i, &
                                   MPI_COMM_WORLD, requests(i), ierr)
            else
                call gpubind_isend(sent(1 + (4 - i) * part), part, MPI_DOUBLE_PRECISION, 0, 5 - i, &
                                   MPI_COMM_WORLD, requests(i), ierr)
            end if
        end do
    end subroutine begin

    logical function all_came()
        all_came = rank == 1 .or. all(got == sent)
    end function all_came

    subroutine all_or_none()
        type(gpubind_request) :: requests(4)
        STATUSES(4) :: several
        logical :: ended, good
        integer :: i

        call begin(requests)
        ended = .false.
        do while (.not. ended)
            call gpubind_testall(4, requests, ended, several, ierr)
        end do
        good = ierr == MPI_SUCCESS .and. all_came()
        do i = 1, 4
            good = good .and. is_null(requests(i))
            if (rank == 0) good = good .and. is_status(several(AT(i)), 1, i, n / 4)
        end do
        call gpubind_testall(4, requests, ended, MPI_STATUSES_IGNORE, ierr)
        call check(good .and. ended, 'testall')
    end subroutine all_or_none

    subroutine one_of_them()
        type(gpubind_request) :: requests(4)
        STATUS :: status
        logical :: ended, good
        integer :: which, times

        call begin(requests)
        good = .true.
        times = 0
        do
            call gpubind_testany(4, requests, which, ended, status, ierr)
            if (.not. ended) cycle
            if (which == MPI_UNDEFINED) exit
            times = times + 1
            good = good .and. which >= 1 .and. which <= 4
            if (rank == 0) good = good .and. is_status(status, 1, which, n / 4)
        end do
        call check(good .and. times == 4 .and. all_came(), 'testany')
    end subroutine one_of_them

    subroutine some_of_them(waits)
        logical, intent(in) :: waits
        type(gpubind_request) :: requests(4)
        STATUSES(4) :: several
        integer :: some, indices(4), i, times
        logical :: good

        call begin(requests)
        good = .true.
        times = 0
        do
            if (waits) then
                call gpubind_waitsome(4, requests, some, indices, several, ierr)
            else
                call gpubind_testsome(4, requests, some, indices, several, ierr)
            end if
            if (some == MPI_UNDEFINED) exit
            do i = 1, some
                good = good .and. is_null(requests(indices(i)))
                if (rank == 0) good = good .and. is_status(several(AT(i)), 1, indices(i), n / 4)
            end do
            times = times + some
        end do
        call check(good .and. times == 4 .and. all_came(), merge('waitsome', 'testsome', waits))
    end subroutine some_of_them

    subroutine looked_at()
        type(gpubind_request) :: requests(4)
        STATUS :: status
        logical :: ended, good

        call begin(requests)
        ended = .false.
        do while (.not. ended)
            call gpubind_request_get_status(requests(4), ended, status, ierr)
        end do
        good = .not. is_null(requests(4))
        if (rank == 0) good = good .and. is_status(status, 1, 4, n / 4)
        call gpubind_waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
        call check(good .and. ierr == MPI_SUCCESS .and. all_came(), 'request_get_status')
    end subroutine looked_at

    subroutine cancelled()
        type(gpubind_request) :: request
        STATUS :: status
        logical :: is, good

        call gpubind_irecv(got, n, MPI_DOUBLE_PRECISION, other, 77, MPI_COMM_WORLD, request, ierr)
        call gpubind_cancel(request, ierr)
        call gpubind_wait(request, status, ierr)
        call MPI_Test_cancelled(status, is, ierr)
        good = is .and. is_null(request)
        ! Freed while it is active, it comes all the same.
        if (rank == 0) then
            call gpubind_isend(sent, n, MPI_DOUBLE_PRECISION, 1, 78, MPI_COMM_WORLD, request, ierr)
            call gpubind_request_free(request, ierr)
            good = good .and. is_null(request)
            call MPI_GPURecv(got, 0, MPI_DOUBLE_PRECISION, 1, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        else
            got = 0
            call MPI_GPURecv(got, n, MPI_DOUBLE_PRECISION, 0, 78, MPI_COMM_WORLD, status, ierr)
            good = good .and. all(got == sent)
            call MPI_GPUSend(got, 0, MPI_DOUBLE_PRECISION, 0, 79, MPI_COMM_WORLD)
        end if
        call check(good .and. ierr == MPI_SUCCESS, 'cancelled, and freed while active')
    end subroutine cancelled

    ! Persistent, with counts of 8 bytes.
    subroutine set_up()
        integer(MPI_COUNT_KIND), parameter :: many = n
        type(gpubind_request) :: requests(2)
        integer :: i

        got = 0
        call gpubind_send_init(sent, many, MPI_DOUBLE_PRECISION, other, 8, MPI_COMM_WORLD, &
                               requests(1), ierr)
        call gpubind_recv_init(got, many, MPI_DOUBLE_PRECISION, other, 8, MPI_COMM_WORLD, &
                               requests(2), ierr)
        call gpubind_startall(2, requests, ierr)
        call gpubind_waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
        call check(ierr == MPI_SUCCESS .and. all(got == sent), 'persistent, counts of 8 bytes')
        do i = 1, 2
            call gpubind_request_free(requests(i), ierr)
        end do
    end subroutine set_up

    subroutine errors()
        type(gpubind_request) :: requests(1)
        type(gpubind_matched) :: matched
        STATUSES(1) :: several
        integer :: some, indices(1), results(4)
        logical :: ended

        requests = GPUBIND_REQUEST_NULL
        matched = GPUBIND_MATCHED_NULL
        call gpubind_testall(-1, requests, ended, several, results(1))
        call gpubind_waitsome(-1, requests, some, indices, several, results(2))
        call gpubind_mrecv(got, n, MPI_DOUBLE_PRECISION, matched, MPI_STATUS_IGNORE, results(3))
        call gpubind_ssend(sent(::2), 1, MPI_DOUBLE_PRECISION, other, 0, MPI_COMM_WORLD, results(4))
        call check(all(results == [MPI_ERR_COUNT, MPI_ERR_COUNT, MPI_ERR_REQUEST, MPI_ERR_BUFFER]), &
                   'errors')
    end subroutine errors
end program calls
