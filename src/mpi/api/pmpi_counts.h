/* The intercepted functions with counts. pmpi_blocking.c includes this file twice, for int and
 * MPI_Count, with NAME, COUNT, SHIFT and UNIT defined. */

/* ---- between two ranks: nonblocking and a test loop while messages are under way */

#define COMPLETES(name, parameters, arguments, start, status)                        \
    STANDS_IN int name parameters                                                    \
    {                                                                                \
        MPI_Request request;                                                         \
        int result;                                                                  \
                                                                                     \
        if (blocking_loops()) {                                                      \
            result = start;                                                          \
            return result == MPI_SUCCESS ? blocking_wait(&request, status) : result; \
        }                                                                            \
        if (!blocking_begin())                                                       \
            return INTERCEPT_PMPI(name) arguments;                                   \
        result = INTERCEPT_PMPI(name) arguments;                                     \
        blocking_end();                                                              \
        return result;                                                               \
    }

#define SENDS(name, begins)                                                                     \
    COMPLETES(                                                                                  \
        name,                                                                                   \
        (const void *buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm), \
        (buffer, count, type, rank, tag, comm),                                                 \
        begins(buffer, count, type, rank, tag, comm, &request), MPI_STATUS_IGNORE)

SENDS(NAME(MPI_Send), NAME(PMPI_Isend))
SENDS(NAME(MPI_Ssend), NAME(PMPI_Issend))
SENDS(NAME(MPI_Rsend), NAME(PMPI_Irsend))
/* In some MPI a request from MPI_PROC_NULL has another status than the blocking call. */
COMPLETES(NAME(MPI_Recv),
          (void *buffer, COUNT count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
           MPI_Status *status),
          (buffer, count, type, rank, tag, comm, status),
          rank == MPI_PROC_NULL ? (request = MPI_REQUEST_NULL,
                                   NAME(PMPI_Recv)(buffer, count, type, rank, tag, comm, status))
                                : NAME(PMPI_Irecv)(buffer, count, type, rank, tag, comm, &request),
          rank == MPI_PROC_NULL ? MPI_STATUS_IGNORE : status)
COMPLETES(NAME(MPI_Mrecv),
          (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
          (buffer, count, type, message, status),
          NAME(PMPI_Imrecv)(buffer, count, type, message, &request), status)

/* Starts the receive first and completes it last, as its status is the call's. */
STANDS_IN int NAME(MPI_Sendrecv)(const void *out, COUNT nout, MPI_Datatype out_type, int to,
                                 int out_tag, void *in, COUNT nin, MPI_Datatype in_type, int from,
                                 int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request receive, send;
    int result, other;

    if (blocking_loops()) {
        result = NAME(PMPI_Irecv)(in, nin, in_type, from, in_tag, comm, &receive);
        if (result != MPI_SUCCESS)
            return result;
        result = NAME(PMPI_Isend)(out, nout, out_type, to, out_tag, comm, &send);
        if (result != MPI_SUCCESS) {
            PMPI_Cancel(&receive);
            PMPI_Wait(&receive, MPI_STATUS_IGNORE);
            return result;
        }
        other = blocking_wait(&send, MPI_STATUS_IGNORE);
        result = blocking_wait(&receive, status);
        if (from == MPI_PROC_NULL) /* see MPI_Recv */
            NAME(PMPI_Recv)(in, nin, in_type, from, in_tag, comm, status);
        return result == MPI_SUCCESS ? other : result;
    }
    if (!blocking_begin())
        return NAME(PMPI_Sendrecv)(out, nout, out_type, to, out_tag, in, nin, in_type, from, in_tag,
                                   comm, status);
    result = NAME(PMPI_Sendrecv)(out, nout, out_type, to, out_tag, in, nin, in_type, from, in_tag,
                                 comm, status);
    blocking_end();
    return result;
}

/* Packs the data to send first: MPI_PACKED matches any type. */
STANDS_IN int NAME(MPI_Sendrecv_replace)(void *buffer, COUNT count, MPI_Datatype type, int to,
                                         int out_tag, int from, int in_tag, MPI_Comm comm,
                                         MPI_Status *status)
{
    COUNT room = 0, used = 0;
    void *packed = NULL;
    int result;

    if (blocking_loops() && NAME(PMPI_Pack_size)(count, type, comm, &room) == MPI_SUCCESS)
        packed = malloc((size_t)room + 1);
    if (packed) {
        result = NAME(PMPI_Pack)(buffer, count, type, packed, room, &used, comm);
        if (result == MPI_SUCCESS)
            result = NAME(MPI_Sendrecv)(packed, used, MPI_PACKED, to, out_tag, buffer, count, type,
                                        from, in_tag, comm, status);
        free(packed);
        return result;
    }
    if (!blocking_begin())
        return NAME(PMPI_Sendrecv_replace)(buffer, count, type, to, out_tag, from, in_tag, comm,
                                           status);
    result = NAME(PMPI_Sendrecv_replace)(buffer, count, type, to, out_tag, from, in_tag, comm,
                                         status);
    blocking_end();
    return result;
}

/* ---- collective */

COLLECTIVE(NAME(MPI_Bcast), comm,
           (void *buffer, COUNT count, MPI_Datatype type, int root, MPI_Comm comm),
           (buffer, count, type, root, comm))

#define REDUCES(name)                                                                           \
    COLLECTIVE(                                                                                 \
        name, comm,                                                                             \
        (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
        (from, to, count, type, op, comm))
REDUCES(NAME(MPI_Allreduce))
REDUCES(NAME(MPI_Reduce_scatter_block))
REDUCES(NAME(MPI_Scan))
REDUCES(NAME(MPI_Exscan))
COLLECTIVE(NAME(MPI_Reduce), comm,
           (const void *from, void *to, COUNT count, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm),
           (from, to, count, type, op, root, comm))
COLLECTIVE(NAME(MPI_Reduce_scatter), comm,
           (const void *from, void *to, const COUNT counts[], MPI_Datatype type, MPI_Op op,
            MPI_Comm comm),
           (from, to, counts, type, op, comm))

#define ROOTED(name)                                                                        \
    COLLECTIVE(name, comm,                                                                  \
               (const void *from, COUNT nfrom, MPI_Datatype from_type, void *to, COUNT nto, \
                MPI_Datatype to_type, int root, MPI_Comm comm),                             \
               (from, nfrom, from_type, to, nto, to_type, root, comm))
ROOTED(NAME(MPI_Gather))
ROOTED(NAME(MPI_Scatter))
COLLECTIVE(NAME(MPI_Gatherv), comm,
           (const void *from, COUNT nfrom, MPI_Datatype from_type, void *to, const COUNT nto[],
            const SHIFT at[], MPI_Datatype to_type, int root, MPI_Comm comm),
           (from, nfrom, from_type, to, nto, at, to_type, root, comm))
COLLECTIVE(NAME(MPI_Scatterv), comm,
           (const void *from, const COUNT nfrom[], const SHIFT at[], MPI_Datatype from_type,
            void *to, COUNT nto, MPI_Datatype to_type, int root, MPI_Comm comm),
           (from, nfrom, at, from_type, to, nto, to_type, root, comm))

#define ALL(name)                                                                           \
    COLLECTIVE(name, comm,                                                                  \
               (const void *from, COUNT nfrom, MPI_Datatype from_type, void *to, COUNT nto, \
                MPI_Datatype to_type, MPI_Comm comm),                                       \
               (from, nfrom, from_type, to, nto, to_type, comm))
#define ALL_V(name)                                                                        \
    COLLECTIVE(name, comm,                                                                 \
               (const void *from, COUNT nfrom, MPI_Datatype from_type, void *to,           \
                const COUNT nto[], const SHIFT at[], MPI_Datatype to_type, MPI_Comm comm), \
               (from, nfrom, from_type, to, nto, at, to_type, comm))
#define ALL_TO_ALL_V(name)                                                                \
    COLLECTIVE(name, comm,                                                                \
               (const void *from, const COUNT nfrom[], const SHIFT from_at[],             \
                MPI_Datatype from_type, void *to, const COUNT nto[], const SHIFT to_at[], \
                MPI_Datatype to_type, MPI_Comm comm),                                     \
               (from, nfrom, from_at, from_type, to, nto, to_at, to_type, comm))
#define ALL_TO_ALL_W(name, shift)                                                                  \
    COLLECTIVE(name, comm,                                                                         \
               (const void *from, const COUNT nfrom[], const shift from_at[],                      \
                const MPI_Datatype from_types[], void *to, const COUNT nto[], const shift to_at[], \
                const MPI_Datatype to_types[], MPI_Comm comm),                                     \
               (from, nfrom, from_at, from_types, to, nto, to_at, to_types, comm))
ALL(NAME(MPI_Allgather))
ALL(NAME(MPI_Alltoall))
ALL(NAME(MPI_Neighbor_allgather))
ALL(NAME(MPI_Neighbor_alltoall))
ALL_V(NAME(MPI_Allgatherv))
ALL_V(NAME(MPI_Neighbor_allgatherv))
ALL_TO_ALL_V(NAME(MPI_Alltoallv))
ALL_TO_ALL_V(NAME(MPI_Neighbor_alltoallv))
ALL_TO_ALL_W(NAME(MPI_Alltoallw), SHIFT)
ALL_TO_ALL_W(NAME(MPI_Neighbor_alltoallw), MPI_Aint)

/* ---- windows and files */

COLLECTIVE(NAME(MPI_Win_create), comm,
           (void *base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
           (base, size, unit, info, comm, win))
COLLECTIVE(NAME(MPI_Win_allocate), comm,
           (MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
           (size, unit, info, comm, base, win))
COLLECTIVE(NAME(MPI_Win_allocate_shared), comm,
           (MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
           (size, unit, info, comm, base, win))

#define FILE_IO(name, constant)                                                   \
    BLOCKS(name,                                                                  \
           (MPI_File file, constant void *buffer, COUNT count, MPI_Datatype type, \
            MPI_Status *status),                                                  \
           (file, buffer, count, type, status))
#define FILE_IO_AT(name, constant)                                                               \
    BLOCKS(name,                                                                                 \
           (MPI_File file, MPI_Offset at, constant void *buffer, COUNT count, MPI_Datatype type, \
            MPI_Status *status),                                                                 \
           (file, at, buffer, count, type, status))
FILE_IO(NAME(MPI_File_read_all), )
FILE_IO(NAME(MPI_File_read_ordered), )
FILE_IO(NAME(MPI_File_write_all), const)
FILE_IO(NAME(MPI_File_write_ordered), const)
FILE_IO_AT(NAME(MPI_File_read_at_all), )
FILE_IO_AT(NAME(MPI_File_write_at_all), const)

#undef SENDS
#undef COMPLETES
#undef REDUCES
#undef ROOTED
#undef ALL
#undef ALL_V
#undef ALL_TO_ALL_V
#undef ALL_TO_ALL_W
#undef FILE_IO
#undef FILE_IO_AT
