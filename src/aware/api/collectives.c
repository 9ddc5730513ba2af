/* Collective functions: blocking, nonblocking, persistent where the MPI has them, and those with
 * large counts. */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> /* Open MPI 4's persistent collectives */
#endif

#include "aware/coll/coll_buffers.h"
#include "aware/coll/coll_direct.h"
#include "aware/coll/coll_traced.h"
#include "aware/reduce/gpu_reduction.h"
#include "aware/request/calls.h"

#define UNWRAP(...) __VA_ARGS__

/* While a traced call may go directly, its own messages are not traced. */
static void enter(const struct traced *call)
{
    if (traced_has_begun(call) || call->is_range)
        traced_inside = true;
}

static void leave(const struct traced *call)
{
    if (traced_has_begun(call) || call->is_range)
        traced_inside = false;
}

/* It went directly. */
static int done(struct traced *call, int result, MPI_Comm comm)
{
    if (result == MPI_SUCCESS)
        traced_end(call);
    return call_completed(MPI_SUCCESS, result, comm);
}

static uint8_t path_of(const struct staged b[2])
{
    return (uint8_t)(b[0].staged ? TRACE_STAGED : call_path(&b[1]));
}

/* MPI_PROC_NULL in an intercommunicator: its arguments may be anything. */
#define OF_RANK(nbytes) (coll.root == MPI_PROC_NULL ? 0 : (nbytes))

/* Each defines one function by its name, the root (or NO_ROOT), the bytes that a trace tells of this rank's call, what does the blocking call directly
 * (or false), what stages b[0] and b[1], the parameters, and the arguments of the call. */
#define BLOCKING(name, the_root, nbytes, direct, begin, parameters, arguments) \
    NEXT(name)                                                                 \
    AWARE_PUBLIC int name(UNWRAP parameters)                                   \
    {                                                                          \
        TRACED(call, #name, NVTX_NOBODY);                                      \
        const struct coll coll = {comm, false, the_root, &call};               \
        struct staged b[2];                                                    \
        int result = MPI_SUCCESS;                                              \
        bool is_done;                                                          \
                                                                               \
        enter(&call);                                                          \
        is_done = direct;                                                      \
        leave(&call);                                                          \
        if (traced_has_begun(&call))                                           \
            traced_collective(&call, #name, OF_RANK(nbytes));                  \
        if (is_done)                                                           \
            return done(&call, result, comm);                                  \
        result = begin;                                                        \
        if (result != MPI_SUCCESS)                                             \
            return call_refused(comm, result);                                 \
        call.event.path = path_of(b);                                          \
        result = BEHIND(name, UNWRAP arguments);                               \
        return call_ended(&call, b, 2, result, comm);                          \
    }

#define NONBLOCKING(name, the_root, nbytes, direct, begin, parameters, arguments) \
    NEXT(name)                                                                    \
    AWARE_PUBLIC int name(UNWRAP parameters, MPI_Request *request)                \
    {                                                                             \
        TRACED(call, #name, NVTX_NOBODY);                                         \
        const struct coll coll = {comm, true, the_root, &call};                   \
        struct staged b[2];                                                       \
        int result;                                                               \
                                                                                  \
        result = begin;                                                           \
        if (result != MPI_SUCCESS)                                                \
            return call_refused(comm, result);                                    \
        if (traced_has_begun(&call))                                              \
            traced_collective(&call, #name, OF_RANK(nbytes));                     \
        call.event.path = path_of(b);                                             \
        result = BEHIND(name, UNWRAP arguments, request);                         \
        return call_started(&call, b, 2, result, *request, false, comm);          \
    }

#define PERSISTENT(name, the_root, nbytes, direct, begin, parameters, arguments)  \
    NEXT(name)                                                                    \
    AWARE_PUBLIC int name(UNWRAP parameters, MPI_Info info, MPI_Request *request) \
    {                                                                             \
        TRACED(call, #name, NVTX_NOBODY);                                         \
        const struct coll coll = {comm, true, the_root, &call};                   \
        struct staged b[2];                                                       \
        int result;                                                               \
                                                                                  \
        result = begin;                                                           \
        if (result != MPI_SUCCESS)                                                \
            return call_refused(comm, result);                                    \
        if (traced_has_begun(&call))                                              \
            traced_collective(&call, #name, OF_RANK(nbytes));                     \
        call.event.path = path_of(b);                                             \
        result = BEHIND(name, UNWRAP arguments, info, request);                   \
        return call_started(&call, b, 2, result, *request, true, comm);           \
    }

#ifdef AWARE_MPI_4
#define FORMS(name, iname, suffix, ...)           \
    BLOCKING(MPI_##name##suffix, __VA_ARGS__)     \
    NONBLOCKING(MPI_##iname##suffix, __VA_ARGS__) \
    PERSISTENT(MPI_##name##_init##suffix, __VA_ARGS__)
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define FORMS(name, iname, suffix, ...)           \
    BLOCKING(MPI_##name##suffix, __VA_ARGS__)     \
    NONBLOCKING(MPI_##iname##suffix, __VA_ARGS__) \
    PERSISTENT(MPIX_##name##_init##suffix, __VA_ARGS__)
#else
#define FORMS(name, iname, suffix, ...)       \
    BLOCKING(MPI_##name##suffix, __VA_ARGS__) \
    NONBLOCKING(MPI_##iname##suffix, __VA_ARGS__)
#endif

#define SEND const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype
#define SENDV \
    const void *sendbuf, const COUNT sendcounts[], const DISPL sdispls[], MPI_Datatype sendtype
#define RECV void *recvbuf, COUNT recvcount, MPI_Datatype recvtype
#define RECVV void *recvbuf, const COUNT recvcounts[], const DISPL rdispls[], MPI_Datatype recvtype

/* Of blocks alike, or not. */
#define SENT ((struct coll_blocks){.at = sendbuf, .n = sendcount, .type = sendtype})
#define SENT_TO_ALL \
    ((struct coll_blocks){.at = sendbuf, .n = sendcount, .type = sendtype, .alike = true})
#define SENTV                                           \
    ((struct coll_blocks){.at = sendbuf,                \
                          .varies = true,               \
                          .type = sendtype,             \
                          .counts = COUNTS(sendcounts), \
                          .displs = DISPLS(sdispls)})
#define SENTW                                           \
    ((struct coll_blocks){.at = sendbuf,                \
                          .varies = true,               \
                          .types = sendtypes,           \
                          .counts = COUNTS(sendcounts), \
                          .displs = DISPLS(sdispls)})
#define GOT ((struct coll_blocks){.at = recvbuf, .n = recvcount, .type = recvtype})
#define GOTV                                            \
    ((struct coll_blocks){.at = recvbuf,                \
                          .varies = true,               \
                          .type = recvtype,             \
                          .counts = COUNTS(recvcounts), \
                          .displs = DISPLS(rdispls)})
#define GOTW                                            \
    ((struct coll_blocks){.at = recvbuf,                \
                          .varies = true,               \
                          .types = recvtypes,           \
                          .counts = COUNTS(recvcounts), \
                          .displs = DISPLS(rdispls)})

#define REDUCED_BLOCK ((struct coll_blocks){.n = recvcount, .type = datatype})
#define REDUCED \
    ((struct coll_blocks){.varies = true, .type = datatype, .counts = COUNTS(recvcounts)})

/* SUFFIX, COUNT and DISPL are defined where this is expanded. */
#define COUNTS(array) ((struct numbers){array, sizeof(COUNT) > sizeof(int)})
#define DISPLS(array) ((struct numbers){array, sizeof *(array) > sizeof(int)})

/* ---- int */
#define COUNT int
#define DISPL int
#define EACH(name, iname, ...) FORMS(name, iname, , __VA_ARGS__)
#include "aware/api/collectives_list.h"
#undef EACH
#undef DISPL
#undef COUNT

#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define EACH(name, iname, ...) FORMS(name, iname, _c, __VA_ARGS__)
#include "aware/api/collectives_list.h"
#undef EACH
#undef DISPL
#undef COUNT
#endif

/* ---- on this rank alone */

#define REDUCES_LOCALLY(name, COUNT)                                                              \
    NEXT(name)                                                                                    \
    AWARE_PUBLIC int name(const void *in, void *inout, COUNT count, MPI_Datatype type, MPI_Op op) \
    {                                                                                             \
        struct staged b[2];                                                                       \
        int result;                                                                               \
                                                                                                  \
        if (gpu_reduction_local(in, inout, count, type, op, &result))                             \
            return result == MPI_SUCCESS ? result : call_refused(MPI_COMM_SELF, result);          \
        result = staged_begin(&b[0], in, count, type, STAGED_READ);                               \
        if (result != MPI_SUCCESS)                                                                \
            return call_refused(MPI_COMM_SELF, result);                                           \
        result = staged_begin(&b[1], inout, count, type, STAGED_READ | STAGED_WRITTEN);           \
        if (result != MPI_SUCCESS) {                                                              \
            staged_end(&b[0]);                                                                    \
            return call_refused(MPI_COMM_SELF, result);                                           \
        }                                                                                         \
        result = BEHIND(name, b[0].host, b[1].host, count, type, op);                             \
        return call_ended(NULL, b, 2, result, MPI_COMM_SELF);                                     \
    }
REDUCES_LOCALLY(MPI_Reduce_local, int)
#if MPI_VERSION >= 4
REDUCES_LOCALLY(MPI_Reduce_local_c, MPI_Count)
#endif

/* It moves no data; behind it a freed receive may have to be complete. */
NEXT(MPI_Barrier)
AWARE_PUBLIC int MPI_Barrier(MPI_Comm comm)
{
    const int result = BEHIND(MPI_Barrier, comm);

    requests_sweep(false);
    return result;
}
