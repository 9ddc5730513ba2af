! Windows with GPU memory, for tests/aware/fortran.t: MPI_Win_allocate, and what MPI_Win_get_attr tells of
! windows. Compiled for the handles of mpif.h (MPIF), of mpi, and of mpi_f08 (F08).
#ifdef F08
#define WINDOW type(MPI_Win)
#define INFO type(MPI_Info)
#else
#define WINDOW integer
#define INFO integer
#endif
program allocate
    use, intrinsic :: iso_c_binding
#if defined F08
    use mpi_f08
#elif !defined MPIF
    use mpi
#endif
    use device
    use checks
    implicit none
#ifdef MPIF
    include 'mpif.h'
#endif

    integer, parameter :: n = 1000
    integer(MPI_ADDRESS_KIND), parameter :: nbytes = 8 * n
    integer :: rank, size, next, last, ierr
    double precision, target :: host(n)
    INFO :: key

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    next = mod(rank + 1, size)
    last = mod(rank + size - 1, size)
    call device_start()
    call MPI_Info_create(key, ierr)
    call MPI_Info_set(key, 'mpi_memory_alloc_kinds', 'cuda:device', ierr)

    call created()
    call allocated_address()
    call allocated_pointer()

    call MPI_Info_free(key, ierr)
    call checks_end()
    call MPI_Finalize(ierr)

contains

    ! The attributes of a window of that memory and flavor.
    logical function tells(win, memory, flavor)
        WINDOW, intent(in) :: win
        type(c_ptr), intent(in) :: memory
        integer, intent(in) :: flavor
        integer(MPI_ADDRESS_KIND) :: base, length, unit, made
        logical :: found(4)

        call MPI_Win_get_attr(win, MPI_WIN_BASE, base, found(1), ierr)
        call MPI_Win_get_attr(win, MPI_WIN_SIZE, length, found(2), ierr)
        call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, unit, found(3), ierr)
        call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, made, found(4), ierr)
        tells = all(found) .and. base == transfer(memory, base) .and. length == nbytes .and. &
            unit == 8 .and. made == flavor
    end function tells

    ! Each rank puts its number into the next one's memory.
    logical function puts(win, memory)
        WINDOW, intent(in) :: win
        type(c_ptr), intent(in) :: memory
        double precision :: number

        host = -1
        call device_write(memory, c_loc(host), 8 * n)
        number = rank
        call MPI_Win_fence(0, win, ierr)
        call MPI_Put(number, 1, MPI_DOUBLE_PRECISION, next, 2_MPI_ADDRESS_KIND, 1, &
            MPI_DOUBLE_PRECISION, win, ierr)
        call MPI_Win_fence(0, win, ierr)
        call device_read(c_loc(host), memory, 8 * n)
        puts = host(2) == -1 .and. host(3) == last .and. host(4) == -1
    end function puts

    subroutine created()
        type(c_ptr) :: memory
        double precision, pointer :: array(:)
        WINDOW :: win

        memory = device_alloc(8 * n)
        call c_f_pointer(memory, array, [n])
        call MPI_Win_create(array, nbytes, 8, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
        call check(tells(win, memory, MPI_WIN_FLAVOR_CREATE), 'attributes, MPI_Win_create')
        call check(puts(win, memory), 'a put, MPI_Win_create')
#ifdef F08
        call without_error(win, memory)
#endif
        call MPI_Win_free(win, ierr)
        call device_free(memory)
    end subroutine created

#ifdef F08
    subroutine without_error(win, memory)
        type(MPI_Win), intent(in) :: win
        type(c_ptr), intent(in) :: memory
        integer(MPI_ADDRESS_KIND) :: base
        logical :: found

        call MPI_Win_get_attr(win, MPI_WIN_BASE, base, found)
        call check(found .and. base == transfer(memory, base), 'MPI_Win_get_attr without ierror')
    end subroutine without_error
#endif

    ! base as MPI 2 has it; mpi_f08 has C pointers alone.
    subroutine allocated_address()
#ifndef F08
        integer(MPI_ADDRESS_KIND) :: base
        type(c_ptr) :: memory
        integer :: win

        call MPI_Win_allocate(nbytes, 8, key, MPI_COMM_WORLD, base, win, ierr)
        memory = transfer(base, memory)
        call check(tells(win, memory, MPI_WIN_FLAVOR_ALLOCATE), 'attributes, MPI_Win_allocate')
        call check(puts(win, memory), 'a put, MPI_Win_allocate')
        call MPI_Win_free(win, ierr)
#endif
    end subroutine allocated_address

    subroutine allocated_pointer()
#if defined F08 || !defined MPIF
        type(c_ptr) :: memory
        WINDOW :: win

        call MPI_Win_allocate(nbytes, 8, key, MPI_COMM_WORLD, memory, win, ierr)
        call check(tells(win, memory, MPI_WIN_FLAVOR_ALLOCATE), &
            'attributes, MPI_Win_allocate with a C pointer')
        call check(puts(win, memory), 'a put, MPI_Win_allocate with a C pointer')
        call MPI_Win_free(win, ierr)
#endif
    end subroutine allocated_pointer
end program allocate
