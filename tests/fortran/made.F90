! Communicators that MPI's constructors make for Fortran need not be attached. Compiled
! for the handles of mpi and, with F08, of mpi_f08.
#ifdef F08
#define HANDLES mpi_f08
#define COMM type(MPI_Comm)
#else
#define HANDLES mpi
#define COMM integer
#endif
program made
    use HANDLES
    use gpubind
    use checks
    implicit none

    COMM :: comm, part, world, halves
#ifdef F08
    type(MPI_Group) :: everyone
    type(MPI_Request) :: request
#else
    integer :: everyone, request
#endif
    integer :: rank, nranks, ierr, provided, i, ring(2), weights(2) = 1
    integer, allocatable :: ends(:), edges(:)

    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nranks, ierr)
    world = MPI_COMM_WORLD
    call MPI_Comm_group(world, everyone, ierr)
    ring = [modulo(rank - 1, nranks), modulo(rank + 1, nranks)]
    allocate (ends(nranks), edges(2 * nranks))
    ends = [(2 * i, i = 1, nranks)]
    edges = [(modulo(i - 1, nranks), modulo(i + 1, nranks), i = 0, nranks - 1)]

    ! Open MPI's can hang once the parent has made some others (open-mpi/ompi 13918).
    call MPI_Dist_graph_create(world, 1, [rank], [2], ring, weights, MPI_INFO_NULL, &
                               .false., comm, ierr)
    call works(comm, 'MPI_Dist_graph_create')
    call works(world, 'MPI_COMM_WORLD')
    call MPI_Comm_dup(world, comm, ierr)
    call works(comm, 'MPI_Comm_dup')
    call MPI_Comm_dup_with_info(world, MPI_INFO_NULL, comm, ierr)
    call works(comm, 'MPI_Comm_dup_with_info')
    call MPI_Comm_idup(world, comm, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call works(comm, 'MPI_Comm_idup')
    call MPI_Comm_split(world, modulo(rank, 2), rank, halves, ierr)
    call works(halves, 'MPI_Comm_split')
    call MPI_Comm_split(world, merge(0, MPI_UNDEFINED, rank == 0), rank, comm, ierr)
    call works(comm, 'MPI_Comm_split with MPI_UNDEFINED')
    call MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, comm, ierr)
    call works(comm, 'MPI_Comm_split_type')
    call MPI_Comm_create(world, everyone, comm, ierr)
    call works(comm, 'MPI_Comm_create')
    call MPI_Comm_create_group(world, everyone, 3, comm, ierr)
    call works(comm, 'MPI_Comm_create_group')
    call MPI_Cart_create(world, 2, [2, nranks / 2], [.true., .true.], .true., comm, ierr)
    call works(comm, 'MPI_Cart_create')
    call MPI_Cart_sub(comm, [.true., .false.], part, ierr)
    call works(part, 'MPI_Cart_sub')
    call MPI_Graph_create(world, nranks, ends, edges, .false., comm, ierr)
    call works(comm, 'MPI_Graph_create')
    call MPI_Dist_graph_create_adjacent(world, 2, ring, MPI_UNWEIGHTED, 2, ring, &
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, ierr)
    call works(comm, 'MPI_Dist_graph_create_adjacent')
    call MPI_Intercomm_create(halves, 0, world, 1 - modulo(rank, 2), 4, part, ierr)
    call MPI_Intercomm_merge(part, .false., comm, ierr)
    call works(comm, 'MPI_Intercomm_merge')

    call MPI_Comm_dup(world, comm, ierr)
    call MPI_Comm_free(comm, ierr)
    call MPI_Comm_dup(world, comm, ierr)
    call works(comm, 'a communicator made after another was freed')
    call checks_end()
    call MPI_Finalize(ierr)

contains

    ! Every rank of comm passes a number on.
    subroutine works(comm, text)
        COMM, intent(in) :: comm
        character(len=*), intent(in) :: text
        integer :: me, size, mine, got, ierr
        logical :: good

        good = .true.
        if (comm /= MPI_COMM_NULL) then
            call MPI_Comm_rank(comm, me, ierr)
            call MPI_Comm_size(comm, size, ierr)
            call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
            mine = me
            got = -1
            call gpubind_sendrecv(mine, 1, MPI_INTEGER, modulo(me + 1, size), 1, &
                                  got, 1, MPI_INTEGER, modulo(me - 1, size), 1, &
                                  comm, MPI_STATUS_IGNORE, ierr)
            good = ierr == MPI_SUCCESS .and. got == modulo(me - 1, size)
        end if
        call check(good, text)
    end subroutine works
end program made
