/* Functions that do not take GPU memory yet: one-sided and partitioned communication, files,
 * packing. A GPU buffer
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

#define PUT(COUNT)                                                                      \
    const void *origin, COUNT n, MPI_Datatype type, int rank, MPI_Aint at, COUNT there, \
        MPI_Datatype their_type
#define GET(COUNT)                                                                \
    void *origin, COUNT n, MPI_Datatype type, int rank, MPI_Aint at, COUNT there, \
        MPI_Datatype their_type
#define PUT_ARGUMENTS origin, n, type, rank, at, there, their_type
#define FETCH(COUNT)                                                                           \
    const void *origin, COUNT n, MPI_Datatype type, void *result, COUNT nresult,               \
        MPI_Datatype result_type, int rank, MPI_Aint at, COUNT there, MPI_Datatype their_type, \
        MPI_Op op, MPI_Win win
#define FETCH_ARGUMENTS \
    origin, n, type, result, nresult, result_type, rank, at, there, their_type, op, win

/* UNIT: the type of displacement units. */
#define ONE_SIDED(suffix, COUNT, UNIT)                                                          \
    REFUSES(MPI_Put##suffix, origin, NULL, refuse_win(win), (PUT(COUNT), MPI_Win win),          \
            (PUT_ARGUMENTS, win))                                                               \
    REFUSES(MPI_Get##suffix, origin, NULL, refuse_win(win), (GET(COUNT), MPI_Win win),          \
            (PUT_ARGUMENTS, win))                                                               \
    REFUSES(MPI_Accumulate##suffix, origin, NULL, refuse_win(win),                              \
            (PUT(COUNT), MPI_Op op, MPI_Win win), (PUT_ARGUMENTS, op, win))                     \
    REFUSES(MPI_Rput##suffix, origin, NULL, refuse_win(win),                                    \
            (PUT(COUNT), MPI_Win win, MPI_Request * request), (PUT_ARGUMENTS, win, request))    \
    REFUSES(MPI_Rget##suffix, origin, NULL, refuse_win(win),                                    \
            (GET(COUNT), MPI_Win win, MPI_Request * request), (PUT_ARGUMENTS, win, request))    \
    REFUSES(MPI_Raccumulate##suffix, origin, NULL, refuse_win(win),                             \
            (PUT(COUNT), MPI_Op op, MPI_Win win, MPI_Request * request),                        \
            (PUT_ARGUMENTS, op, win, request))                                                  \
    REFUSES(MPI_Get_accumulate##suffix, origin, result, refuse_win(win), (FETCH(COUNT)),        \
            (FETCH_ARGUMENTS))                                                                  \
    REFUSES(MPI_Rget_accumulate##suffix, origin, result, refuse_win(win),                       \
            (FETCH(COUNT), MPI_Request * request), (FETCH_ARGUMENTS, request))                  \
    REFUSES(MPI_Win_create##suffix, base, NULL, refuse_comm(comm),                              \
            (void *base, MPI_Aint size, UNIT unit, MPI_Info info, MPI_Comm comm, MPI_Win *win), \
            (base, size, unit, info, comm, win))
ONE_SIDED(, int, int)
REFUSES(MPI_Fetch_and_op, origin, result, refuse_win(win),
        (const void *origin, void *result, MPI_Datatype type, int rank, MPI_Aint at, MPI_Op op,
         MPI_Win win),
        (origin, result, type, rank, at, op, win))
REFUSES(MPI_Compare_and_swap, origin, result, refuse_win(win),
        (const void *origin, const void *compare, void *result, MPI_Datatype type, int rank,
         MPI_Aint at, MPI_Win win),
        (origin, compare, result, type, rank, at, win))
REFUSES(MPI_Win_attach, base, NULL, refuse_win(win), (MPI_Win win, void *base, MPI_Aint size),
        (win, base, size))

/* ---- files: CONST is const for what is written */

#define FILES(name, COUNT, CONST)                                                                 \
    REFUSES(name, buf, NULL, refuse_file(file),                                                   \
            (MPI_File file, CONST void *buf, COUNT count, MPI_Datatype type, MPI_Status *status), \
            (file, buf, count, type, status))
#define IFILES(name, COUNT, CONST)                                                              \
    REFUSES(                                                                                    \
        name, buf, NULL, refuse_file(file),                                                     \
        (MPI_File file, CONST void *buf, COUNT count, MPI_Datatype type, MPI_Request *request), \
        (file, buf, count, type, request))
#define FILES_BEGIN(name, COUNT, CONST)                                       \
    REFUSES(name, buf, NULL, refuse_file(file),                               \
            (MPI_File file, CONST void *buf, COUNT count, MPI_Datatype type), \
            (file, buf, count, type))
#define FILES_AT(name, COUNT, CONST)                                                        \
    REFUSES(name, buf, NULL, refuse_file(file),                                             \
            (MPI_File file, MPI_Offset at, CONST void *buf, COUNT count, MPI_Datatype type, \
             MPI_Status *status),                                                           \
            (file, at, buf, count, type, status))
#define IFILES_AT(name, COUNT, CONST)                                                       \
    REFUSES(name, buf, NULL, refuse_file(file),                                             \
            (MPI_File file, MPI_Offset at, CONST void *buf, COUNT count, MPI_Datatype type, \
             MPI_Request *request),                                                         \
            (file, at, buf, count, type, request))
#define FILES_AT_BEGIN(name, COUNT, CONST)                                                   \
    REFUSES(name, buf, NULL, refuse_file(file),                                              \
            (MPI_File file, MPI_Offset at, CONST void *buf, COUNT count, MPI_Datatype type), \
            (file, at, buf, count, type))
#define BOTH_WAYS(read, write, form, COUNT) \
    form(MPI_File_##read, COUNT, ) form(MPI_File_##write, COUNT, const)

#define ALL_FILES(suffix, COUNT)                                                           \
    BOTH_WAYS(read##suffix, write##suffix, FILES, COUNT)                                   \
    BOTH_WAYS(read_all##suffix, write_all##suffix, FILES, COUNT)                           \
    BOTH_WAYS(read_shared##suffix, write_shared##suffix, FILES, COUNT)                     \
    BOTH_WAYS(read_ordered##suffix, write_ordered##suffix, FILES, COUNT)                   \
    BOTH_WAYS(iread##suffix, iwrite##suffix, IFILES, COUNT)                                \
    BOTH_WAYS(iread_all##suffix, iwrite_all##suffix, IFILES, COUNT)                        \
    BOTH_WAYS(iread_shared##suffix, iwrite_shared##suffix, IFILES, COUNT)                  \
    BOTH_WAYS(read_all_begin##suffix, write_all_begin##suffix, FILES_BEGIN, COUNT)         \
    BOTH_WAYS(read_ordered_begin##suffix, write_ordered_begin##suffix, FILES_BEGIN, COUNT) \
    BOTH_WAYS(read_at##suffix, write_at##suffix, FILES_AT, COUNT)                          \
    BOTH_WAYS(read_at_all##suffix, write_at_all##suffix, FILES_AT, COUNT)                  \
    BOTH_WAYS(iread_at##suffix, iwrite_at##suffix, IFILES_AT, COUNT)                       \
    BOTH_WAYS(iread_at_all##suffix, iwrite_at_all##suffix, IFILES_AT, COUNT)               \
    BOTH_WAYS(read_at_all_begin##suffix, write_at_all_begin##suffix, FILES_AT_BEGIN, COUNT)
ALL_FILES(, int)

/* ---- packing; SIZE: the type of sizes of the external form */

#define PACKING(suffix, COUNT, SIZE)                                                              \
    REFUSES(MPI_Pack##suffix, in, out, refuse_comm(comm),                                         \
            (const void *in, COUNT n, MPI_Datatype type, void *out, COUNT size, COUNT *position,  \
             MPI_Comm comm),                                                                      \
            (in, n, type, out, size, position, comm))                                             \
    REFUSES(MPI_Unpack##suffix, in, out, refuse_comm(comm),                                       \
            (const void *in, COUNT size, COUNT *position, void *out, COUNT n, MPI_Datatype type,  \
             MPI_Comm comm),                                                                      \
            (in, size, position, out, n, type, comm))                                             \
    REFUSES(MPI_Pack_external##suffix, in, out, refuse_comm(MPI_COMM_SELF),                       \
            (const char form[], const void *in, COUNT n, MPI_Datatype type, void *out, SIZE size, \
             SIZE *position),                                                                     \
            (form, in, n, type, out, size, position))                                             \
    REFUSES(MPI_Unpack_external##suffix, in, out, refuse_comm(MPI_COMM_SELF),                     \
            (const char form[], const void *in, SIZE size, SIZE *position, void *out, COUNT n,    \
             MPI_Datatype type),                                                                  \
            (form, in, size, position, out, n, type))
PACKING(, int, MPI_Aint)

#if MPI_VERSION >= 4
ONE_SIDED(_c, MPI_Count, MPI_Aint)
ALL_FILES(_c, MPI_Count)
PACKING(_c, MPI_Count, MPI_Count)
#endif

/* ---- partitioned */

#ifdef AWARE_MPI_4
REFUSES(MPI_Psend_init, buf, NULL, refuse_comm(comm),
        (const void *buf, int parts, MPI_Count count, MPI_Datatype type, int rank, int tag,
         MPI_Comm comm, MPI_Info info, MPI_Request *request),
        (buf, parts, count, type, rank, tag, comm, info, request))
REFUSES(MPI_Precv_init, buf, NULL, refuse_comm(comm),
        (void *buf, int parts, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm comm,
         MPI_Info info, MPI_Request *request),
        (buf, parts, count, type, rank, tag, comm, info, request))
#endif
