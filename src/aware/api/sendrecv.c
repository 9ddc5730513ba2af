/* Calls that send a message and receive one. */
#include "aware/request/calls.h"
#include "aware/request/carried.h"

/* A call that sends directly and receives, in parts. */
struct both {
    struct direct_send *direct;
    MPI_Request receive, descriptor;
    bool receives, sends; /* MPI has taken the one, and the other */
};

/* What MPI has not taken is given up; the message that is sent is waited for. */
static void both_end(void *what, int code)
{
    struct both *both = what;

    (void)code;
    if (both->sends) {
        call_wait_for_both(both->direct, &both->descriptor);
        return;
    }
    if (both->receives) {
        CALL_MPI(PMPI_Cancel(&both->receive));
        CALL_MPI(PMPI_Wait(&both->receive, MPI_STATUS_IGNORE));
    }
    direct_send_abandon(both->direct);
}

/* Where the message goes directly: in parts, the receive first, since what MPI refuses sends nothing. */
#define SENDRECVS(suffix, COUNT)                                                                   \
    NEXT(MPI_Irecv##suffix)                                                                        \
    NEXT(MPI_Isend##suffix)                                                                        \
    NEXT(MPI_Sendrecv##suffix)                                                                     \
    static int receive_and_send##suffix(struct traced *call, struct direct_send *direct, int dest, \
                                        int sendtag, void *buf, COUNT count, MPI_Datatype type,    \
                                        int source, int tag, MPI_Comm comm, MPI_Status *status)    \
    {                                                                                              \
        struct both both = {.direct = direct};                                                     \
        struct undo undo;                                                                          \
        struct staged in;                                                                          \
        MPI_Status own = {0};                                                                      \
        int result;                                                                                \
                                                                                                   \
        result = staged_begin(&in, buf, count, type,                                               \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE |                     \
                                  CARRIED_NOBODY(source));                                         \
        if (result != MPI_SUCCESS) {                                                               \
            direct_send_abandon(direct);                                                           \
            return call_refused(comm, result);                                                     \
        }                                                                                          \
        undo_begin(&undo, both_end, &both);                                                        \
        result = BEHIND(MPI_Irecv##suffix, in.host, (COUNT)in.count, in.type, source, tag, comm,   \
                        &both.receive);                                                            \
        both.receives = result == MPI_SUCCESS;                                                     \
        if (both.receives)                                                                         \
            result = BEHIND(MPI_Isend##suffix, direct->descriptor, direct->length, MPI_BYTE, dest, \
                            sendtag, comm, &both.descriptor);                                      \
        both.sends = result == MPI_SUCCESS;                                                        \
        if (both.sends) {                                                                          \
            status = carried_status(call, &in, status, &own);                                      \
            result = CALL_MPI(PMPI_Wait(&both.receive, status));                                   \
            result = carried_received(call, &in, result, status, comm);                            \
        }                                                                                          \
        if (!undo_end(&undo))                                                                      \
            both_end(&both, result);                                                               \
        if (!both.sends)                                                                           \
            staged_end(&in);                                                                       \
        return result;                                                                             \
    }                                                                                              \
                                                                                                   \
    AWARE_PUBLIC int MPI_Sendrecv##suffix(                                                         \
        const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag,        \
        void *recvbuf, COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag,            \
        MPI_Comm comm, MPI_Status *status)                                                         \
    {                                                                                              \
        TRACED(sends, "MPI_Sendrecv" #suffix, dest);                                               \
        struct direct_send *direct = direct_send_begin(&sends, true, sendbuf, sendcount, sendtype, \
                                                       dest, sendtag, comm);                       \
        struct traced receives;                                                                    \
        struct staged out, in;                                                                     \
        MPI_Status own = {0};                                                                      \
        int result;                                                                                \
                                                                                                   \
        if (direct)                                                                                \
            return receive_and_send##suffix(&sends, direct, dest, sendtag, recvbuf, recvcount,     \
                                            recvtype, source, recvtag, comm, status);              \
        receives = sends;                                                                          \
        result = staged_begin(&out, sendbuf, sendcount, sendtype,                                  \
                              STAGED_READ | STAGED_DENSE | CARRIED_NOBODY(dest));                  \
        if (result != MPI_SUCCESS)                                                                 \
            return call_refused(comm, result);                                                     \
        result = staged_begin(&in, recvbuf, recvcount, recvtype,                                   \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE |                     \
                                  CARRIED_NOBODY(source));                                         \
        if (result != MPI_SUCCESS) {                                                               \
            staged_end(&out);                                                                      \
            return call_refused(comm, result);                                                     \
        }                                                                                          \
        carried_sent(&sends, &out, sendcount, sendtype, dest, sendtag, comm);                      \
        status = carried_status(&receives, &in, status, &own);                                     \
        result = BEHIND(MPI_Sendrecv##suffix, out.host, (COUNT)out.count, out.type, dest, sendtag, \
                        in.host, (COUNT)in.count, in.type, source, recvtag, comm, status);         \
        staged_end(&out);                                                                          \
        if (result == MPI_SUCCESS)                                                                 \
            traced_end(&sends);                                                                    \
        return carried_received(&receives, &in, result, status, comm);                             \
    }

/* Of a message that takes the place of another: none of the two goes anywhere. */
#define NOBODYS_AT_ALL (CARRIED_NOBODY(dest) & CARRIED_NOBODY(source))

#define REPLACES(name, COUNT)                                                                \
    NEXT(name)                                                                               \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag,  \
                          int source, int recvtag, MPI_Comm comm, MPI_Status *status)        \
    {                                                                                        \
        TRACED(sends, #name, dest);                                                          \
        struct traced receives = sends;                                                      \
        struct staged staged;                                                                \
        MPI_Status own = {0};                                                                \
        int result;                                                                          \
                                                                                             \
        result = staged_begin(&staged, buf, count, type,                                     \
                              STAGED_READ | STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | \
                                  NOBODYS_AT_ALL);                                           \
        if (result != MPI_SUCCESS)                                                           \
            return call_refused(comm, result);                                               \
        carried_sent(&sends, &staged, count, type, dest, sendtag, comm);                     \
        status = carried_status(&receives, &staged, status, &own);                           \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag,  \
                        source, recvtag, comm, status);                                      \
        if (result == MPI_SUCCESS)                                                           \
            traced_end(&sends);                                                              \
        return carried_received(&receives, &staged, result, status, comm);                   \
    }

/* The status of MPICH 4.0 has no count here: all of the buffer is written, and what a shorter message
 * leaves is what was there. */
#define ISENDRECVS(name, COUNT)                                                                  \
    NEXT(name)                                                                                   \
    AWARE_PUBLIC int name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, \
                          int sendtag, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,    \
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request)          \
    {                                                                                            \
        TRACED(sends, #name, dest);                                                              \
        struct traced receives = sends;                                                          \
        struct staged b[2];                                                                      \
        int result;                                                                              \
                                                                                                 \
        result = staged_begin(&b[0], sendbuf, sendcount, sendtype,                               \
                              STAGED_READ | STAGED_DENSE | CARRIED_NOBODY(dest) | STAGED_LATER); \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        result = staged_begin(&b[1], recvbuf, recvcount, recvtype,                               \
                              STAGED_READ | STAGED_WRITTEN | STAGED_MESSAGE | STAGED_LATER |     \
                                  CARRIED_NOBODY(source));                                       \
        if (result != MPI_SUCCESS) {                                                             \
            staged_end(&b[0]);                                                                   \
            return call_refused(comm, result);                                                   \
        }                                                                                        \
        carried_sent(&sends, &b[0], sendcount, sendtype, dest, sendtag, comm);                   \
        carried_receives(&receives, &b[1], source, recvtag, comm);                               \
        result = BEHIND(name, b[0].host, (COUNT)b[0].count, b[0].type, dest, sendtag, b[1].host, \
                        (COUNT)b[1].count, b[1].type, source, recvtag, comm, request);           \
        if (result == MPI_SUCCESS)                                                               \
            traced_end(&sends);                                                                  \
        return call_started(&receives, b, 2, result, *request, false, comm);                     \
    }

#define IREPLACES(name, COUNT)                                                               \
    NEXT(name)                                                                               \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag,  \
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request)      \
    {                                                                                        \
        TRACED(sends, #name, dest);                                                          \
        struct traced receives = sends;                                                      \
        struct staged staged;                                                                \
        int result;                                                                          \
                                                                                             \
        result = staged_begin(&staged, buf, count, type,                                     \
                              STAGED_READ | STAGED_WRITTEN | STAGED_MESSAGE | STAGED_LATER | \
                                  NOBODYS_AT_ALL);                                           \
        if (result != MPI_SUCCESS)                                                           \
            return call_refused(comm, result);                                               \
        carried_sent(&sends, &staged, count, type, dest, sendtag, comm);                     \
        carried_receives(&receives, &staged, source, recvtag, comm);                         \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag,  \
                        source, recvtag, comm, request);                                     \
        if (result == MPI_SUCCESS)                                                           \
            traced_end(&sends);                                                              \
        return call_started(&receives, &staged, 1, result, *request, false, comm);           \
    }

#define BOTH(suffix, COUNT)  \
    SENDRECVS(suffix, COUNT) \
    REPLACES(MPI_Sendrecv_replace##suffix, COUNT)

BOTH(, int)
#ifdef AWARE_MPI_4
ISENDRECVS(MPI_Isendrecv, int)
IREPLACES(MPI_Isendrecv_replace, int)
#endif
#if MPI_VERSION >= 4
BOTH(_c, MPI_Count)
ISENDRECVS(MPI_Isendrecv_c, MPI_Count)
IREPLACES(MPI_Isendrecv_replace_c, MPI_Count)
#endif
