/* Point to point. */
#include "aware/calls.h"

#define NOBODY(rank) ((rank) == MPI_PROC_NULL ? STAGED_NOBODY : 0)

/* name, the type of its count */
#define SENDS(name, COUNT)                                                                     \
    NEXT(name)                                                                                 \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag,  \
                          MPI_Comm comm)                                                       \
    {                                                                                          \
        struct staged staged;                                                                  \
        int result = staged_begin(&staged, buf, count, type,                                   \
                                  STAGED_READ | STAGED_DENSE | NOBODY(dest));                  \
                                                                                               \
        if (result != MPI_SUCCESS)                                                             \
            return call_refused(comm, result);                                                 \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm); \
        return call_ended(&staged, 1, result, comm);                                           \
    }

#define ISENDS(name, COUNT, persistent)                                                       \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(const void *buf, COUNT count, MPI_Datatype type, int dest, int tag, \
                          MPI_Comm comm, MPI_Request *request)                                \
    {                                                                                         \
        struct staged staged;                                                                 \
        int result = staged_begin(&staged, buf, count, type,                                  \
                                  STAGED_READ | STAGED_DENSE | NOBODY(dest) | STAGED_LATER);  \
                                                                                              \
        if (result != MPI_SUCCESS)                                                            \
            return call_refused(comm, result);                                                \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, tag, comm, \
                        request);                                                             \
        return call_started(&staged, 1, result, *request, persistent, comm);                  \
    }

#define IRECVS(name, COUNT, persistent)                                                           \
    NEXT(name)                                                                                    \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int source, int tag,         \
                          MPI_Comm comm, MPI_Request *request)                                    \
    {                                                                                             \
        struct staged staged;                                                                     \
        int result = staged_begin(&staged, buf, count, type,                                      \
                                  STAGED_WRITTEN | STAGED_DENSE | NOBODY(source) | STAGED_LATER); \
                                                                                                  \
        if (result != MPI_SUCCESS)                                                                \
            return call_refused(comm, result);                                                    \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, source, tag, comm,   \
                        request);                                                                 \
        return call_started(&staged, 1, result, *request, persistent, comm);                      \
    }

/* Writes the bytes that the message had. */
static int received(struct staged *staged, int result, const MPI_Status *status, MPI_Comm comm)
{
    MPI_Count nbytes = -1;
    int error = MPI_SUCCESS;

    if (staged->staged && result == MPI_SUCCESS) {
        PMPI_Get_elements_x(status, MPI_BYTE, &nbytes);
        error = staged_write(staged, nbytes == MPI_UNDEFINED ? -1 : nbytes);
    }
    staged_end(staged);
    requests_sweep(false); /* the message may tell that a freed receive is complete */
    return error == MPI_SUCCESS ? result : call_refused(comm, error);
}

#define RECVS(name, COUNT)                                                                      \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int source, int tag,       \
                          MPI_Comm comm, MPI_Status *status)                                    \
    {                                                                                           \
        struct staged staged;                                                                   \
        MPI_Status own = {0};                                                                   \
        int result = staged_begin(&staged, buf, count, type,                                    \
                                  STAGED_WRITTEN | STAGED_DENSE | NOBODY(source));              \
                                                                                                \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(comm, result);                                                  \
        status = staged.staged && status == MPI_STATUS_IGNORE ? &own : status;                  \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, source, tag, comm, \
                        status);                                                                \
        return received(&staged, result, status, comm);                                         \
    }

#define SENDRECVS(name, COUNT)                                                                   \
    NEXT(name)                                                                                   \
    AWARE_PUBLIC int name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, \
                          int sendtag, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,    \
                          int source, int recvtag, MPI_Comm comm, MPI_Status *status)            \
    {                                                                                            \
        struct staged out, in;                                                                   \
        MPI_Status own = {0};                                                                    \
        int result = staged_begin(&out, sendbuf, sendcount, sendtype,                            \
                                  STAGED_READ | STAGED_DENSE | NOBODY(dest));                    \
                                                                                                 \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        result = staged_begin(&in, recvbuf, recvcount, recvtype,                                 \
                              STAGED_WRITTEN | STAGED_DENSE | NOBODY(source));                   \
        if (result != MPI_SUCCESS) {                                                             \
            staged_end(&out);                                                                    \
            return call_refused(comm, result);                                                   \
        }                                                                                        \
        status = in.staged && status == MPI_STATUS_IGNORE ? &own : status;                       \
        result = BEHIND(name, out.host, (COUNT)out.count, out.type, dest, sendtag, in.host,      \
                        (COUNT)in.count, in.type, source, recvtag, comm, status);                \
        staged_end(&out);                                                                        \
        return received(&in, result, status, comm);                                              \
    }

#define REPLACES(name, COUNT)                                                               \
    NEXT(name)                                                                              \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag, \
                          int source, int recvtag, MPI_Comm comm, MPI_Status *status)       \
    {                                                                                       \
        struct staged staged;                                                               \
        MPI_Status own = {0};                                                               \
        int result = staged_begin(&staged, buf, count, type,                                \
                                  STAGED_READ | STAGED_WRITTEN | STAGED_DENSE);             \
                                                                                            \
        if (result != MPI_SUCCESS)                                                          \
            return call_refused(comm, result);                                              \
        status = staged.staged && status == MPI_STATUS_IGNORE ? &own : status;              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag, \
                        source, recvtag, comm, status);                                     \
        return received(&staged, result, status, comm);                                     \
    }

/* The status of MPICH 4.0 has no count here: all of the buffer is written, and what a shorter message
 * leaves is what was there. */
#define ISENDRECVS(name, COUNT)                                                                  \
    NEXT(name)                                                                                   \
    AWARE_PUBLIC int name(const void *sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, \
                          int sendtag, void *recvbuf, COUNT recvcount, MPI_Datatype recvtype,    \
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request)          \
    {                                                                                            \
        struct staged b[2];                                                                      \
        int result = staged_begin(&b[0], sendbuf, sendcount, sendtype,                           \
                                  STAGED_READ | STAGED_DENSE | NOBODY(dest) | STAGED_LATER);     \
                                                                                                 \
        if (result != MPI_SUCCESS)                                                               \
            return call_refused(comm, result);                                                   \
        result = staged_begin(&b[1], recvbuf, recvcount, recvtype,                               \
                              STAGED_READ | STAGED_WRITTEN | STAGED_LATER);                      \
        if (result != MPI_SUCCESS) {                                                             \
            staged_end(&b[0]);                                                                   \
            return call_refused(comm, result);                                                   \
        }                                                                                        \
        result = BEHIND(name, b[0].host, (COUNT)b[0].count, b[0].type, dest, sendtag, b[1].host, \
                        (COUNT)b[1].count, b[1].type, source, recvtag, comm, request);           \
        return call_started(b, 2, result, *request, false, comm);                                \
    }

#define IREPLACES(name, COUNT)                                                              \
    NEXT(name)                                                                              \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, int dest, int sendtag, \
                          int source, int recvtag, MPI_Comm comm, MPI_Request *request)     \
    {                                                                                       \
        struct staged staged;                                                               \
        int result = staged_begin(&staged, buf, count, type,                                \
                                  STAGED_READ | STAGED_WRITTEN | STAGED_LATER);             \
                                                                                            \
        if (result != MPI_SUCCESS)                                                          \
            return call_refused(comm, result);                                              \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, dest, sendtag, \
                        source, recvtag, comm, request);                                    \
        return call_started(&staged, 1, result, *request, false, comm);                     \
    }

/* A matched message has no communicator to call the error handler of. */
#define MRECVS(name, COUNT)                                                                    \
    NEXT(name)                                                                                 \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,     \
                          MPI_Status *status)                                                  \
    {                                                                                          \
        struct staged staged;                                                                  \
        MPI_Status own = {0};                                                                  \
        int result = staged_begin(&staged, buf, count, type, STAGED_WRITTEN | STAGED_DENSE);   \
                                                                                               \
        if (result != MPI_SUCCESS)                                                             \
            return call_refused(MPI_COMM_SELF, result);                                        \
        status = staged.staged && status == MPI_STATUS_IGNORE ? &own : status;                 \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, message, status); \
        return received(&staged, result, status, MPI_COMM_SELF);                               \
    }

#define IMRECVS(name, COUNT)                                                                    \
    NEXT(name)                                                                                  \
    AWARE_PUBLIC int name(void *buf, COUNT count, MPI_Datatype type, MPI_Message *message,      \
                          MPI_Request *request)                                                 \
    {                                                                                           \
        struct staged staged;                                                                   \
        int result = staged_begin(&staged, buf, count, type,                                    \
                                  STAGED_WRITTEN | STAGED_DENSE | STAGED_LATER);                \
                                                                                                \
        if (result != MPI_SUCCESS)                                                              \
            return call_refused(MPI_COMM_SELF, result);                                         \
        result = BEHIND(name, staged.host, (COUNT)staged.count, staged.type, message, request); \
        return call_started(&staged, 1, result, *request, false, MPI_COMM_SELF);                \
    }

#define ALL(suffix, COUNT)                        \
    SENDS(MPI_Send##suffix, COUNT)                \
    SENDS(MPI_Ssend##suffix, COUNT)               \
    SENDS(MPI_Rsend##suffix, COUNT)               \
    SENDS(MPI_Bsend##suffix, COUNT)               \
    ISENDS(MPI_Isend##suffix, COUNT, false)       \
    ISENDS(MPI_Issend##suffix, COUNT, false)      \
    ISENDS(MPI_Irsend##suffix, COUNT, false)      \
    ISENDS(MPI_Ibsend##suffix, COUNT, false)      \
    ISENDS(MPI_Send_init##suffix, COUNT, true)    \
    ISENDS(MPI_Ssend_init##suffix, COUNT, true)   \
    ISENDS(MPI_Rsend_init##suffix, COUNT, true)   \
    ISENDS(MPI_Bsend_init##suffix, COUNT, true)   \
    RECVS(MPI_Recv##suffix, COUNT)                \
    IRECVS(MPI_Irecv##suffix, COUNT, false)       \
    IRECVS(MPI_Recv_init##suffix, COUNT, true)    \
    SENDRECVS(MPI_Sendrecv##suffix, COUNT)        \
    REPLACES(MPI_Sendrecv_replace##suffix, COUNT) \
    MRECVS(MPI_Mrecv##suffix, COUNT)              \
    IMRECVS(MPI_Imrecv##suffix, COUNT)

ALL(, int)
#ifdef AWARE_MPI_4
ISENDRECVS(MPI_Isendrecv, int)
IREPLACES(MPI_Isendrecv_replace, int)
#endif
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)
ISENDRECVS(MPI_Isendrecv_c, MPI_Count)
IREPLACES(MPI_Isendrecv_replace_c, MPI_Count)
#endif
