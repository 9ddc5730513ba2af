/* The buffers of MPI_Bsend. */
#include "aware/memory/attached.h"
#include "aware/request/calls.h"

#define UNWRAP(...) __VA_ARGS__

/* of: what the buffer is attached to (MPI 4.1), as a parameter and as an argument, each with a
 * comma, or nothing. */
#define ATTACHES(name, COUNT, of, of_argument)                  \
    NEXT(name)                                                  \
    AWARE_PUBLIC int name(UNWRAP of void *buf, COUNT size)      \
    {                                                           \
        void *host = attached_begin(buf, (size_t)size);         \
        int result;                                             \
                                                                \
        if (!host && buf)                                       \
            return call_refused(MPI_COMM_SELF, MPI_ERR_NO_MEM); \
        result = BEHIND(name, UNWRAP of_argument host, size);   \
        if (result != MPI_SUCCESS)                              \
            attached_end(host);                                 \
        return result;                                          \
    }

#define DETACHES(name, COUNT, of, of_argument)                             \
    NEXT(name)                                                             \
    AWARE_PUBLIC int name(UNWRAP of void *address, COUNT *size)            \
    {                                                                      \
        const int result = BEHIND(name, UNWRAP of_argument address, size); \
                                                                           \
        if (result == MPI_SUCCESS)                                         \
            *(void **)address = attached_end(*(void **)address);           \
        return result;                                                     \
    }

ATTACHES(MPI_Buffer_attach, int, (), ())
DETACHES(MPI_Buffer_detach, int, (), ())
#if MPI_VERSION >= 4
ATTACHES(MPI_Buffer_attach_c, MPI_Count, (), ())
DETACHES(MPI_Buffer_detach_c, MPI_Count, (), ())
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define OF(object, COUNT, suffix)                                                      \
    ATTACHES(MPI_##object##_attach_buffer##suffix, COUNT, (MPI_##object of, ), (of, )) \
    DETACHES(MPI_##object##_detach_buffer##suffix, COUNT, (MPI_##object of, ), (of, ))
OF(Comm, int, )
OF(Comm, MPI_Count, _c)
OF(Session, int, )
OF(Session, MPI_Count, _c)
#endif
