! Two ranks: messages move while rank 0 is in calls of MPI. Compiled for the handles of mpi
! and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#else
#define HANDLES mpi
#define REQUEST integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#endif
program progress
    use, intrinsic :: iso_c_binding
    use HANDLES
    use gpubind
    use checks
    implicit none

    integer, parameter :: n = 30000, long = 100000
    integer :: rank, ierr, other, which
    double precision, target :: held(n)
    integer :: numbers(long), more(long)
    type(gpubind_request) :: pending

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    other = 1 - rank
    do which = 1, 11
        call receives(which)
    end do
    call checks_end()
    call MPI_Finalize(ierr)

contains

    ! Rank 0 begins to receive, goes into MPI, and waits for the message after that; rank 1
    ! sends, and joins it in MPI.
    subroutine receives(which)
        integer, intent(in) :: which
        STATUS :: state
        logical :: good

        held = 0
        if (rank == 1) held = which
        call MPI_Barrier(MPI_COMM_WORLD, ierr)
        if (rank == 0) then
            call gpubind_irecv(held, n, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, &
                               pending, ierr)
        else
            call MPI_GPUSend(held, n, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, ierr)
        end if
        good = calls(which)
        if (rank == 0) call gpubind_wait(pending, state, ierr)
        call check(good .and. all(held == which), 'rank 0 is in MPI, call ' // char(64 + which))
    end subroutine receives

    logical function calls(which)
        integer, intent(in) :: which
        REQUEST :: requests(2)
        STATUS :: state
        integer :: total, ended, list(2), i

        calls = .true.
        numbers = [(i + rank, i = 1, long)]
        more = 0
        select case (which)
        case (1)
            call MPI_Barrier(MPI_COMM_WORLD, ierr)
        case (2)
            call MPI_Bcast(numbers, long, MPI_INTEGER, 1, MPI_COMM_WORLD, ierr)
            calls = numbers(1) == 2
        case (3)
            call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
            calls = total == 1
        case (4)
            if (rank == 0) then
                call MPI_Recv(more, long, MPI_INTEGER, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, state, &
                              ierr)
                call MPI_Get_count(state, MPI_INTEGER, total, ierr)
                calls = total == long .and. more(long) == long + 1
            else
                call MPI_Send(numbers, long, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, ierr)
            end if
        case (5)
            if (rank == 0) then
                call MPI_Send(numbers, long, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, ierr)
                call MPI_Ssend(numbers, long, MPI_INTEGER, 1, 5, MPI_COMM_WORLD, ierr)
            else
                call MPI_Recv(more, long, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
                call MPI_Recv(more, long, MPI_INTEGER, 0, 5, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierr)
                calls = more(long) == long
            end if
        case (6)
            call MPI_Sendrecv(numbers, long, MPI_INTEGER, other, 6, more, long, MPI_INTEGER, &
                              other, 6, MPI_COMM_WORLD, state, ierr)
            calls = more(1) == 1 + other
        case (7:10)
            call MPI_Irecv(more, long, MPI_INTEGER, other, 7, MPI_COMM_WORLD, requests(1), ierr)
            call MPI_Isend(numbers, long, MPI_INTEGER, other, 7, MPI_COMM_WORLD, requests(2), &
                           ierr)
            if (which == 7) then
                call MPI_Wait(requests(1), state, ierr)
                call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierr)
            else if (which == 8) then
                call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
            else if (which == 9) then
                call MPI_Waitany(2, requests, ended, state, ierr)
                call MPI_Waitany(2, requests, ended, state, ierr)
            else
                total = 0
                do while (total < 2)
                    call MPI_Waitsome(2, requests, ended, list, MPI_STATUSES_IGNORE, &
                                      ierr)
                    total = total + ended
                end do
            end if
            calls = more(1) == 1 + other
        case (11)
            if (rank == 0) then
                call MPI_Probe(1, 11, MPI_COMM_WORLD, state, ierr)
                call MPI_Recv(more, 1, MPI_INTEGER, 1, 11, MPI_COMM_WORLD, state, ierr)
                calls = more(1) == 2
            else
                call MPI_Send(numbers, 1, MPI_INTEGER, 0, 11, MPI_COMM_WORLD, ierr)
            end if
        end select
        calls = calls .and. ierr == MPI_SUCCESS
    end function calls
end program progress
