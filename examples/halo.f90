! legacy_after.f90 with a halo: two plates take turns, and what goes from rank to rank is
! queued in the stream of the kernels, so that the host need not wait in any step.
!
!     mpifort device.f90 halo.f90 -o halo $(pkg-config --cflags --libs gpubind)
!     mpirun -np 4 gpubind ./halo
program halo
    use, intrinsic :: iso_c_binding
    use mpi
    use gpubind
    use device
    implicit none

    ! Of one rank, beside a column to the left and to the right.
    integer, parameter :: rows = 256, columns = 16, steps = 50
    integer, parameter :: column_bytes = 8 * rows
    integer :: rank, nranks, i, this, next, ierr
    double precision :: error, largest
    double precision, target :: column(rows)
    type(c_ptr) :: plates(2), stream
    type(gpubind_halo_grid) :: grid
    type(gpubind_halo) :: exchange

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)

    call device_start()
    stream = device_stream()
    do this = 1, 2
        plates(this) = device_alloc((columns + 2) * column_bytes)
        do i = 0, columns + 1
            column = at_first(rank * columns + i)
            call device_write(device_at(plates(this), i * column_bytes), c_loc(column), &
                              column_bytes)
        end do
    end do

    ! As the plate lies in memory: the first dimension, of rows, is not cut.
    grid%ndims = 2
    grid%cells(1:2) = [rows, columns]
    grid%width(1:2) = [0, 1]
    grid%element = MPI_DOUBLE_PRECISION
    grid%flags = GPUBIND_HALO_IN_TURN
    call gpubind_halo_create(MPI_COMM_WORLD, grid, 2, plates, exchange, ierr)
    do i = 1, steps
        this = 2 - modulo(i, 2)
        next = 3 - this
        call gpubind_halo_exchange_on_stream(exchange, this, stream, ierr)
        call step_on_gpu(plates(this), plates(next))
    end do
    call device_wait(stream)
    call gpubind_halo_free(exchange, ierr)

    error = error_of(plates(next))
    call MPI_Allreduce(error, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (rank == 0) print '(i0, a, i0, a, i0, a, i0, a, es8.1)', nranks, ' ranks, ', rows, ' x ', &
        columns * nranks, ' elements, ', steps, ' steps: the largest error is', largest
    do this = 1, 2
        call gpubind_release(plates(this), ierr) ! before memory that was sent from is freed
        call device_free(plates(this))
    end do
    call MPI_Finalize(ierr)
    if (largest > 0) error stop 1

contains

    ! Every inner element becomes the mean of its four neighbours.
    subroutine smooth(old, new)
        double precision, intent(in) :: old(:, 0:)
        double precision, intent(out) :: new(:, 0:)
        integer :: i, j

        new = old
        do j = 1, ubound(old, 2) - 1
            do i = 2, rows - 1
                new(i, j) = 0.25 * (old(i, j - 1) + old(i, j + 1) + old(i - 1, j) + old(i + 1, j))
            end do
        end do
    end subroutine smooth

    ! In a real code a kernel in the stream, which the host does not wait for; here the host
    ! does the arithmetic, so that the example needs no compiler for the GPU. The columns
    ! beside those of the rank are the neighbours' to write.
    subroutine step_on_gpu(from, to)
        type(c_ptr), intent(in) :: from, to
        double precision, target :: old(rows, 0:columns+1), new(rows, 0:columns+1)

        call device_wait(stream)
        call device_read(c_loc(old), from, (columns + 2) * column_bytes)
        call smooth(old, new)
        call device_write(device_at(to, column_bytes), c_loc(new(1, 1)), columns * column_bytes)
    end subroutine step_on_gpu

    ! Column i of the whole plate as it is at first: its left edge is hot.
    double precision function at_first(i)
        integer, intent(in) :: i

        at_first = merge(100, 0, i == 0)
    end function at_first

    ! The largest difference to what one process computes alone.
    double precision function error_of(plate)
        type(c_ptr), intent(in) :: plate
        double precision, allocatable :: old(:, :), new(:, :)
        double precision, target :: mine(rows, columns)
        integer :: i

        allocate (old(rows, 0:nranks*columns+1), new(rows, 0:nranks*columns+1))
        do i = 0, nranks * columns + 1
            old(:, i) = at_first(i)
        end do
        do i = 1, steps
            call smooth(old, new)
            old = new
        end do
        call device_read(c_loc(mine), device_at(plate, column_bytes), columns * column_bytes)
        error_of = maxval(abs(mine - old(:, rank*columns+1:(rank+1)*columns)))
    end function error_of
end program halo
