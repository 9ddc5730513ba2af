/* Predefined datatypes, by numbers that are the same on all ranks. */
#include <stddef.h>

#include "mpi/datatype/type_cache.h"

/* The number of a predefined type is its index here. The first also stands for a mixture of
 * types. */
/* clang-format off */
static MPI_Datatype numbered[] = {
    MPI_BYTE,        MPI_DOUBLE,     MPI_FLOAT,          MPI_INT,           MPI_CHAR,
    MPI_LONG,        MPI_LONG_LONG,  MPI_UNSIGNED,       MPI_UNSIGNED_CHAR, MPI_UNSIGNED_LONG,
    MPI_SHORT,       MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG_LONG, MPI_SIGNED_CHAR, MPI_WCHAR,
    MPI_LONG_DOUBLE, MPI_INT8_T,     MPI_INT16_T,        MPI_INT32_T,       MPI_INT64_T,
    MPI_UINT8_T,     MPI_UINT16_T,   MPI_UINT32_T,       MPI_UINT64_T,      MPI_C_BOOL,
    MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET,
    MPI_COUNT,       MPI_PACKED,     MPI_INTEGER,        MPI_REAL,          MPI_DOUBLE_PRECISION,
    MPI_COMPLEX,     MPI_DOUBLE_COMPLEX, MPI_LOGICAL,    MPI_CHARACTER,     MPI_INTEGER4,
    MPI_INTEGER8,    MPI_REAL4,      MPI_REAL8,          MPI_INTEGER1,      MPI_INTEGER2,
    MPI_REAL16,      MPI_COMPLEX8,   MPI_COMPLEX16,      MPI_COMPLEX32,     MPI_2INTEGER,
    MPI_2REAL,       MPI_2DOUBLE_PRECISION, MPI_CXX_BOOL, MPI_CXX_FLOAT_COMPLEX,
    MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX, MPI_FLOAT_INT,     MPI_DOUBLE_INT,
    MPI_LONG_INT,    MPI_2INT,       MPI_SHORT_INT,      MPI_LONG_DOUBLE_INT,
};
/* clang-format on */
enum { NUMBERED = sizeof numbered / sizeof *numbered, PAIRS = 6 /* the last ones */ };

#define PAIR(type)                        \
    {                                     \
        sizeof(type), offsetof(           \
                          struct {        \
                              type value; \
                              int index;  \
                          },              \
                          index)          \
    }
static const struct {
    size_t value, second;
} pairs[PAIRS] = {PAIR(float), PAIR(double), PAIR(long), PAIR(int), PAIR(short), PAIR(long double)};

MPI_Datatype type_numbered(uint32_t number)
{
    return number < NUMBERED && numbered[number] != MPI_DATATYPE_NULL ? numbered[number] : MPI_BYTE;
}

size_t type_numbered_size(uint32_t number)
{
    int size = 1;

    PMPI_Type_size(type_numbered(number), &size);
    return size > 0 ? (size_t)size : 1;
}

int type_number(MPI_Datatype type)
{
    for (int i = 0; i < NUMBERED; i++)
        if (numbered[i] == type)
            return i;
    return -1;
}

bool type_may_have_holes(int number)
{
    return number >= NUMBERED - PAIRS;
}

bool type_is_pair(int number, size_t *value, size_t *second)
{
    if (!type_may_have_holes(number))
        return false;
    *value = pairs[number - (NUMBERED - PAIRS)].value;
    *second = pairs[number - (NUMBERED - PAIRS)].second;
    return true;
}
