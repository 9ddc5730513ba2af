! Six ranks: grids in two and three dimensions, of arrays as Fortran has them. Compiled for
! the handles of mpi and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define COMM type(MPI_Comm)
#define NUMBER(datatype) datatype%MPI_VAL
#else
#define HANDLES mpi
#define COMM integer
#define NUMBER(datatype) datatype
#endif
program halos
    use, intrinsic :: iso_c_binding
    use HANDLES
    use gpubind
    use checks
    use device
    implicit none

    ! Cells of a rank, and ghost cells on either side.
    integer, parameter :: nx = 5, ny = 4, wx = 1, wy = 2
    integer, parameter :: nbytes = 4 * (nx + 2 * wx) * (ny + 2 * wy)
    integer, parameter :: untouched = -7
    integer :: rank, ierr
    integer(c_intptr_t) :: as_number
    type(c_ptr) :: stream, gpu(2)
    integer, target :: array(1-wx:nx+wx, 1-wy:ny+wy), want(1-wx:nx+wx, 1-wy:ny+wy)

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call device_start()
    stream = device_stream()
    as_number = transfer(stream, as_number)
    call gpubind_alloc(gpu(1), nbytes, ierr)
    call gpubind_alloc(gpu(2), nbytes, ierr)

    call as_cart([2, 3], [.true., .false.])
    call as_cart([1, 2, 3], [.false., .true., .true.])
    call ghost_cells()
    call in_turn()
    call one_array()
    call list_of_arrays()
    call rows_apart()
    call bad_grids()
    call bad_calls()

    call gpubind_free(gpu(1), ierr)
    call gpubind_free(gpu(2), ierr)
    call checks_end()
    call MPI_Finalize(ierr)

contains

    ! Two dimensions, the second with an end.
    function flat() result(grid)
        type(gpubind_halo_grid) :: grid

        grid%ndims = 2
        grid%periodic(1) = .true.
        grid%cells(1:2) = [nx, ny]
        grid%width(1:2) = [wx, wy]
        grid%corners = .true.
        grid%element = NUMBER(MPI_INTEGER)
    end function flat

    ! Places, neighbours and the ranks that are chosen, as MPI has them.
    subroutine as_cart(ranks, periodic)
        integer, intent(in) :: ranks(:)
        logical, intent(in) :: periodic(:)
        type(gpubind_halo_grid) :: grid
        type(gpubind_halo) :: halo
        COMM :: cart
        integer :: d, side, ndims, place(3), along(3), wanted(3), offset(3), found, before, after
        logical :: good

        ndims = size(ranks)
        grid%ndims = ndims
        grid%cells = nx
        grid%width = 1
        grid%periodic(1:ndims) = periodic
        grid%element = NUMBER(MPI_BYTE)
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu(2:2), halo, ierr)
        call check(ierr == MPI_SUCCESS .and. c_associated(halo%plan), 'a halo is made')
        call MPI_Cart_create(MPI_COMM_WORLD, ndims, ranks, periodic, .false., cart, ierr)
        call MPI_Cart_coords(cart, rank, ndims, wanted, ierr)
        call gpubind_halo_place(halo, place, along, ierr)
        good = ierr == MPI_SUCCESS .and. all(along(1:ndims) == ranks) .and. &
               all(place(1:ndims) == wanted(1:ndims))
        call gpubind_halo_place(halo, ranks=along, ierror=ierr)
        good = good .and. ierr == MPI_SUCCESS .and. all(along(1:ndims) == ranks)
        call gpubind_halo_place(halo, place)
        call check(good .and. all(place(1:ndims) == wanted(1:ndims)), 'ranks are where MPI has them')
        good = .true.
        do d = 1, ndims
            call MPI_Cart_shift(cart, d - 1, 1, before, after, ierr)
            do side = -1, 1, 2
                offset = 0
                offset(d) = side
                call gpubind_halo_neighbor(halo, offset, found, ierr)
                good = good .and. ierr == MPI_SUCCESS .and. &
                       found == merge(before, after, side < 0)
            end do
        end do
        call check(good, '... and so are their neighbours')
        call MPI_Comm_free(cart, ierr)
        call gpubind_halo_free(halo, ierr)
        call check(ierr == MPI_SUCCESS .and. .not. c_associated(halo%plan), 'it is freed')
        halo = GPUBIND_HALO_NULL
        call gpubind_halo_free(halo, ierr)
        call check(ierr == MPI_SUCCESS .and. .not. c_associated(halo%plan), 'no halo is freed')
    end subroutine as_cart

    ! Every cell has the number of its place in the whole grid.
    subroutine fill(halo, time)
        type(gpubind_halo), intent(in) :: halo
        integer, intent(in) :: time
        integer :: i, j, place(2), ranks(2)

        call gpubind_halo_place(halo, place, ranks)
        array = untouched
        want = untouched
        do j = 1 - wy, ny + wy
            if (place(2) * ny + j < 1 .or. place(2) * ny + j > ranks(2) * ny) cycle
            do i = 1 - wx, nx + wx
                want(i, j) = 100000 * time + 100 * modulo(place(1) * nx + i - 1, ranks(1) * nx) + &
                             place(2) * ny + j
            end do
        end do
        array(1:nx, 1:ny) = want(1:nx, 1:ny)
    end subroutine fill

    subroutine ghost_cells()
        type(gpubind_halo) :: halo
        integer :: way
        logical :: good

        call gpubind_halo_create(MPI_COMM_WORLD, flat(), 1, gpu, halo, ierr)
        do way = 1, 3
            call fill(halo, way)
            call device_write(gpu(1), c_loc(array), nbytes)
            select case (way)
            case (1)
                call gpubind_halo_start(halo, 1, ierr)
                good = ierr == MPI_SUCCESS
                call gpubind_halo_wait(halo, ierr)
                good = good .and. ierr == MPI_SUCCESS
            case (2)
                call gpubind_halo_exchange_on_stream(halo, 1, stream, ierr)
                good = ierr == MPI_SUCCESS
            case (3)
                call gpubind_halo_exchange_on_stream(halo, 1, as_number)
                good = .true.
            end select
            call device_wait(stream)
            call device_read(c_loc(array), gpu(1), nbytes)
            call check(good .and. all(array == want), 'all ghost cells are right')
        end do
        call gpubind_halo_free(halo, ierr)
    end subroutine ghost_cells

    logical function says(text)
        character(len=*), intent(in) :: text
        character(len=400) :: said

        call gpubind_error_text(said)
        says = index(said, text) > 0
        if (.not. says) print '(a)', 'said: ' // trim(said)
    end function says

    subroutine in_turn()
        type(gpubind_halo_grid) :: grid
        type(gpubind_halo) :: halo
        integer :: time, this
        logical :: good

        array = untouched
        call device_write(gpu(1), c_loc(array), nbytes)
        call device_write(gpu(2), c_loc(array), nbytes)
        grid = flat()
        grid%flags = GPUBIND_HALO_IN_TURN
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 2, gpu, halo, ierr)
        good = ierr == MPI_SUCCESS
        do time = 1, 4
            this = 2 - modulo(time, 2)
            call fill(halo, time)
            call write_cells(gpu(this))
            call gpubind_halo_exchange_on_stream(halo, this, stream, ierr)
            call device_wait(stream)
            call device_read(c_loc(array), gpu(this), nbytes)
            good = good .and. ierr == MPI_SUCCESS .and. all(array == want)
        end do
        call check(good, 'arrays in turn')
        call gpubind_halo_start(halo, 2, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('the turn of array 1, not of array 2'), &
                   'an array whose turn it is not')
        call gpubind_halo_free(halo, ierr)
    end subroutine in_turn

    ! Ghost cells are the neighbours' to write.
    subroutine write_cells(to)
        type(c_ptr), intent(in) :: to
        integer :: j

        do j = 1, ny
            call device_write(device_at(to, 4 * ((nx + 2 * wx) * (j - 1 + wy) + wx)), &
                              c_loc(array(1, j)), 4 * nx)
        end do
    end subroutine write_cells

    ! Its name, in place of a list.
    subroutine one_array()
        type(gpubind_halo) :: halo

        call gpubind_halo_create(MPI_COMM_WORLD, flat(), array, halo, ierr)
        call fill(halo, 5)
        call gpubind_halo_start(halo, 1)
        call gpubind_halo_wait(halo)
        call check(ierr == MPI_SUCCESS .and. all(array == want), 'an array by its name')
        call gpubind_halo_free(halo)
        call check(.not. c_associated(halo%plan), 'no ierror')
        call gpubind_halo_create(MPI_COMM_WORLD, flat(), gpu(2), halo, ierr)
        call fill(halo, 6)
        call device_write(gpu(2), c_loc(array), nbytes)
        call gpubind_halo_start(halo, 1)
        call gpubind_halo_wait(halo, ierr)
        call device_read(c_loc(array), gpu(2), nbytes)
        call check(ierr == MPI_SUCCESS .and. all(array == want), 'a pointer to it')
        call gpubind_halo_free(halo, ierr)
    end subroutine one_array

    ! A list says how long it is.
    subroutine list_of_arrays()
        type(gpubind_halo) :: halo

        call gpubind_halo_create(MPI_COMM_WORLD, flat(), gpu, halo, ierr)
        call fill(halo, 8)
        call device_write(gpu(2), c_loc(array), nbytes)
        call gpubind_halo_start(halo, 2)
        call gpubind_halo_wait(halo, ierr)
        call device_read(c_loc(array), gpu(2), nbytes)
        call check(ierr == MPI_SUCCESS .and. all(array == want), 'a list of arrays')
        call gpubind_halo_free(halo, ierr)
    end subroutine list_of_arrays

    ! The columns of a section of a larger array.
    subroutine rows_apart()
        type(gpubind_halo_grid) :: grid
        type(gpubind_halo) :: halo
        integer :: large(0:nx+2*wx+2, ny+2*wy), solid(4, 4, 4)

        grid = flat()
        call gpubind_halo_create(MPI_COMM_WORLD, grid, large(1:nx+2*wx, :), halo, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('lie apart'), 'a section without a pitch')
        grid%pitch = size(large, 1)
        call gpubind_halo_create(MPI_COMM_WORLD, grid, large(1:nx+2*wx, :), halo, ierr)
        call fill(halo, 7)
        large = -8
        large(1:nx+2*wx, :) = array
        call gpubind_halo_start(halo, 1, ierr)
        call gpubind_halo_wait(halo, ierr)
        call check(ierr == MPI_SUCCESS .and. all(large(1:nx+2*wx, :) == want) .and. &
                   all(large(0, :) == -8) .and. all(large(nx+2*wx+1:, :) == -8), &
                   'a section with a pitch')
        call gpubind_halo_free(halo, ierr)
        call gpubind_halo_create(MPI_COMM_WORLD, grid, large(::2, :), halo, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. .not. c_associated(halo%plan), &
                   'a section with gaps in its rows')
        grid%ndims = 3
        grid%cells = 1
        grid%width = 0
        grid%pitch = 4
        call gpubind_halo_create(MPI_COMM_WORLD, grid, solid(1:3, 1:4, :), halo, ierr)
        call check(ierr == MPI_SUCCESS, 'rows of three dimensions apart')
        call gpubind_halo_free(halo, ierr)
        call gpubind_halo_create(MPI_COMM_WORLD, grid, solid(1:3, 1:3, :), halo, ierr)
        call check(ierr == MPI_ERR_BUFFER, '... and planes')
    end subroutine rows_apart

    ! Sentences count as Fortran does.
    subroutine bad_grids()
        type(gpubind_halo_grid) :: grid
        type(gpubind_halo) :: halo
        type(c_ptr) :: twice(2)

        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr /= MPI_SUCCESS .and. .not. c_associated(halo%plan), 'an empty grid')
        grid = flat()
        grid%ndims = 4
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('ndims is 4'), 'four dimensions')
        grid = flat()
        grid%element = 0
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_TYPE .and. says('MPI_DATATYPE_NULL'), 'no datatype')
        grid = flat()
        grid%cells(2) = 0
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('cells(2) is 0'), 'no cells')
        grid = flat()
        grid%width(1) = nx + 1
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('width(1) is 6'), 'more ghosts than cells')
        grid = flat()
        grid%ranks(1:2) = [4, 5]
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('4 x 5 x 1'), 'ranks that do not come out')
        grid = flat()
        grid%flags = 2
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('flags is 2'), 'a flag that is not')
        grid%flags = -1
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('flags is -1'), 'all flags')
        grid = flat()
        if (rank == 0) grid%cells(1) = nx + 1
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('6 and 5 cells along dimension 1'), &
                   'cells that differ')
        grid = flat()
        if (rank == 0) grid%width(2) = 1
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 1, gpu, halo, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('width(2): 1 and 2'), 'widths that differ')
        grid = flat()
        twice = [gpu(1), c_null_ptr]
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 2, twice, halo, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('array 2 is NULL'), 'a null pointer')
        twice = gpu(1)
        grid%flags = GPUBIND_HALO_IN_TURN
        call gpubind_halo_create(MPI_COMM_WORLD, grid, 2, twice, halo, ierr)
        call check(ierr == MPI_ERR_BUFFER .and. says('arrays 1 and 2'), 'one array in turn')
    end subroutine bad_grids

    subroutine bad_calls()
        type(gpubind_halo) :: halo
        integer :: found, place(2)

        call gpubind_halo_start(halo, 1, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('gpubind_halo_start: '), 'no halo is no start')
        call gpubind_halo_neighbor(halo, [0, 1], found, ierr)
        call check(ierr == MPI_ERR_ARG .and. found == MPI_PROC_NULL, '... has no neighbours')
        call gpubind_halo_place(halo, place, ierror=ierr)
        call check(ierr == MPI_ERR_ARG, '... no places')
        call gpubind_halo_free(halo, ierr)
        call check(ierr == MPI_SUCCESS, '... and is freed without a word')
        call gpubind_halo_create(MPI_COMM_WORLD, flat(), 2, gpu, halo, ierr)
        call gpubind_halo_start(halo, 0, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('there is no array 0'), 'arrays begin with 1')
        call gpubind_halo_exchange_on_stream(halo, 3, stream, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('there is no array 3'), '... and end')
        call gpubind_halo_wait(halo, ierr)
        call check(ierr == MPI_ERR_REQUEST, 'a wait without a start')
        call gpubind_halo_neighbor(halo, [0, 2], found, ierr)
        call check(ierr == MPI_ERR_ARG .and. says('offset(2) is 2'), 'an offset of 2')
        call gpubind_halo_start(halo, 2, ierr)
        call gpubind_halo_start(halo, 1, ierr)
        call check(ierr == MPI_ERR_REQUEST .and. says('the exchange of array 2'), 'one is under way')
        call gpubind_halo_wait(halo, ierr)
        call gpubind_halo_free(halo, ierr)
        call check(ierr == MPI_SUCCESS, 'it ends')
    end subroutine bad_calls
end program halos
