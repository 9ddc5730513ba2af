/* Elements of large collectives, the types that hold them, and the operations. */
#include "tests/aware/large.h"

#include <string.h>

enum { MODULUS = 10007, GAPPED_INTS = 3, VECTOR_INTS = 8, NELEMENTS = 10 };

static struct element elements[NELEMENTS];
static struct form forms[FORMS];
static MPI_Op product, sum_of_gapped;

struct reduction reductions[] = {
    {INTS, "MPI_SUM", MPI_OP_NULL},         {INTS, "MPI_PROD", MPI_OP_NULL},
    {INTS, "MPI_LAND", MPI_OP_NULL},        {INTS, "MPI_BOR", MPI_OP_NULL},
    {LONGS, "MPI_SUM", MPI_OP_NULL},        {LONGS, "MPI_MAX", MPI_OP_NULL},
    {FLOATS, "MPI_SUM", MPI_OP_NULL},       {REALS, "MPI_MIN", MPI_OP_NULL},
    {DOUBLES, "MPI_SUM", MPI_OP_NULL},      {DOUBLES, "MPI_PROD", MPI_OP_NULL},
    {DOUBLES, "MPI_MAX", MPI_OP_NULL},      {BYTES, "MPI_MAX", MPI_OP_NULL},
    {BYTES, "MPI_BOR", MPI_OP_NULL},        {LONG_DOUBLES, "MPI_SUM", MPI_OP_NULL},
    {LONG_DOUBLES, "MPI_MIN", MPI_OP_NULL}, {PAIRS, "MPI_MINLOC", MPI_OP_NULL},
    {PAIRS, "MPI_MAXLOC", MPI_OP_NULL},     {SQUARES, "products", MPI_OP_NULL},
    {GAPPED, "sums", MPI_OP_NULL},
};
const unsigned nreductions = sizeof reductions / sizeof *reductions;

/* 2x2 matrices: not commutative. */
static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++, a += 4, b += 4) {
        const int c[4] = {
            (a[0] * b[0] + a[1] * b[2]) % MODULUS, (a[0] * b[1] + a[1] * b[3]) % MODULUS,
            (a[2] * b[0] + a[3] * b[2]) % MODULUS, (a[2] * b[1] + a[3] * b[3]) % MODULUS};

        memcpy(b, c, sizeof c);
    }
}

static void add_gapped(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++, a += GAPPED_INTS, b += GAPPED_INTS) {
        b[0] += a[0];
        b[2] += a[2];
    }
}

static void set_element(enum values values, const char *name, MPI_Datatype type, size_t extent)
{
    elements[values] = (struct element){name, values, type, extent};
}

/* Fortran's, where the MPI has it. */
static MPI_Datatype type_of_reals(void)
{
    int nbytes = 0;

    if (MPI_REAL != MPI_DATATYPE_NULL)
        MPI_Type_size(MPI_REAL, &nbytes);
    return nbytes == sizeof(float) ? MPI_REAL : MPI_FLOAT;
}

/* Two ints of three, and eight of sixteen. */
static void make_gapped(MPI_Datatype *gapped, MPI_Datatype *vector)
{
    MPI_Datatype type;

    MPI_Type_vector(2, 1, 2, MPI_INT, gapped);
    MPI_Type_commit(gapped);
    MPI_Type_vector(2, VECTOR_INTS / 2, VECTOR_INTS, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, 2 * VECTOR_INTS * sizeof(int), vector);
    MPI_Type_free(&type);
    MPI_Type_commit(vector);
}

void types_make(void)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_LAND, MPI_BOR,    MPI_SUM,   MPI_MAX,
                          MPI_SUM, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_MAX,   MPI_MAX,
                          MPI_BOR, MPI_SUM,  MPI_MIN,  MPI_MINLOC, MPI_MAXLOC};
    MPI_Datatype square, gapped, vector;

    MPI_Type_contiguous(4, MPI_INT, &square);
    MPI_Type_commit(&square);
    make_gapped(&gapped, &vector);
    set_element(INTS, "MPI_INT", MPI_INT, sizeof(int));
    set_element(LONGS, "MPI_LONG", MPI_LONG, sizeof(long));
    set_element(FLOATS, "MPI_FLOAT", MPI_FLOAT, sizeof(float));
    set_element(REALS, "MPI_REAL", type_of_reals(), sizeof(float));
    set_element(DOUBLES, "MPI_DOUBLE", MPI_DOUBLE, sizeof(double));
    set_element(BYTES, "MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, 1);
    set_element(LONG_DOUBLES, "MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, sizeof(long double));
    set_element(PAIRS, "MPI_2INT", MPI_2INT, 2 * sizeof(int));
    set_element(SQUARES, "four ints", square, 4 * sizeof(int));
    set_element(GAPPED, "two ints of three", gapped, GAPPED_INTS * sizeof(int));
    forms[0] = (struct form){MPI_INT, sizeof(int), 1};
    forms[1] = (struct form){square, 4 * sizeof(int), 4};
    forms[2] = (struct form){gapped, GAPPED_INTS * sizeof(int), 2};
    forms[3] = (struct form){vector, 2 * VECTOR_INTS * sizeof(int), VECTOR_INTS};
    MPI_Op_create(multiply, 0, &product);
    MPI_Op_create(add_gapped, 1, &sum_of_gapped);
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
        reductions[i].op = ops[i];
    reductions[nreductions - 2].op = product;
    reductions[nreductions - 1].op = sum_of_gapped;
}

void types_clear(void)
{
    for (int i = 1; i < FORMS; i++)
        MPI_Type_free(&forms[i].type);
    MPI_Op_free(&product);
    MPI_Op_free(&sum_of_gapped);
}

const struct element *element_of(enum values values)
{
    return &elements[values];
}

struct form form_of_ints(unsigned which)
{
    return forms[which];
}

struct form form_of(const struct element *element)
{
    return (struct form){element->type, element->extent, 1};
}

/* One of -2, -1, 1, 2, seldom 0. */
static int number(uint64_t *seed)
{
    const unsigned drawn = random_next(seed);

    return drawn % 31 == 0 ? 0 : (int)(drawn >> 8 & 1 ? 1 : -1) * (int)(1 + (drawn >> 9 & 1));
}

void fill_values(char *bytes, size_t nbytes, enum values values, uint64_t seed)
{
    const size_t sizes[] = {
        sizeof(int), sizeof(long),        sizeof(float), sizeof(float), sizeof(double),
        1,           sizeof(long double), sizeof(int),   sizeof(int),   sizeof(int)};
    const size_t nbytes_each = sizes[values];

    memset(bytes, BUFFER_UNTOUCHED, nbytes);
    for (size_t at = 0; at + nbytes_each <= nbytes; at += nbytes_each) {
        const int drawn = number(&seed);

        if (values == LONGS)
            memcpy(bytes + at, &(long){drawn}, nbytes_each);
        else if (values == FLOATS || values == REALS)
            memcpy(bytes + at, &(float){(float)drawn}, nbytes_each);
        else if (values == DOUBLES)
            memcpy(bytes + at, &(double){drawn}, nbytes_each);
        else if (values == LONG_DOUBLES)
            memcpy(bytes + at, &(long double){drawn}, nbytes_each);
        else if (values == BYTES)
            bytes[at] = (char)(random_next(&seed) & 127);
        else if (values == SQUARES || values == PAIRS)
            memcpy(bytes + at, &(int){(int)(random_next(&seed) % 97)}, nbytes_each);
        else
            memcpy(bytes + at, &drawn, nbytes_each);
    }
    clear_padding(bytes, nbytes, values);
}

void clear_padding(char *bytes, size_t nbytes, enum values values)
{
    enum { VALUE = 10 }; /* the bytes of an x87 number */

    if (values != LONG_DOUBLES || sizeof(long double) != 16 || __LDBL_MANT_DIG__ != 64)
        return;
    for (size_t at = 0; at + sizeof(long double) <= nbytes; at += sizeof(long double))
        memset(bytes + at + VALUE, 0, sizeof(long double) - VALUE);
}
