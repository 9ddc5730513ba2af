/* Functions that do not take GPU memory yet: one-sided communication. A GPU buffer is refused in one
 * sentence, where MPI would crash. */
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

#if MPI_VERSION >= 4
ONE_SIDED(_c, MPI_Count, MPI_Aint)
#endif
