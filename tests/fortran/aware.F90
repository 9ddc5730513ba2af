! GPU memory in plain calls of MPI, for tests/aware/fortran.t: arrays that lie on the GPU are passed as
! they are. Compiled for the handles of mpi and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define REQUEST type(MPI_Request)
#define STATUS type(MPI_Status)
#define DATATYPE type(MPI_Datatype)
#else
#define HANDLES mpi
#define REQUEST integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define DATATYPE integer
#endif
program aware
    use, intrinsic :: iso_c_binding
    use HANDLES
    use device
    use checks
    implicit none

    integer, parameter :: n = 5000
    integer :: rank, size, next, last, ierr
    double precision, target :: host(n)
    double precision, pointer :: sent(:), got(:)
    type(c_ptr) :: out, in

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    call device_start()
    out = device_alloc(8 * n)
    in = device_alloc(8 * n)
    call c_f_pointer(out, sent, [n])
    call c_f_pointer(in, got, [n])

    call blocking()
    call requests()
    call persistent()
    call every_other()
    call collectives()

    call device_free(out)
    call device_free(in)
    call checks_end()
    call MPI_Finalize(ierr)

contains

    subroutine fill(memory, value)
        type(c_ptr), intent(in) :: memory
        integer, intent(in) :: value

        host = value
        call device_write(memory, c_loc(host), 8 * n)
    end subroutine fill

    logical function holds(memory, value)
        type(c_ptr), intent(in) :: memory
        integer, intent(in) :: value

        call device_read(c_loc(host), memory, 8 * n)
        holds = all(host == value)
    end function holds

    subroutine blocking()
        STATUS :: status
        integer :: count

        call fill(out, rank + 1)
        call fill(in, -1)
        call MPI_Sendrecv(sent, n, MPI_DOUBLE_PRECISION, next, 1, got, n, MPI_DOUBLE_PRECISION, &
            last, 1, MPI_COMM_WORLD, status, ierr)
        call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierr)
        call check(holds(in, last + 1) .and. count == n, 'MPI_Sendrecv')
        call fill(out, rank + 11)
        if (rank == 0) then
            call MPI_Send(sent, n, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, ierr)
        else if (rank == 1) then
            call MPI_Recv(got, n, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, &
                MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
        end if
        call check(rank /= 1 .or. holds(in, 11), 'MPI_Send, MPI_Recv')
    end subroutine blocking

    subroutine requests()
        REQUEST :: both(2)

        call fill(out, rank + 21)
        call MPI_Irecv(got, n, MPI_DOUBLE_PRECISION, last, 3, MPI_COMM_WORLD, both(1), ierr)
        call MPI_Isend(sent, n, MPI_DOUBLE_PRECISION, next, 3, MPI_COMM_WORLD, both(2), ierr)
        call MPI_Waitall(2, both, MPI_STATUSES_IGNORE, ierr)
        call check(holds(in, last + 21), 'MPI_Isend, MPI_Irecv, MPI_Waitall')
    end subroutine requests

    subroutine persistent()
        REQUEST :: both(2)
        logical :: good, flag
        integer :: i

        good = .true.
        call MPI_Recv_init(got, n, MPI_DOUBLE_PRECISION, last, 4, MPI_COMM_WORLD, both(1), ierr)
        call MPI_Send_init(sent, n, MPI_DOUBLE_PRECISION, next, 4, MPI_COMM_WORLD, both(2), ierr)
        do i = 1, 3
            call fill(out, rank + 100 * i)
            call MPI_Startall(2, both, ierr)
            flag = .false.
            do while (.not. flag)
                call MPI_Testall(2, both, flag, MPI_STATUSES_IGNORE, ierr)
            end do
            good = good .and. holds(in, last + 100 * i)
        end do
        call MPI_Request_free(both(1), ierr)
        call MPI_Request_free(both(2), ierr)
        call check(good, 'persistent requests')
    end subroutine persistent

    subroutine every_other()
        DATATYPE :: type

        call MPI_Type_vector(n / 2, 1, 2, MPI_DOUBLE_PRECISION, type, ierr)
        call MPI_Type_commit(type, ierr)
        call fill(out, rank + 31)
        call fill(in, -1)
        call MPI_Sendrecv(sent, 1, type, next, 5, got, 1, type, last, 5, MPI_COMM_WORLD, &
            MPI_STATUS_IGNORE, ierr)
        call device_read(c_loc(host), in, 8 * n)
        call check(all(host(1::2) == last + 31) .and. all(host(2::2) == -1), 'a vector')
        call MPI_Type_free(type, ierr)
    end subroutine every_other

    subroutine collectives()
        REQUEST :: request

        call fill(out, rank + 1)
        call MPI_Allreduce(sent, got, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
        call check(holds(in, size * (size + 1) / 2), 'MPI_Allreduce')
        call MPI_Allreduce(MPI_IN_PLACE, sent, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, &
            ierr)
        call check(holds(out, size), 'MPI_Allreduce in place')
        call fill(in, rank)
        call MPI_Ibcast(got, n, MPI_DOUBLE_PRECISION, size - 1, MPI_COMM_WORLD, request, ierr)
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
        call check(holds(in, size - 1), 'MPI_Ibcast')
    end subroutine collectives
end program aware
