/* Point to point. */
#include "aware/base/counts.h"
#include "aware/request/calls.h"
#include "aware/request/matched.h"
#include "aware/request/persistent.h"

#define NOBODY(rank) ((rank) == MPI_PROC_NULL ? STAGED_NOBODY : 0)

/* A message that MPI carries, from a buffer of a call that receives, too. */
static void sent_beside(struct traced *call, const struct staged *staged, MPI_Count count,
                        MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    direct_send_plain(count, type);
    if (traced_has_begun(call))
        traced_message(call, TRACE_SEND, call_path(staged), count, type, dest, tag, comm);
}

/* A message that MPI carries. */
static void sent_by_mpi(struct traced *call, const struct staged *staged, MPI_Count count,
                        MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sent_beside(call, staged, count, type, dest, tag, comm);
    if (staged->staged)
        count_one(COUNT_STAGED);
}

/* MPI is given a buffer to receive in, and the call returns before the message has come. */
static void received_by_mpi(struct traced *call, const struct staged *staged, int source, int tag,
                            MPI_Comm comm)
{
    if (traced_has_begun(call))
        traced_message(call, TRACE_RECEIVE, call_path(staged), 0, MPI_BYTE, source, tag, comm);
}

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
                              STAGED_READ | STAGED_DENSE | NOBODY(dest));                       \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        sent_by_mpi(&call, &staged, count, type, dest, tag, comm);                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm);  \
        return call_ended(&call, &staged, 1, result, comm);                                     \
    }

#define ISENDS(name, COUNT, directly)                                                           \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,   \
                          MPI_Comm comm, MPI_Request *request)                                  \
    {                                                                                           \
        TRACED(call, #name, dest);                                                              \
        struct direct_send *direct = direct_send_begin(&call, directly, buf, count, type, dest, \
                                                       tag, comm);                              \
        struct staged staged;                                                                   \
        int result;                                                                             \
                                                                                                \
        if (direct) {                                                                           \
            MPI_Request descriptor = MPI_REQUEST_NULL;                                          \
                                                                                                \
            result = CALL_SENDING(direct, BEHIND(name, direct->descriptor, direct->length,      \
                                                 MPI_BYTE, dest, tag, comm, &descriptor));      \
            return call_sends(direct, result, descriptor, request, comm);                       \
        }                                                                                       \
        result = staged_begin(&staged, buf, count, type,                                        \
                              STAGED_READ | STAGED_DENSE | NOBODY(dest) | STAGED_LATER);        \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        sent_by_mpi(&call, &staged, count, type, dest, tag, comm);                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm,   \
                        request);                                                               \
        return call_started(&call, &staged, 1, result, *request, false, comm);                  \
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
#define SEND_INITS(name, COUNT, directly)                                                     \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, \
                          MPI_Comm comm, MPI_Request *request)                                \
    {                                                                                         \
        TRACED(call, #name, dest);                                                            \
        struct staged staged;                                                                 \
        int result;                                                                           \
                                                                                              \
        result = staged_begin(&staged, buf, count, type,                                      \
                              STAGED_READ | STAGED_DENSE | NOBODY(dest) | STAGED_LATER);      \
        if (result != MPI_SUCCESS)                                                            \
            return call_refused(comm, result);                                                \
        sent_by_mpi(&call, &staged, count, type, dest, tag, comm);                            \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm, \
                        request);                                                             \
        result = call_started(&call, &staged, 1, result, *request, true, comm);               \
        if (result == MPI_SUCCESS && staged.staged)                                           \
            persistent_may_go_directly(*request, directly, dest, tag);                        \
        return result;                                                                        \
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
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | NOBODY(source) | \
                                  STAGED_LATER);                                                \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        received_by_mpi(&call, &staged, source, tag, comm);                                     \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, source, tag, comm, \
                        request);                                                               \
        return call_started(&call, &staged, 1, result, *request, persistent, comm);             \
    }

static bool is_truncated(int result)
{
    int class = MPI_SUCCESS;

    if (result != MPI_SUCCESS)
        PMPI_Error_class(result, &class);
    return class == MPI_ERR_TRUNCATE;
}

static void trace_received(struct traced *call, enum trace_path path, const MPI_Status *status,
                           MPI_Comm comm)
{
    traced_message(call, TRACE_RECEIVE, path, 0, MPI_BYTE, status->MPI_SOURCE, 0, comm);
    if (!traced_is_event(call))
        return;
    traced_matched(call, status);
    traced_end(call);
}

/* The message has come: writes its bytes. */
static int received(struct traced *call, struct staged *staged, int result, MPI_Status *status,
                    MPI_Comm comm)
{
    const bool came = result == MPI_SUCCESS || is_truncated(result);
    enum trace_path path = call_path(staged);
    MPI_Count nbytes = -1;
    int error = MPI_SUCCESS;

    if (came && !direct_receive(staged, status, &path, &error) && result == MPI_SUCCESS &&
        staged->staged) {
        PMPI_Get_elements_x(status, MPI_BYTE, &nbytes);
        error = staged_write(staged, nbytes == MPI_UNDEFINED ? -1 : nbytes);
    }
    if (traced_has_begun(call) && result == MPI_SUCCESS && error == MPI_SUCCESS)
        trace_received(call, path, status, comm);
    staged_end(staged);
    requests_sweep(false); /* the message may tell that a freed receive is complete */
    return error == MPI_SUCCESS || result != MPI_SUCCESS ? result : call_refused(comm, error);
}

/* The status that MPI is given. */
static MPI_Status *status_for(const struct traced *call, const struct staged *staged,
                              MPI_Status *status, MPI_Status *own)
{
    const bool is_read = staged->staged || staged->direct || traced_has_begun(call);

    return is_read && status == MPI_STATUS_IGNORE ? own : status;
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
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | NOBODY(source));  \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        status = status_for(&call, &staged, status, &own);                                       \
        result = BEHIND(MPI_Recv##suffix, staged.host, (COUNT)staged.count, staged.type, source, \
                        tag, comm, status);                                                      \
        return received(&call, &staged, result, status, comm);                                   \
    }

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
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | NOBODY(source));    \
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
            status = status_for(call, &in, status, &own);                                          \
            result = CALL_MPI(PMPI_Wait(&both.receive, status));                                   \
            result = received(call, &in, result, status, comm);                                    \
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
                              STAGED_READ | STAGED_DENSE | NOBODY(dest));                          \
        if (result != MPI_SUCCESS)                                                                 \
            return call_refused(comm, result);                                                     \
        result = staged_begin(&in, recvbuf, recvcount, recvtype,                                   \
                              STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE | NOBODY(source));    \
        if (result != MPI_SUCCESS) {                                                               \
            staged_end(&out);                                                                      \
            return call_refused(comm, result);                                                     \
        }                                                                                          \
        sent_by_mpi(&sends, &out, sendcount, sendtype, dest, sendtag, comm);                       \
        status = status_for(&receives, &in, status, &own);                                         \
        result = BEHIND(MPI_Sendrecv##suffix, out.host, (COUNT)out.count, out.type, dest, sendtag, \
                        in.host, (COUNT)in.count, in.type, source, recvtag, comm, status);         \
        staged_end(&out);                                                                          \
        if (result == MPI_SUCCESS)                                                                 \
            traced_end(&sends);                                                                    \
        return received(&receives, &in, result, status, comm);                                     \
    }

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
                              STAGED_READ | STAGED_WRITTEN | STAGED_DENSE | STAGED_MESSAGE); \
        if (result != MPI_SUCCESS)                                                           \
            return call_refused(comm, result);                                               \
        sent_beside(&sends, &staged, count, type, dest, sendtag, comm);                      \
        status = status_for(&receives, &staged, status, &own);                               \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag,  \
                        source, recvtag, comm, status);                                      \
        if (result == MPI_SUCCESS)                                                           \
            traced_end(&sends);                                                              \
        return received(&receives, &staged, result, status, comm);                           \
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
                              STAGED_READ | STAGED_DENSE | NOBODY(dest) | STAGED_LATER);         \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        result = staged_begin(&b[1], recvbuf, recvcount, recvtype,                               \
                              STAGED_READ | STAGED_WRITTEN | STAGED_MESSAGE | STAGED_LATER |     \
                                  NOBODY(source));                                               \
        if (result != MPI_SUCCESS) {                                                             \
            staged_end(&b[0]);                                                                   \
            return call_refused(comm, result);                                                   \
        }                                                                                        \
        sent_beside(&sends, &b[0], sendcount, sendtype, dest, sendtag, comm);                    \
        received_by_mpi(&receives, &b[1], source, recvtag, comm);                                \
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
                              STAGED_READ | STAGED_WRITTEN | STAGED_MESSAGE | STAGED_LATER); \
        if (result != MPI_SUCCESS)                                                           \
            return call_refused(comm, result);                                               \
        sent_beside(&sends, &staged, count, type, dest, sendtag, comm);                      \
        received_by_mpi(&receives, &staged, source, recvtag, comm);                          \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag,  \
                        source, recvtag, comm, request);                                     \
        if (result == MPI_SUCCESS)                                                           \
            traced_end(&sends);                                                              \
        return call_started(&receives, &staged, 1, result, *request, false, comm);           \
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
        status = status_for(&call, &staged, status, &own);                                     \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, message, status); \
        return received(&call, &staged, result, status, comm);                                 \
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
        received_by_mpi(&call, &staged, MPI_ANY_SOURCE, 0, comm);                               \
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
    SENDRECVS(suffix, COUNT)                                            \
    REPLACES(MPI_Sendrecv_replace##suffix, COUNT)                       \
    MRECVS(MPI_Mrecv##suffix, COUNT)                                    \
    IMRECVS(MPI_Imrecv##suffix, COUNT)

ALL(, int)
SENDS_DESCRIPTOR(MPI_Isend)
SENDS_DESCRIPTOR(MPI_Issend)
SENDS_DESCRIPTOR(MPI_Irsend)
#ifdef AWARE_MPI_4
ISENDRECVS(MPI_Isendrecv, int)
IREPLACES(MPI_Isendrecv_replace, int)
#endif
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)
ISENDRECVS(MPI_Isendrecv_c, MPI_Count)
IREPLACES(MPI_Isendrecv_replace_c, MPI_Count)
#endif
