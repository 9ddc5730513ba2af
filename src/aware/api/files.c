/* Reading and writing files. */
#include <stdint.h>

#include "aware/io/file_buffers.h"
#include "aware/io/file_pieces.h"
#include "aware/request/calls.h"

#define UNWRAP(...) __VA_ARGS__

/* name, what it does with the buffer, the type of its count, const for a buffer that is written to the
 * file, and in parentheses, before the buffer, the offset's parameter and argument. */
#define BLOCKING(name, use, COUNT, CONST, at_parameter, at)                                  \
    NEXT(name)                                                                               \
    AWARE_PUBLIC int name(MPI_File file, UNWRAP at_parameter CONST void *buf, COUNT count,   \
                          MPI_Datatype type, MPI_Status *status)                             \
    {                                                                                        \
        struct staged staged;                                                                \
        int result = file_begin(&staged, file, buf, count, type, use);                       \
                                                                                             \
        if (result != MPI_SUCCESS)                                                           \
            return file_refused(file, result);                                               \
        result = BEHIND(name, file, UNWRAP at staged.host, (COUNT)staged.count, staged.type, \
                        status);                                                             \
        return file_ended(&staged, result, file);                                            \
    }

/* The same for what a rank does by itself, which may go in pieces. */
#define ALONE(name, use, COUNT, CONST, at_parameter, at, offset)                                 \
    NEXT(name)                                                                                   \
    static int transfer_##name(MPI_File file, MPI_Offset here, void *host, int count,            \
                               MPI_Datatype type, MPI_Status *status)                            \
    {                                                                                            \
        (void)here;                                                                              \
        return BEHIND(name, file, UNWRAP offset host, (COUNT)count, type, status);               \
    }                                                                                            \
                                                                                                 \
    AWARE_PUBLIC int name(MPI_File file, UNWRAP at_parameter CONST void *buf, COUNT count,       \
                          MPI_Datatype type, MPI_Status *status)                                 \
    {                                                                                            \
        const MPI_Offset at_or_none[] = {UNWRAP at 0};                                           \
        const struct file_call call = {file, at_or_none[0],       (void *)(uintptr_t)buf, count, \
                                       type, (use) == FILE_WRITE, transfer_##name};              \
        struct staged staged;                                                                    \
        int result;                                                                              \
                                                                                                 \
        if (!is_behind && file_in_pieces(&call, status, &result))                                \
            return result;                                                                       \
        result = file_begin(&staged, file, buf, count, type, use);                               \
        if (result != MPI_SUCCESS)                                                               \
            return file_refused(file, result);                                                   \
        result = BEHIND(name, file, UNWRAP at staged.host, (COUNT)staged.count, staged.type,     \
                        status);                                                                 \
        return file_ended(&staged, result, file);                                                \
    }

#define NONBLOCKING(name, use, COUNT, CONST, at_parameter, at)                               \
    NEXT(name)                                                                               \
    AWARE_PUBLIC int name(MPI_File file, UNWRAP at_parameter CONST void *buf, COUNT count,   \
                          MPI_Datatype type, MPI_Request *request)                           \
    {                                                                                        \
        struct staged staged;                                                                \
        int result = file_begin(&staged, file, buf, count, type, (use) | STAGED_LATER);      \
                                                                                             \
        if (result != MPI_SUCCESS)                                                           \
            return file_refused(file, result);                                               \
        result = BEHIND(name, file, UNWRAP at staged.host, (COUNT)staged.count, staged.type, \
                        request);                                                            \
        return file_started(&staged, result, *request, file);                                \
    }

#define FIRST_HALF(name, use, COUNT, CONST, at_parameter, at)                                 \
    NEXT(name)                                                                                \
    AWARE_PUBLIC int name(MPI_File file, UNWRAP at_parameter CONST void *buf, COUNT count,    \
                          MPI_Datatype type)                                                  \
    {                                                                                         \
        struct staged staged;                                                                 \
        int result = file_begin(&staged, file, buf, count, type, (use) | STAGED_LATER);       \
                                                                                              \
        if (result != MPI_SUCCESS)                                                            \
            return file_refused(file, result);                                                \
        result = BEHIND(name, file, UNWRAP at staged.host, (COUNT)staged.count, staged.type); \
        return file_split(&staged, result, file);                                             \
    }

#define SECOND_HALF(name, CONST)                                                   \
    NEXT(name)                                                                     \
    AWARE_PUBLIC int name(MPI_File file, CONST void *buf, MPI_Status *status)      \
    {                                                                              \
        struct staged staged;                                                      \
                                                                                   \
        if (!file_split_take(&staged, file))                                       \
            return BEHIND(name, file, buf, status);                                \
        return file_ended(&staged, BEHIND(name, file, staged.host, status), file); \
    }

/* The form, the two functions' names after MPI_File_, and the type of their counts. */
#define HERE(form, read, write, COUNT)                \
    form(MPI_File_##read, FILE_READ, COUNT, , (), ()) \
        form(MPI_File_##write, FILE_WRITE, COUNT, const, (), ())
#define AT(form, read, write, COUNT)                                     \
    form(MPI_File_##read, FILE_READ, COUNT, , (MPI_Offset at, ), (at, )) \
        form(MPI_File_##write, FILE_WRITE, COUNT, const, (MPI_Offset at, ), (at, ))

#define ALONE_HERE(name, use, COUNT, CONST, at_parameter, at) \
    ALONE(name, use, COUNT, CONST, at_parameter, at, ())
#define ALONE_AT(name, use, COUNT, CONST, at_parameter, at) \
    ALONE(name, use, COUNT, CONST, at_parameter, at, (here, ))

#define ALL(suffix, COUNT)                                                           \
    HERE(ALONE_HERE, read##suffix, write##suffix, COUNT)                             \
    HERE(BLOCKING, read_all##suffix, write_all##suffix, COUNT)                       \
    HERE(BLOCKING, read_shared##suffix, write_shared##suffix, COUNT)                 \
    HERE(BLOCKING, read_ordered##suffix, write_ordered##suffix, COUNT)               \
    HERE(NONBLOCKING, iread##suffix, iwrite##suffix, COUNT)                          \
    HERE(NONBLOCKING, iread_all##suffix, iwrite_all##suffix, COUNT)                  \
    HERE(NONBLOCKING, iread_shared##suffix, iwrite_shared##suffix, COUNT)            \
    HERE(FIRST_HALF, read_all_begin##suffix, write_all_begin##suffix, COUNT)         \
    HERE(FIRST_HALF, read_ordered_begin##suffix, write_ordered_begin##suffix, COUNT) \
    AT(ALONE_AT, read_at##suffix, write_at##suffix, COUNT)                           \
    AT(BLOCKING, read_at_all##suffix, write_at_all##suffix, COUNT)                   \
    AT(NONBLOCKING, iread_at##suffix, iwrite_at##suffix, COUNT)                      \
    AT(NONBLOCKING, iread_at_all##suffix, iwrite_at_all##suffix, COUNT)              \
    AT(FIRST_HALF, read_at_all_begin##suffix, write_at_all_begin##suffix, COUNT)

ALL(, int)
#if MPI_VERSION >= 4
ALL(_c, MPI_Count)
#endif

SECOND_HALF(MPI_File_read_all_end, )
SECOND_HALF(MPI_File_read_at_all_end, )
SECOND_HALF(MPI_File_read_ordered_end, )
SECOND_HALF(MPI_File_write_all_end, const)
SECOND_HALF(MPI_File_write_at_all_end, const)
SECOND_HALF(MPI_File_write_ordered_end, const)
