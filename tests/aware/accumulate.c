/* Accumulates to GPU memory: each predefined type and operation, against what MPI_Reduce_local makes of the
 * same data in host memory. Rank 0 prints the results. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define ROOM (24u << 20) /* bytes of the window, and of each buffer */
#define MOST 4099        /* elements of a call */
#define LARGE 2700001    /* doubles: more than the pieces in which host memory is read */

static char *memory, *gpu_from, *gpu_result, *host_from, *host_result, *expected, *scratch;
static MPI_Win win;

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;

    if (state == 88172645463325252u)
        state += (uint64_t)rank;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int below(int n)
{
    return (int)(random_bits() >> 33) % n;
}

/* ---- types, and their values */

enum kind { WHOLE, FORTRAN_WHOLE, BYTES, REAL, LONG_REAL, COMPLEX, LOGIC, PAIR };

static const struct type {
    MPI_Datatype type;
    const char *name;
    enum kind kind;
    int part; /* bytes of a number in it; 0: of all of it */
} types[] = {
#define TYPE(name, kind, part)  \
    {                           \
        name, #name, kind, part \
    }
    TYPE(MPI_SIGNED_CHAR, WHOLE, 0),
    TYPE(MPI_SHORT, WHOLE, 0),
    TYPE(MPI_INT, WHOLE, 0),
    TYPE(MPI_LONG, WHOLE, 0),
    TYPE(MPI_LONG_LONG, WHOLE, 0),
    TYPE(MPI_UNSIGNED_CHAR, WHOLE, 0),
    TYPE(MPI_UNSIGNED_SHORT, WHOLE, 0),
    TYPE(MPI_UNSIGNED, WHOLE, 0),
    TYPE(MPI_UNSIGNED_LONG, WHOLE, 0),
    TYPE(MPI_UNSIGNED_LONG_LONG, WHOLE, 0),
    TYPE(MPI_INT8_T, WHOLE, 0),
    TYPE(MPI_INT16_T, WHOLE, 0),
    TYPE(MPI_INT32_T, WHOLE, 0),
    TYPE(MPI_INT64_T, WHOLE, 0),
    TYPE(MPI_UINT8_T, WHOLE, 0),
    TYPE(MPI_UINT16_T, WHOLE, 0),
    TYPE(MPI_UINT32_T, WHOLE, 0),
    TYPE(MPI_UINT64_T, WHOLE, 0),
    TYPE(MPI_AINT, FORTRAN_WHOLE, 0),
    TYPE(MPI_OFFSET, FORTRAN_WHOLE, 0),
    TYPE(MPI_COUNT, FORTRAN_WHOLE, 0),
    TYPE(MPI_INTEGER, FORTRAN_WHOLE, 0),
    TYPE(MPI_INTEGER2, FORTRAN_WHOLE, 0),
    TYPE(MPI_INTEGER8, FORTRAN_WHOLE, 0),
    TYPE(MPI_BYTE, BYTES, 0),
    TYPE(MPI_FLOAT, REAL, 0),
    TYPE(MPI_DOUBLE, REAL, 0),
    TYPE(MPI_REAL, REAL, 0),
    TYPE(MPI_DOUBLE_PRECISION, REAL, 0),
    TYPE(MPI_LONG_DOUBLE, LONG_REAL, 0),
    TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX, 4),
    TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX, 8),
    TYPE(MPI_COMPLEX, COMPLEX, 4),
    TYPE(MPI_DOUBLE_COMPLEX, COMPLEX, 8),
    TYPE(MPI_C_BOOL, LOGIC, 0),
    TYPE(MPI_LOGICAL, LOGIC, 0),
    TYPE(MPI_2INT, PAIR, 4),
#undef TYPE
};
#define TYPES (sizeof types / sizeof *types)

static const struct op {
    MPI_Op op;
    const char *name;
} ops[] = {{MPI_SUM, "SUM"},        {MPI_PROD, "PROD"},     {MPI_MIN, "MIN"},
           {MPI_MAX, "MAX"},        {MPI_BAND, "BAND"},     {MPI_BOR, "BOR"},
           {MPI_BXOR, "BXOR"},      {MPI_LAND, "LAND"},     {MPI_LOR, "LOR"},
           {MPI_LXOR, "LXOR"},      {MPI_MINLOC, "MINLOC"}, {MPI_MAXLOC, "MAXLOC"},
           {MPI_REPLACE, "REPLACE"}};
#define OPS (sizeof ops / sizeof *ops)

static int size_of(MPI_Datatype type)
{
    int nbytes = 0;

    MPI_Type_size(type, &nbytes);
    return nbytes;
}

static void fill(char *at, const struct type *type, int n)
{
    const int nbytes = size_of(type->type), part = type->part ? type->part : nbytes;

    for (int i = 0; i < n * nbytes; i += part) {
        const double number = ((double)(random_bits() >> 11) - 0x1p52) * 0x1p-45;
        const uint64_t bits = random_bits() & random_bits() & random_bits();

        memset(at + i, 0, (size_t)part);
        if ((type->kind == REAL || type->kind == COMPLEX) && part == 4)
            memcpy(at + i, &(float){(float)number}, 4);
        else if (type->kind == REAL || type->kind == COMPLEX)
            memcpy(at + i, &number, 8);
        else if (type->kind == LONG_REAL)
            memcpy(at + i, &(long double){number}, (size_t)part < sizeof(long double) ? 10 : 16);
        else if (type->kind == LOGIC)
            at[i] = bits & 1;
        else
            memcpy(at + i, &bits, part < 8 ? (size_t)part : 8);
    }
}

/* As MPI 4.1, 6.9.2, has it: what an MPI does with others is its own. */
static bool is_taken(const struct type *type, MPI_Op op)
{
    const bool whole = type->kind == WHOLE || type->kind == FORTRAN_WHOLE;
    const bool number = whole || type->kind == REAL || type->kind == LONG_REAL;

    if (type->type == MPI_DATATYPE_NULL || size_of(type->type) == 0)
        return false;
    if (op == MPI_REPLACE)
        return true;
    if (op == MPI_SUM || op == MPI_PROD)
        return number || type->kind == COMPLEX;
    if (op == MPI_MIN || op == MPI_MAX)
        return number;
    if (op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR)
        return whole || type->kind == BYTES;
    if (op == MPI_LAND || op == MPI_LOR || op == MPI_LXOR)
        return type->kind == WHOLE || type->kind == LOGIC;
    return type->kind == PAIR;
}

/* ---- one call */

struct call {
    const struct type *type;
    const struct op *op;
    int n, at, from; /* elements; where they begin in the window, and in the buffer */
    bool from_gpu, result_gpu;
    enum form { ACCUMULATE, RACCUMULATE, GET_ACCUMULATE, RGET_ACCUMULATE, FORMS } form;
};

static void make_call(const struct call *call, int target, const void *from, void *result)
{
    const MPI_Datatype type = call->type->type;
    const MPI_Aint at = (MPI_Aint)call->at * size_of(type);
    MPI_Request request = MPI_REQUEST_NULL;

    if (call->form == ACCUMULATE)
        MPI_Accumulate(from, call->n, type, target, at, call->n, type, call->op->op, win);
    else if (call->form == RACCUMULATE)
        MPI_Raccumulate(from, call->n, type, target, at, call->n, type, call->op->op, win,
                        &request);
    else if (call->form == GET_ACCUMULATE)
        MPI_Get_accumulate(from, call->n, type, result, call->n, type, target, at, call->n, type,
                           call->op->op, win);
    else
        MPI_Rget_accumulate(from, call->n, type, result, call->n, type, target, at, call->n, type,
                            call->op->op, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void expect(const struct call *call, bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s, with %d of %s from %d on, at %d (the buffer is the %s's)", rank,
                 what, call->n, call->type->name, call->from, call->at,
                 call->from_gpu ? "GPU" : "host");
}

/* To the window of the next rank, which nobody else accesses meanwhile. */
static void check(const struct call *call)
{
    const int target = (rank + 1) % size, nbytes = size_of(call->type->type);
    const size_t all = (size_t)(call->n + call->at + 4) * (size_t)nbytes;
    char *from = (call->from_gpu ? gpu_from : host_from) + call->from * nbytes;
    char *result = call->result_gpu ? gpu_result : host_result;

    fill(expected, call->type, call->n + call->at + 4);
    fill(scratch, call->type, call->n);
    if (call->from_gpu)
        device_write(from, scratch, (size_t)(call->n * nbytes));
    else
        memcpy(from, scratch, (size_t)(call->n * nbytes));
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(expected, (int)all, MPI_BYTE, target, 0, (int)all, MPI_BYTE, win);
    MPI_Win_flush(target, win);
    make_call(call, target, from, result);
    MPI_Win_flush(target, win);
    if (call->form >= GET_ACCUMULATE && call->result_gpu)
        device_read(host_result, gpu_result, (size_t)(call->n * nbytes));
    expect(call,
           call->form < GET_ACCUMULATE ||
               memcmp(host_result, expected + call->at * nbytes, (size_t)(call->n * nbytes)) == 0,
           "the result is what was there");
    if (call->op->op == MPI_REPLACE)
        memcpy(expected + call->at * nbytes, scratch, (size_t)(call->n * nbytes));
    else
        PMPI_Reduce_local(scratch, expected + call->at * nbytes, call->n, call->type->type,
                          call->op->op);
    MPI_Get(scratch, (int)all, MPI_BYTE, target, 0, (int)all, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    expect(call, memcmp(scratch, expected, all) == 0, "what is there is what the host makes of it");
}

static void each_pair(void)
{
    static const int lengths[] = {1, 7, 1000, MOST};

    for (size_t o = 0; o < OPS; o++) {
        for (size_t t = 0; t < TYPES; t++)
            for (int i = 0; i < 8 && is_taken(&types[t], ops[o].op); i++)
                check(&(struct call){.type = &types[t],
                                     .op = &ops[o],
                                     .n = lengths[i % 4],
                                     .at = below(4),
                                     .from = below(4),
                                     .from_gpu = i < 4,
                                     .result_gpu = below(2),
                                     .form = (enum form)below(FORMS)});
        MPI_Barrier(MPI_COMM_WORLD);
        result(ops[o].name);
    }
}

/* ---- others */

static const struct type *type_named(MPI_Datatype type)
{
    const struct type *found = types;

    while (found->type != type)
        found++;
    return found;
}

static void large(void)
{
    for (int gpu = 0; gpu < 2; gpu++)
        for (int o = 0; o < 2; o++)
            check(&(struct call){.type = type_named(MPI_DOUBLE),
                                 .op = &ops[o ? OPS - 1 : 0],
                                 .n = LARGE,
                                 .at = 1,
                                 .from = 2 * o,
                                 .from_gpu = gpu,
                                 .result_gpu = !gpu,
                                 .form = GET_ACCUMULATE});
    MPI_Barrier(MPI_COMM_WORLD);
    result("many doubles");
}

/* Of arrays longer than the part of it that MPIs compute in another way. */
static void not_a_number(void)
{
    const struct call call = {.type = type_named(MPI_DOUBLE), .n = 1024, .from_gpu = true};
    const int target = (rank + 1) % size;
    double there[1024], from[1024], got[1024];

    for (size_t o = 2; o < 4; o++) {
        for (int i = 0; i < 1024; i++) {
            there[i] = i % 3 == 0 ? __builtin_nan("") : i % 5 == 0 ? 0.0 : i;
            from[i] = i % 3 == 1 ? __builtin_nan("") : i % 5 == 0 ? -0.0 : -i;
        }
        device_write(gpu_from, from, sizeof from);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(there, 1024, MPI_DOUBLE, target, 0, 1024, MPI_DOUBLE, win);
        MPI_Win_flush(target, win);
        MPI_Accumulate(gpu_from, 1024, MPI_DOUBLE, target, 0, 1024, MPI_DOUBLE, ops[o].op, win);
        MPI_Win_flush(target, win);
        MPI_Get(got, 1024, MPI_DOUBLE, target, 0, 1024, MPI_DOUBLE, win);
        MPI_Win_unlock(target, win);
        PMPI_Reduce_local(from, there, 1024, MPI_DOUBLE, ops[o].op);
        expect(&call, memcmp(got, there, sizeof got / 2) == 0, "a NaN, and zeros");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    result("minima and maxima of NaN and of zeros of two signs");
}

/* Every second number of the origin's, and a row of them at the target as one element. */
static void other_layouts(bool gpu)
{
    const struct call call = {.type = type_named(MPI_DOUBLE), .n = 1000, .from_gpu = gpu};
    const int target = (rank + 1) % size;
    double there[1000], from[2000], got[1000];
    MPI_Datatype second, row;

    MPI_Type_vector(1000, 1, 2, MPI_DOUBLE, &second);
    MPI_Type_contiguous(500, MPI_DOUBLE, &row);
    MPI_Type_commit(&second);
    MPI_Type_commit(&row);
    for (int i = 0; i < 2000; i++)
        from[i] = i;
    for (int i = 0; i < 1000; i++)
        there[i] = 0.5 * i;
    if (gpu)
        device_write(gpu_from, from, sizeof from);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(there, 1000, MPI_DOUBLE, target, 8, 1000, MPI_DOUBLE, win);
    MPI_Win_flush(target, win);
    MPI_Accumulate(gpu ? (void *)gpu_from : from, 1, second, target, 8, 2, row, MPI_SUM, win);
    MPI_Win_flush(target, win);
    MPI_Get(got, 1000, MPI_DOUBLE, target, 8, 1000, MPI_DOUBLE, win);
    MPI_Win_unlock(target, win);
    for (int i = 0; i < 1000; i++)
        expect(&call, got[i] == 2.5 * i, "every second number, to rows");
    MPI_Type_free(&second);
    MPI_Type_free(&row);
    MPI_Barrier(MPI_COMM_WORLD);
    result(gpu ? "with gaps, from the GPU" : "with gaps, from the host");
}

/* Not aligned as its elements are, at either side. */
static void not_aligned(void)
{
    const struct call call = {.type = type_named(MPI_DOUBLE), .n = 500, .from_gpu = true};
    const int target = (rank + 1) % size;
    double there[500], from[500], got[500];

    for (int i = 0; i < 500; i++)
        there[i] = from[i] = i;
    for (int side = 1; side < 4; side++) {
        const int at = side & 1 ? 3 : 8;
        char *buffer = gpu_from + (side & 2 ? 5 : 0);

        device_write(buffer, from, sizeof from);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(there, 500, MPI_DOUBLE, target, at, 500, MPI_DOUBLE, win);
        MPI_Win_flush(target, win);
        MPI_Accumulate(buffer, 500, MPI_DOUBLE, target, at, 500, MPI_DOUBLE, MPI_SUM, win);
        MPI_Win_flush(target, win);
        MPI_Get(got, 500, MPI_DOUBLE, target, at, 500, MPI_DOUBLE, win);
        MPI_Win_unlock(target, win);
        for (int i = 0; i < 500; i++)
            expect(&call, got[i] == 2 * i, "data that is not aligned");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    result("data that is not aligned");
}

/* All ranks to one, at once; by turns few elements, which the host may compute, and many. */
static void contention(void)
{
    const struct call call = {.type = type_named(MPI_DOUBLE), .n = MOST, .from_gpu = true};
    const int rounds = 40, few = 16;
    double ones[MOST];

    for (int i = 0; i < MOST; i++)
        ones[i] = 1;
    memcpy(host_from, ones, sizeof ones);
    device_write(gpu_from, ones, sizeof ones);
    memset(scratch, 0, sizeof ones);
    if (rank == 0)
        device_write(memory, scratch, sizeof ones);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < rounds; i++) {
        const int n = i % 2 ? few : MOST;
        char *from = i / 2 % 2 ? gpu_from : host_from;

        if (i % 3 == 0)
            MPI_Get_accumulate(from, n, MPI_DOUBLE, gpu_result, n, MPI_DOUBLE, 0, 0, n, MPI_DOUBLE,
                               MPI_SUM, win);
        else
            MPI_Accumulate(from, n, MPI_DOUBLE, 0, 0, n, MPI_DOUBLE, MPI_SUM, win);
        MPI_Fetch_and_op(from, host_result, MPI_DOUBLE, 0, 0, MPI_SUM, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        device_read(ones, memory, sizeof ones);
    for (int i = 0; i < MOST && rank == 0; i++)
        expect(&call,
               ones[i] == size * (i == 0    ? 2 * rounds
                                  : i < few ? rounds
                                            : rounds / 2),
               "a sum of all ranks'");
    result("all ranks to one");
}

/* MPI_Reduce_local, of so many doubles that a kernel may compute it. */
static void locally(void)
{
    const struct call call = {.type = type_named(MPI_DOUBLE), .n = 20001};
    const size_t nbytes = 20001 * sizeof(double);

    for (int i = 0; i < 4; i++) {
        char *there = gpu_result + 8 * (i / 2), *from = i % 2 ? gpu_from : host_from;

        fill(expected, call.type, call.n);
        fill(host_from, call.type, call.n);
        device_write(gpu_from, host_from, nbytes);
        device_write(there, expected, nbytes);
        MPI_Reduce_local(from, there, call.n, MPI_DOUBLE, ops[i % 3].op);
        PMPI_Reduce_local(host_from, expected, call.n, MPI_DOUBLE, ops[i % 3].op);
        device_read(scratch, there, nbytes);
        expect(&call, memcmp(scratch, expected, nbytes) == 0, "MPI_Reduce_local");
    }
    result("MPI_Reduce_local");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    memory = device_alloc(ROOM);
    gpu_from = device_alloc(ROOM);
    gpu_result = device_alloc(ROOM);
    host_from = calloc(1, ROOM);
    host_result = calloc(1, ROOM);
    expected = calloc(1, ROOM);
    scratch = calloc(1, ROOM);
    MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    each_pair();
    large();
    not_a_number();
    other_layouts(false);
    other_layouts(true);
    not_aligned();
    contention();
    locally();
    MPI_Win_free(&win);
    device_free(memory);
    device_free(gpu_from);
    device_free(gpu_result);
    free(host_from);
    free(host_result);
    free(expected);
    free(scratch);
    MPI_Finalize();
    return rank == 0 ? tap_done() : 0;
}
