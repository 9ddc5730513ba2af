#include "aware/reduce/reductions.h"

#include <stdatomic.h>
#include <string.h>

#include "aware/base/next.h"
#include "gpu/reduce/reduce_elements.h"

/* As MPI 4.1, 6.9.2, has them. */
enum class {
    INTEGER,  /* of C */
    UNSIGNED, /* of C */
    FORTRAN,  /* integers of Fortran, and MPI_AINT and its like, which are no logicals */
    FLOATING,
    COMPLEX,
    LOGICAL,
    BYTE
};

static const struct row {
    MPI_Datatype type;
    enum class class;
} rows[] = {
    {MPI_SIGNED_CHAR, INTEGER},
    {MPI_SHORT, INTEGER},
    {MPI_INT, INTEGER},
    {MPI_LONG, INTEGER},
    {MPI_LONG_LONG, INTEGER},
    {MPI_INT8_T, INTEGER},
    {MPI_INT16_T, INTEGER},
    {MPI_INT32_T, INTEGER},
    {MPI_INT64_T, INTEGER},
    {MPI_UNSIGNED_CHAR, UNSIGNED},
    {MPI_UNSIGNED_SHORT, UNSIGNED},
    {MPI_UNSIGNED, UNSIGNED},
    {MPI_UNSIGNED_LONG, UNSIGNED},
    {MPI_UNSIGNED_LONG_LONG, UNSIGNED},
    {MPI_UINT8_T, UNSIGNED},
    {MPI_UINT16_T, UNSIGNED},
    {MPI_UINT32_T, UNSIGNED},
    {MPI_UINT64_T, UNSIGNED},
    {MPI_FLOAT, FLOATING},
    {MPI_DOUBLE, FLOATING},
    {MPI_C_FLOAT_COMPLEX, COMPLEX},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX},
    {MPI_CXX_FLOAT_COMPLEX, COMPLEX},
    {MPI_CXX_DOUBLE_COMPLEX, COMPLEX},
    {MPI_C_BOOL, LOGICAL},
    {MPI_CXX_BOOL, LOGICAL},
    {MPI_BYTE, BYTE},
    {MPI_AINT, FORTRAN},
    {MPI_OFFSET, FORTRAN},
    {MPI_COUNT, FORTRAN},
    /* A Fortran compiler's types may have another size, or be none of the MPI's. */
    {MPI_INTEGER, FORTRAN},
    {MPI_INTEGER1, FORTRAN},
    {MPI_INTEGER2, FORTRAN},
    {MPI_INTEGER4, FORTRAN},
    {MPI_INTEGER8, FORTRAN},
    {MPI_REAL, FLOATING},
    {MPI_REAL4, FLOATING},
    {MPI_REAL8, FLOATING},
    {MPI_DOUBLE_PRECISION, FLOATING},
    {MPI_COMPLEX, COMPLEX},
    {MPI_COMPLEX8, COMPLEX},
    {MPI_COMPLEX16, COMPLEX},
    {MPI_DOUBLE_COMPLEX, COMPLEX},
    {MPI_LOGICAL, LOGICAL},
};
#define ROWS (sizeof rows / sizeof *rows)

static const struct row *row_of(MPI_Datatype type)
{
    for (size_t i = 0; i < ROWS && type != MPI_DATATYPE_NULL; i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

/* By the log of the size of an element, or of a part of a complex one. */
static bool type_of(const struct row *row, enum reduce_type *found)
{
    static const enum reduce_type of_unsigned[] = {REDUCE_U8, REDUCE_U16, REDUCE_U32, REDUCE_U64},
                                  of_signed[] = {REDUCE_S8, REDUCE_S16, REDUCE_S32, REDUCE_S64},
                                  of_floating[] = {REDUCE_TYPES, REDUCE_TYPES, REDUCE_F32,
                                                   REDUCE_F64};
    int nbytes = 0, log = 0;

    if (PMPI_Type_size(row->type, &nbytes) != MPI_SUCCESS)
        return false;
    if (row->class == COMPLEX)
        nbytes /= 2;
    while (log < 3 && 1 << log < nbytes)
        log++;
    *found = row->class == FLOATING || row->class == COMPLEX  ? of_floating[log]
             : row->class == INTEGER || row->class == FORTRAN ? of_signed[log]
                                                              : of_unsigned[log];
    return 1 << log == nbytes && *found != REDUCE_TYPES;
}

bool reduction_type_of(MPI_Datatype type, enum reduce_type *found)
{
    const struct row *row = row_of(type);

    return row && row->class <= FLOATING && type_of(row, found);
}

/* REDUCE_OPS: none of these. */
static enum reduce_op op_of(MPI_Op op)
{
    const struct {
        MPI_Op mpi;
        enum reduce_op op;
    } ops[] = {{MPI_SUM, REDUCE_SUM},   {MPI_PROD, REDUCE_PROD}, {MPI_MIN, REDUCE_MIN},
               {MPI_MAX, REDUCE_MAX},   {MPI_BAND, REDUCE_BAND}, {MPI_BOR, REDUCE_BOR},
               {MPI_BXOR, REDUCE_BXOR}, {MPI_LAND, REDUCE_LAND}, {MPI_LOR, REDUCE_LOR},
               {MPI_LXOR, REDUCE_LXOR}};

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].mpi == op)
            return ops[i].op;
    return REDUCE_OPS;
}

static bool takes(enum class class, enum reduce_op op)
{
    if (op <= REDUCE_PROD)
        return class <= COMPLEX;
    if (op <= REDUCE_MAX)
        return class <= FLOATING;
    if (op <= REDUCE_BXOR)
        return class <= FORTRAN || class == BYTE;
    return class <= UNSIGNED || class == LOGICAL;
}

/* The sign matters to minima and maxima alone. */
static enum reduce_type type_for(enum reduce_type type, enum class class, enum reduce_op op)
{
    const bool ordered = op == REDUCE_MIN || op == REDUCE_MAX;

    if (type >= REDUCE_S8 && type <= REDUCE_S64 && !ordered)
        return type - REDUCE_S8 + REDUCE_U8;
    if (class == COMPLEX && op == REDUCE_PROD)
        return type - REDUCE_F32 + REDUCE_C32;
    return type;
}

/* ---- what the MPI computes */

#define SAMPLE 64 /* elements: more than a vector of the CPU's */
#define SAMPLE_BYTES (SAMPLE * 16)
union sample {
    char bytes[SAMPLE_BYTES];
    float floats[SAMPLE];
    double doubles[SAMPLE];
    double aligned[SAMPLE_BYTES / sizeof(double)];
};

static bool reduce_by_mpi(const union sample *from, union sample *there, MPI_Datatype type,
                          MPI_Op op)
{
    return CALL_MPI(PMPI_Reduce_local(from->bytes, there->bytes, SAMPLE, type, op)) == MPI_SUCCESS;
}

static void reduce_by_kernel(const struct reduction *how, const char *from, char *there, size_t n)
{
    switch ((unsigned)how->type * REDUCE_OPS + how->op) {
#define CASE(TYPE, OP, RESULT)                                                    \
    case REDUCE_##TYPE *REDUCE_OPS + REDUCE_##OP:                                 \
        for (size_t i = 0; i < n; i++)                                            \
            ((reduce_##TYPE *)(void *)there)[i] = reduce_##TYPE##_##OP(           \
                ((reduce_##TYPE *)(void *)there)[i],                              \
                ((const reduce_##TYPE *)(const void *)from)[i], how->from_first); \
        return;
        REDUCE_LIST(CASE)
#undef CASE
    default:
        return;
    }
}

static uint64_t random_bits(void)
{
    static _Atomic uint64_t count;
    uint64_t bits = (atomic_fetch_add(&count, 1) + 1) * 0x9e3779b97f4a7c15u;

    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
}

/* Numbers of either sign with all bits in use. */
static void fill_numbers(union sample *sample, bool small)
{
    for (size_t i = 0; i < SAMPLE_BYTES / (small ? 4 : 8); i++) {
        const double number = ((double)(random_bits() >> 11) - 0x1p52) * 0x1p-45;

        if (small)
            memcpy(sample->bytes + 4 * i, &(float){(float)number}, 4);
        else
            memcpy(sample->bytes + 8 * i, &number, 8);
    }
}

/* Of all sizes, so that sums overflow; every third one is 0. */
static void fill_integers(union sample *sample, size_t size, bool logical)
{
    memset(sample, 0, sizeof *sample);
    for (size_t i = 0; i < SAMPLE; i++) {
        const uint64_t bits = random_bits(), value = logical ? bits & 1 : i % 3 == 0 ? 0 : bits;

        memcpy(sample->bytes + size * i, &value, size); /* little-endian */
    }
}

static void fill(union sample *sample, enum reduce_type type, const struct row *row, int size)
{
    if (row->class == FLOATING || row->class == COMPLEX)
        fill_numbers(sample, type == REDUCE_F32 || type == REDUCE_C32);
    else
        fill_integers(sample, (size_t)size, row->class == LOGICAL);
}

static bool is_as_mpi(const struct reduction *how, const struct row *row, MPI_Op op)
{
    union sample from, there, wanted;
    int size = 0;

    PMPI_Type_size(row->type, &size);
    fill(&from, how->type, row, size);
    fill(&there, how->type, row, size);
    wanted = there;
    if (!reduce_by_mpi(&from, &wanted, row->type, op))
        return false;
    reduce_by_kernel(how, from.bytes, there.bytes, (size_t)size * SAMPLE / reduce_bytes(how->type));
    return memcmp(there.bytes, wanted.bytes, sizeof there.bytes) == 0;
}

/* What a minimum or maximum of 1 and NaN is, of all elements but the last ones of an array, which an MPI may
 * compute in another way. */
static bool takes_from_first(enum reduce_type type, const struct row *row, MPI_Op op)
{
    const double nan = __builtin_nan("");
    union sample from, there;

    for (int i = 0; i < SAMPLE; i++)
        if (type == REDUCE_F32) {
            from.floats[i] = 1;
            there.floats[i] = (float)nan;
        } else {
            from.doubles[i] = 1;
            there.doubles[i] = nan;
        }
    if (!reduce_by_mpi(&from, &there, row->type, op))
        return false;
    return type == REDUCE_F32 ? there.floats[0] != 1 : there.doubles[0] != 1;
}

enum answer { UNKNOWN, NO, YES, FROM_FIRST };

static enum answer ask(const struct row *row, MPI_Op op, struct reduction *how)
{
    const bool floats = how->type == REDUCE_F32 || how->type == REDUCE_F64;

    if (!is_as_mpi(how, row, op))
        return NO;
    return floats && how->op >= REDUCE_MIN && takes_from_first(how->type, row, op) ? FROM_FIRST
                                                                                   : YES;
}

bool reduction_of(struct reduction *found, MPI_Datatype type, MPI_Op op)
{
    static _Atomic unsigned char answers[ROWS][REDUCE_OPS];
    const struct row *row = row_of(type);
    enum answer answer;

    found->op = op_of(op);
    found->from_first = false;
    if (!row || found->op == REDUCE_OPS || !takes(row->class, found->op) ||
        !type_of(row, &found->type))
        return false;
    found->type = type_for(found->type, row->class, found->op);
    answer = (enum answer)atomic_load(&answers[row - rows][found->op]);
    if (answer == UNKNOWN) {
        answer = ask(row, op, found);
        atomic_store(&answers[row - rows][found->op], (unsigned char)answer);
    }
    found->from_first = answer == FROM_FIRST;
    return answer >= YES;
}
