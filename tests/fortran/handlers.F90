! An error handler that passes GPU memory to MPI, for tests/aware/fortran.t. Compiled for the handles of mpif.h
! (MPIF), of mpi, and of mpi_f08 (F08).
module handling
    use, intrinsic :: iso_c_binding
#if defined F08
    use mpi_f08
#elif !defined MPIF
    use mpi
#endif
    use device
    implicit none
    integer, parameter :: n = 1000
    integer :: called = 0
    logical :: good = .true.
    type(c_ptr) :: from, to
    double precision, target :: host(n)

contains

    ! To itself.
    subroutine handle(comm, code)
#ifdef F08
        type(MPI_Comm) :: comm
#else
        integer :: comm
#endif
        integer :: code
#ifdef MPIF
        include 'mpif.h'
#endif
        double precision, pointer :: out(:), in(:)
        integer :: rank, ierr

        called = called + 1
        call MPI_Comm_rank(comm, rank, ierr)
        good = good .and. code /= MPI_SUCCESS .and. rank >= 0
        host = 7
        call device_write(from, c_loc(host), 8 * n)
        host = 0
        call device_write(to, c_loc(host), 8 * n)
        call c_f_pointer(from, out, [n])
        call c_f_pointer(to, in, [n])
        call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, 0, 1, in, n, MPI_DOUBLE_PRECISION, 0, 1, &
            MPI_COMM_SELF, MPI_STATUS_IGNORE, ierr)
        call device_read(c_loc(host), to, 8 * n)
        good = good .and. all(host == 7)
    end subroutine handle
end module handling

program handlers
    use, intrinsic :: iso_c_binding
#if defined F08
    use mpi_f08
#elif !defined MPIF
    use mpi
#endif
    use device
    use checks
    use handling
    implicit none
#ifdef MPIF
    include 'mpif.h'
#endif
#ifdef F08
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: handler
    type(MPI_Request) :: request
#else
    integer :: comm, handler, request
#endif
    integer :: rank, size, ierr, numbers(20), little(10)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    call device_start()
    from = device_alloc(8 * n)
    to = device_alloc(8 * n)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_create_errhandler(handle, handler, ierr)
    call MPI_Comm_set_errhandler(comm, handler, ierr)
    call MPI_Errhandler_free(handler, ierr)
    numbers = rank
    call MPI_Isend(numbers, 20, MPI_INTEGER, mod(rank + 1, size), 1, comm, request, ierr)
    call MPI_Recv(little, 10, MPI_INTEGER, mod(rank + size - 1, size), 1, comm, MPI_STATUS_IGNORE, ierr)
    call check(called == 1, 'the error handler is called')
    call check(good, 'and passes GPU memory to MPI')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call MPI_Comm_free(comm, ierr)
    call checks_end()
    call MPI_Finalize(ierr)
end program handlers
