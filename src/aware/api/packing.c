/* Packing. A packed buffer is staged from its position on, as far as the call may go: there MPI is
 * given position 0. */
#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed.h"
#include "aware/request/calls.h"

#define UNWRAP(...) __VA_ARGS__

/* The packed buffer of a call. */
struct packed {
    struct staged staged;
    MPI_Count base; /* the position where the host memory begins, or 0 */
};

/* The second one of two buffers; without it the first one goes, too. most: bytes that the call packs or
 * unpacks, for which there must be room: MPICH 4.0 packs what fits, and says nothing. */
static int packed_begin(struct packed *packed, const void *user, MPI_Count size, MPI_Count position,
                        MPI_Count most, unsigned use, struct staged *first)
{
    int result = MPI_SUCCESS;

    staged_pass(&packed->staged, user);
    packed->base = 0;
    if (buffer_place(user) == BUFFER_HOST || most <= 0)
        return MPI_SUCCESS;
    if (position < 0)
        result = MPI_ERR_ARG;
    else if (size - position < most)
        result = MPI_ERR_TRUNCATE;
    else
        result = staged_begin(&packed->staged, address_at(user, (MPI_Aint)position), most,
                              MPI_PACKED, use);
    if (result == MPI_SUCCESS)
        packed->base = position;
    else
        staged_end(first);
    return result;
}

/* Copies what was written: of a packed buffer nbytes. */
static int packing_ended(struct packed *packed, struct staged *typed, int result, MPI_Count nbytes,
                         MPI_Comm comm)
{
    int error = MPI_SUCCESS;

    if (result == MPI_SUCCESS)
        error = staged_write(&packed->staged, nbytes);
    if (result == MPI_SUCCESS && error == MPI_SUCCESS)
        error = staged_write(typed, -1);
    staged_end(&packed->staged);
    staged_end(typed);
    return error == MPI_SUCCESS ? result : call_refused(comm, error);
}

/* The body of a function: what it does with the buffer of elements and with the packed one; the types of
 * the sizes and of the element count; how the most bytes that may be packed are asked for; and the calls
 * with the buffers as they are, and staged. */
#define BODY(typed_user, typed_use, packed_user, packed_use, COUNT, SIZE, comm, most_bytes, plain, \
             behind)                                                                               \
    {                                                                                              \
        struct packed packed;                                                                      \
        struct staged typed;                                                                       \
        SIZE most = 0, at;                                                                         \
        int result;                                                                                \
                                                                                                   \
        if (!gpu_is_in_use() || !position)                                                         \
            return plain;                                                                          \
        result = buffer_place(packed_user) == BUFFER_HOST ? MPI_SUCCESS : most_bytes;              \
        if (result != MPI_SUCCESS)                                                                 \
            return result;                                                                         \
        result = staged_begin(&typed, typed_user, n, type, typed_use);                             \
        if (result == MPI_SUCCESS)                                                                 \
            result = packed_begin(&packed, packed_user, size, *position, most, packed_use,         \
                                  &typed);                                                         \
        if (result != MPI_SUCCESS)                                                                 \
            return call_refused(comm, result);                                                     \
        at = *position - (SIZE)packed.base;                                                        \
        size -= (SIZE)packed.base;                                                                 \
        result = behind;                                                                           \
        result = packing_ended(&packed, &typed, result, at, comm);                                 \
        if (result == MPI_SUCCESS)                                                                 \
            *position = (SIZE)packed.base + at;                                                    \
        return result;                                                                             \
    }

#define TYPED(COUNT) typed.host, (COUNT)typed.count, typed.type

/* In parentheses the parameters before and behind those that all have, and their arguments. */
#define PACKS(name, COUNT, SIZE, dense, comm, most_bytes, before, behind, first, last)         \
    NEXT(name)                                                                                 \
    AWARE_PUBLIC int name(UNWRAP before const void *in, COUNT n, MPI_Datatype type, void *out, \
                          SIZE size, SIZE *position UNWRAP behind)                             \
        BODY(in, STAGED_READ | (dense), out, STAGED_WRITTEN, COUNT, SIZE, comm, most_bytes,    \
             BEHIND(name, UNWRAP first in, n, type, out, size, position UNWRAP last),          \
             BEHIND(name, UNWRAP first TYPED(COUNT), packed.staged.host, size, &at UNWRAP last))

#define UNPACKS(name, COUNT, SIZE, dense, comm, most_bytes, before, behind, first, last)      \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(UNWRAP before const void *in, SIZE size, SIZE *position, void *out, \
                          COUNT n, MPI_Datatype type UNWRAP behind)                           \
        BODY(out, STAGED_WRITTEN | (dense), in, STAGED_READ, COUNT, SIZE, comm, most_bytes,   \
             BEHIND(name, UNWRAP first in, size, position, out, n, type UNWRAP last),         \
             BEHIND(name, UNWRAP first packed.staged.host, size, &at, TYPED(COUNT) UNWRAP last))

/* Of MPI_Pack the packed bytes are those of memory; the external form is made from elements of the
 * type. SIZE: the type of the external form's sizes. */
#define NATIVE(form, name, suffix, COUNT)                \
    form(name##suffix, COUNT, COUNT, STAGED_DENSE, comm, \
         PMPI_Pack_size##suffix(n, type, comm, &most), (), (, MPI_Comm comm), (), (, comm))
#define EXTERNAL(form, name, suffix, COUNT, SIZE)                         \
    form(name##suffix, COUNT, SIZE, 0, MPI_COMM_SELF,                     \
         PMPI_Pack_external_size##suffix(representation, n, type, &most), \
         (const char representation[], ), (), (representation, ), ())
#define ALL(suffix, COUNT, SIZE)                            \
    NATIVE(PACKS, MPI_Pack, suffix, COUNT)                  \
    NATIVE(UNPACKS, MPI_Unpack, suffix, COUNT)              \
    EXTERNAL(PACKS, MPI_Pack_external, suffix, COUNT, SIZE) \
    EXTERNAL(UNPACKS, MPI_Unpack_external, suffix, COUNT, SIZE)

ALL(, int, MPI_Aint)
#if MPI_VERSION >= 4
/* As in src/mpi/datatype/type_contents.c. */
#if defined GPUBIND_MPI_OF_PROGRAM && defined PIC
#pragma weak PMPI_Pack_size_c
#pragma weak PMPI_Pack_external_size_c
#endif
ALL(_c, MPI_Count, MPI_Count)
#endif
