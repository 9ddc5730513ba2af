/* Functions that do not take GPU memory yet: one-sided communication, files, packing. A GPU buffer
 * is refused in one sentence, where MPI would crash. */
#include <stdio.h>

#include "aware/calls.h"
#include "aware/gpu_buffer.h"

#define UNWRAP(...) __VA_ARGS__

static bool is_refused(const char *name, const void *first, const void *second)
{
    const void *gpu;

    if (!gpu_is_in_use())
        return false;
    gpu = buffer_is_on_gpu(first) ? first : buffer_is_on_gpu(second) ? second : NULL;
    if (gpu)
        fprintf(stderr,
                "gpubind: %s: the buffer at %p is GPU memory, which --gpu-aware passes to no such "
                "function yet\n",
                name, gpu);
    return gpu;
}

static int refuse_win(MPI_Win win)
{
    PMPI_Win_call_errhandler(win, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

static int refuse_file(MPI_File file)
{
    PMPI_File_call_errhandler(file, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

static int refuse_comm(MPI_Comm comm)
{
    PMPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

/* The buffers (the second one may be NULL), whose error handler is called, the parameters and the
 * arguments. */
#define REFUSES(name, first, second, refuse, parameters, arguments) \
    NEXT(name)                                                      \
    AWARE_PUBLIC int name(UNWRAP parameters)                        \
    {                                                               \
        if (is_refused(#name, first, second))                       \
            return refuse;                                          \
        return BEHIND(name, UNWRAP arguments);                      \
    }

/* ---- one-sided */

#define PUT                                                                         \
    const void *origin, int n, MPI_Datatype type, int rank, MPI_Aint at, int there, \
        MPI_Datatype their_type
#define GET                                                                   \
    void *origin, int n, MPI_Datatype type, int rank, MPI_Aint at, int there, \
        MPI_Datatype their_type
#define PUT_ARGUMENTS origin, n, type, rank, at, there, their_type
#define FETCH                                                                                \
    const void *origin, int n, MPI_Datatype type, void *result, int nresult,                 \
        MPI_Datatype result_type, int rank, MPI_Aint at, int there, MPI_Datatype their_type, \
        MPI_Op op, MPI_Win win
#define FETCH_ARGUMENTS \
    origin, n, type, result, nresult, result_type, rank, at, there, their_type, op, win

REFUSES(MPI_Put, origin, NULL, refuse_win(win), (PUT, MPI_Win win), (PUT_ARGUMENTS, win))
REFUSES(MPI_Get, origin, NULL, refuse_win(win), (GET, MPI_Win win), (PUT_ARGUMENTS, win))
REFUSES(MPI_Accumulate, origin, NULL, refuse_win(win), (PUT, MPI_Op op, MPI_Win win),
        (PUT_ARGUMENTS, op, win))
REFUSES(MPI_Rput, origin, NULL, refuse_win(win), (PUT, MPI_Win win, MPI_Request *request),
        (PUT_ARGUMENTS, win, request))
REFUSES(MPI_Rget, origin, NULL, refuse_win(win), (GET, MPI_Win win, MPI_Request *request),
        (PUT_ARGUMENTS, win, request))
REFUSES(MPI_Raccumulate, origin, NULL, refuse_win(win),
        (PUT, MPI_Op op, MPI_Win win, MPI_Request *request), (PUT_ARGUMENTS, op, win, request))
REFUSES(MPI_Get_accumulate, origin, result, refuse_win(win), (FETCH), (FETCH_ARGUMENTS))
REFUSES(MPI_Rget_accumulate, origin, result, refuse_win(win), (FETCH, MPI_Request *request),
        (FETCH_ARGUMENTS, request))
REFUSES(MPI_Fetch_and_op, origin, result, refuse_win(win),
        (const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op,
         MPI_Win win),
        (origin, result, type, rank, at, op, win))
REFUSES(MPI_Compare_and_swap, origin, result, refuse_win(win),
        (const void *origin, const void *compare, void *result, MPI_Datatype type, int rank,
         MPI_Aint at, MPI_Win win),
        (origin, compare, result, type, rank, at, win))
REFUSES(MPI_Win_create, base, NULL, refuse_comm(comm),
        (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
        (base, size, unit, info, comm, win))
REFUSES(MPI_Win_attach, base, NULL, refuse_win(win), (MPI_Win win, void *base, MPI_Aint size),
        (win, base, size))

/* ---- files: CONST is const for what is written */

#define FILES(name, CONST)                                                                      \
    REFUSES(name, buf, NULL, refuse_file(file),                                                 \
            (MPI_File file, CONST void *buf, int count, MPI_Datatype type, MPI_Status *status), \
            (file, buf, count, type, status))
#define IFILES(name, CONST)                                                                       \
    REFUSES(name, buf, NULL, refuse_file(file),                                                   \
            (MPI_File file, CONST void *buf, int count, MPI_Datatype type, MPI_Request *request), \
            (file, buf, count, type, request))
#define FILES_BEGIN(name, CONST)                                            \
    REFUSES(name, buf, NULL, refuse_file(file),                             \
            (MPI_File file, CONST void *buf, int count, MPI_Datatype type), \
            (file, buf, count, type))
#define FILES_AT(name, CONST)                                                             \
    REFUSES(name, buf, NULL, refuse_file(file),                                           \
            (MPI_File file, MPI_Offset at, CONST void *buf, int count, MPI_Datatype type, \
             MPI_Status *status),                                                         \
            (file, at, buf, count, type, status))
#define IFILES_AT(name, CONST)                                                            \
    REFUSES(name, buf, NULL, refuse_file(file),                                           \
            (MPI_File file, MPI_Offset at, CONST void *buf, int count, MPI_Datatype type, \
             MPI_Request *request),                                                       \
            (file, at, buf, count, type, request))
#define FILES_AT_BEGIN(name, CONST)                                                        \
    REFUSES(name, buf, NULL, refuse_file(file),                                            \
            (MPI_File file, MPI_Offset at, CONST void *buf, int count, MPI_Datatype type), \
            (file, at, buf, count, type))
#define BOTH_WAYS(read, write, form) form(MPI_File_##read, ) form(MPI_File_##write, const)

BOTH_WAYS(read, write, FILES)
BOTH_WAYS(read_all, write_all, FILES)
BOTH_WAYS(read_shared, write_shared, FILES)
BOTH_WAYS(read_ordered, write_ordered, FILES)
BOTH_WAYS(iread, iwrite, IFILES)
BOTH_WAYS(iread_all, iwrite_all, IFILES)
BOTH_WAYS(iread_shared, iwrite_shared, IFILES)
BOTH_WAYS(read_all_begin, write_all_begin, FILES_BEGIN)
BOTH_WAYS(read_ordered_begin, write_ordered_begin, FILES_BEGIN)
BOTH_WAYS(read_at, write_at, FILES_AT)
BOTH_WAYS(read_at_all, write_at_all, FILES_AT)
BOTH_WAYS(iread_at, iwrite_at, IFILES_AT)
BOTH_WAYS(iread_at_all, iwrite_at_all, IFILES_AT)
BOTH_WAYS(read_at_all_begin, write_at_all_begin, FILES_AT_BEGIN)

/* ---- packing */

REFUSES(MPI_Pack, in, out, refuse_comm(comm),
        (const void *in, int n, MPI_Datatype type, void *out, int size, int *position,
         MPI_Comm comm),
        (in, n, type, out, size, position, comm))
REFUSES(MPI_Unpack, in, out, refuse_comm(comm),
        (const void *in, int size, int *position, void *out, int n, MPI_Datatype type,
         MPI_Comm comm),
        (in, size, position, out, n, type, comm))
REFUSES(MPI_Pack_external, in, out, refuse_comm(MPI_COMM_SELF),
        (const char form[], const void *in, int n, MPI_Datatype type, void *out, MPI_Aint size,
         MPI_Aint *position),
        (form, in, n, type, out, size, position))
REFUSES(MPI_Unpack_external, in, out, refuse_comm(MPI_COMM_SELF),
        (const char form[], const void *in, MPI_Aint size, MPI_Aint *position, void *out, int n,
         MPI_Datatype type),
        (form, in, size, position, out, n, type))
REFUSES(MPI_Reduce_local, in, inout, refuse_comm(MPI_COMM_SELF),
        (const void *in, void *inout, int n, MPI_Datatype type, MPI_Op op),
        (in, inout, n, type, op))
REFUSES(MPI_Buffer_attach, buf, NULL, refuse_comm(MPI_COMM_SELF), (void *buf, int size),
        (buf, size))
