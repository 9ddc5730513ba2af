/* Messages of one call: sends, receives, and what is received of a probe. */
#include "aware/request/calls.h"
#include "aware/request/carried.h"
#include "aware/request/matched.h"
#include "aware/request/persistent.h"

/* directly: a message may go so in this mode: not where MPI is to buffer it */
#define SENDS(name, COUNT, directly)                                                            \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,   \
                          MPI_Comm comm)                                                        \
    {                                                                                           \
        TRACED(call, #name, dest);                                                              \
        struct direct_send *direct = direct_send_begin(&call, directly, buf, count, type, dest, \
                                                       tag, comm);                              \
        struct staged staged;                                                                   \
        int result;                                                                             \
                                                                                                \
        if (direct) {                                                                           \
            result = CALL_SENDING(direct, BEHIND(name, direct->descriptor, direct->length,      \
                                                 MPI_BYTE, dest, tag, comm));                   \
            return call_sent(direct, result);                                                   \
        }                                                                                       \
        result = staged_begin(&staged, buf, count, type,                                        \
                              STAGED_READ | STAGED_DENSE | CARRIED_NOBODY(dest));               \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        carried_sent(&call, &staged, count, type, dest, tag, comm);                             \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm);  \
        return call_ended(&call, &staged, 1, result, comm);                                     \
    }

#define ISENDS(name, COUNT, directly)                                                            \
    NEXT(name)                                                                                   \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,    \
                          MPI_Comm comm, MPI_Request *request)                                   \
    {                                                                                            \
        TRACED(call, #name, dest);                                                               \
        struct direct_send *direct = direct_send_begin(&call, directly, buf, count, type, dest,  \
                                                       tag, comm);                               \
        struct staged staged;                                                                    \
        int result;                                                                              \
                                                                                                 \
        if (direct) {                                                                            \
            MPI_Request descriptor = MPI_REQUEST_NULL;                                           \
                                                                                                 \
            result = CALL_SENDING(direct, BEHIND(name, direct->descriptor, direct->length,       \
                                                 MPI_BYTE, dest, tag, comm, &descriptor));       \
            return call_sends(direct, result, descriptor, request, comm);                        \
        }                                                                                        \
        result = staged_begin(&staged, buf, count, type,                                         \
                              STAGED_READ | STAGED_DENSE | CARRIED_NOBODY(dest) | STAGED_LATER); \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        carried_sent(&call, &staged, count, type, dest, tag, comm);                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm,    \
                        request);                                                                \
        return call_started(&call, &staged, 1, result, *request, false, comm);                   \
    }

/* How a start of a persistent send sends the descriptor of a direct message. */
static persistent_send descriptor_by_MPI_Isend, descriptor_by_MPI_Issend, descriptor_by_MPI_Irsend;
#define SENDS_DESCRIPTOR(name)                                                                   \
    static int descriptor_by_##name(const struct direct_send *send, int dest, int tag,           \
                                    MPI_Comm comm, MPI_Request *request)                         \
    {                                                                                            \
        return BEHIND(name, send->descriptor, send->length, MPI_BYTE, dest, tag, comm, request); \
    }

/* directly: NULL where messages do not go so */
#define SEND_INITS(name, COUNT, directly)                                                        \
    NEXT(name)                                                                                   \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,    \
                          MPI_Comm comm, MPI_Request *request)                                   \
    {                                                                                            \
        TRACED(call, #name, dest);                                                               \
        struct staged staged;                                                                    \
        int result;                                                                              \
                                                                                                 \
        result = staged_begin(&staged, buf, count, type,                                         \
                              STAGED_READ | STAGED_DENSE | CARRIED_NOBODY(dest) | STAGED_LATER); \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        carried_sent(&call, &staged, count, type, dest, tag, comm);                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm,    \
                        request);                                                                \
        result = call_started(&call, &staged, 1, result, *request, true, comm);                  \
        if (result == MPI_SUCCESS && staged.staged)                                              \
            persistent_may_go_directly(*request, directly, dest, tag);                           \
        return result;                                                                           \
    }

#define IRECVS(name, COUNT, persistent)                                                         \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int source, int tag,       \
                          MPI_Comm comm, MPI_Request *request)                                  \
    {                                                                                           \
        TRACED(call, #name, source);                                                            \
        struct staged staged;                                                                   \
        int result;                                                                             \
                                                                                                \
        result = staged_begin(&staged, buf, count, type,                                        \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE |                  \
                                  CARRIED_NOBODY(source) | STAGED_LATER);                       \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        carried_receives(&call, &staged, source, tag, comm);                                    \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, source, tag, comm, \
                        request);                                                               \
        return call_started(&call, &staged, 1, result, *request, persistent, comm);             \
    }

#define RECVS(suffix, COUNT)                                                                     \
    NEXT(MPI_Recv##suffix)                                                                       \
    AWARE_PUBLIC int MPI_Recv##suffix(void *buf, COUNT count, MPI_Datatype type, int source,     \
                                      int tag, MPI_Comm comm, MPI_Status *status)                \
    {                                                                                            \
        TRACED(call, "MPI_Recv" #suffix, source);                                                \
        struct staged staged;                                                                    \
        MPI_Status own = {0};                                                                    \
        int result;                                                                              \
                                                                                                 \
        result = staged_begin(&staged, buf, count, type,                                         \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE |                   \
                                  CARRIED_NOBODY(source));                                       \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        status = carried_status(&call, &staged, status, &own);                                   \
        result = BEHIND(MPI_Recv##suffix, staged.host, (COUNT)staged.count, staged.type, source, \
                        tag, comm, status);                                                      \
        return carried_received(&call, &staged, result, status, comm);                           \
    }

#define MRECVS(name, COUNT)                                                                    \
    NEXT(name)                                                                                 \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,     \
                          MPI_Status *status)                                                  \
    {                                                                                          \
        TRACED(call, #name, NVTX_NOBODY);                                                      \
        struct staged staged;                                                                  \
        MPI_Status own = {0};                                                                  \
        const MPI_Comm comm = matched_take(*message);                                          \
        int result;                                                                            \
                                                                                               \
        result = staged_begin(&staged, buf, count, type,                                       \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE);                 \
        if (result != MPI_SUCCESS)                                                             \
            return call_refused(comm, result);                                                 \
        status = carried_status(&call, &staged, status, &own);                                 \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, message, status); \
        return carried_received(&call, &staged, result, status, comm);                         \
    }

#define IMRECVS(name, COUNT)                                                                    \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,      \
                          MPI_Request *request)                                                 \
    {                                                                                           \
        TRACED(call, #name, NVTX_NOBODY);                                                       \
        struct staged staged;                                                                   \
        const MPI_Comm comm = matched_take(*message);                                           \
        int result;                                                                             \
                                                                                                \
        result = staged_begin(&staged, buf, count, type,                                        \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | STAGED_LATER);   \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        carried_receives(&call, &staged, MPI_ANY_SOURCE, 0, comm);                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, message, request); \
        return call_started(&call, &staged, 1, result, *request, false, comm);                  \
    }

#define ALL(suffix, COUNT)                                              \
    SENDS(MPI_Send##suffix, COUNT, true)                                \
    SENDS(MPI_Ssend##suffix, COUNT, true)                               \
    SENDS(MPI_Rsend##suffix, COUNT, true)                               \
    SENDS(MPI_Bsend##suffix, COUNT, false)                              \
    ISENDS(MPI_Isend##suffix, COUNT, true)                              \
    ISENDS(MPI_Issend##suffix, COUNT, true)                             \
    ISENDS(MPI_Irsend##suffix, COUNT, true)                             \
    ISENDS(MPI_Ibsend##suffix, COUNT, false)                            \
    SEND_INITS(MPI_Send_init##suffix, COUNT, descriptor_by_MPI_Isend)   \
    SEND_INITS(MPI_Ssend_init##suffix, COUNT, descriptor_by_MPI_Issend) \
    SEND_INITS(MPI_Rsend_init##suffix, COUNT, descriptor_by_MPI_Irsend) \
    SEND_INITS(MPI_Bsend_init##suffix, COUNT, NULL)                     \
    RECVS(suffix, COUNT)                                                \
    IRECVS(MPI_Irecv##suffix, COUNT, false)                             \
    IRECVS(MPI_Recv_init##suffix, COUNT, true)                          \
    MRECVS(MPI_Mrecv##suffix, COUNT)                                    \
    IMRECVS(MPI_Imrecv##suffix, COUNT)

ALL(, int)
SENDS_DESCRIPTOR(MPI_Isend)
SENDS_DESCRIPTOR(MPI_Issend)
SENDS_DESCRIPTOR(MPI_Irsend)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)
#endif
