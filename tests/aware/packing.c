/* MPI_Pack, MPI_Unpack, their external forms and MPI_Reduce_local with GPU memory: what they leave is
 * what the same call leaves in host memory, to the byte. Rank 0 prints the results. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/aware/tap_ranks.h"

#define N 1000    /* doubles of a buffer of elements */
#define ROOM 9000 /* bytes of a packed buffer */

static double *elements, *others; /* of the GPU: N each */
static char *packed;              /* of the GPU: ROOM */
static double host_elements[N], host_others[N];
static char host_packed[ROOM];

/* The same on both sides. */
static void fill(void)
{
    for (int i = 0; i < N; i++) {
        host_elements[i] = rank * 1e6 + i;
        host_others[i] = -1 - i;
    }
    memset(host_packed, 0x55, sizeof host_packed);
    device_write(elements, host_elements, sizeof host_elements);
    device_write(others, host_others, sizeof host_others);
    device_write(packed, host_packed, sizeof host_packed);
}

static void expect(bool good, const char *what)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s", rank, what);
}

/* The GPU's buffers have what the host's have. */
static void compare(void)
{
    static double doubles[N];
    static char bytes[ROOM];

    device_read(doubles, elements, sizeof doubles);
    expect(memcmp(doubles, host_elements, sizeof doubles) == 0, "the first elements");
    device_read(doubles, others, sizeof doubles);
    expect(memcmp(doubles, host_others, sizeof doubles) == 0, "the second elements");
    device_read(bytes, packed, sizeof bytes);
    expect(memcmp(bytes, host_packed, sizeof bytes) == 0, "the packed bytes");
}

static int class_of(int error)
{
    int class;

    MPI_Error_class(error, &class);
    return class;
}

static MPI_Datatype columns(void)
{
    MPI_Datatype type;

    MPI_Type_vector(50, 3, 10, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* ---- in one interface: what is called, and with which buffers */

enum form { NATIVE, EXTERNAL, NATIVE_C, EXTERNAL_C, FORMS };
static const char *const names[] = {"MPI_Pack, MPI_Unpack", "the external form",
                                    "MPI_Pack_c, MPI_Unpack_c", "the external form, _c"};

static int pack(enum form form, const void *in, int n, MPI_Datatype type, void *out, int *position)
{
    MPI_Aint at = *position;
    int error;

    if (form == NATIVE)
        return MPI_Pack(in, n, type, out, ROOM, position, MPI_COMM_WORLD);
#if MPI_VERSION >= 4
    if (form == NATIVE_C || form == EXTERNAL_C) {
        MPI_Count there = *position;

        error = form == NATIVE_C
                    ? MPI_Pack_c(in, n, type, out, ROOM, &there, MPI_COMM_WORLD)
                    : MPI_Pack_external_c("external32", in, n, type, out, ROOM, &there);
        *position = (int)there;
        return error;
    }
#endif
    error = MPI_Pack_external("external32", in, n, type, out, ROOM, &at);
    *position = (int)at;
    return error;
}

static int unpack(enum form form, const void *in, int *position, void *out, int n,
                  MPI_Datatype type)
{
    MPI_Aint at = *position;
    int error;

    if (form == NATIVE)
        return MPI_Unpack(in, ROOM, position, out, n, type, MPI_COMM_WORLD);
#if MPI_VERSION >= 4
    if (form == NATIVE_C || form == EXTERNAL_C) {
        MPI_Count there = *position;

        error = form == NATIVE_C
                    ? MPI_Unpack_c(in, ROOM, &there, out, n, type, MPI_COMM_WORLD)
                    : MPI_Unpack_external_c("external32", in, ROOM, &there, out, n, type);
        *position = (int)there;
        return error;
    }
#endif
    error = MPI_Unpack_external("external32", in, ROOM, &at, out, n, type);
    *position = (int)at;
    return error;
}

/* Both kinds of elements, one call behind the other from position 8 on, and back. */
static void there_and_back(enum form form, void *from, void *bytes, void *to, int positions[4])
{
    MPI_Datatype type = columns();
    int at = 8;

    expect(pack(form, from, 70, MPI_DOUBLE, bytes, &at) == MPI_SUCCESS, "pack elements");
    positions[0] = at;
    expect(pack(form, from, 1, type, bytes, &at) == MPI_SUCCESS, "pack with gaps");
    positions[1] = at;
    at = 8;
    expect(unpack(form, bytes, &at, (double *)to + 5, 70, MPI_DOUBLE) == MPI_SUCCESS, "unpack");
    positions[2] = at;
    expect(unpack(form, bytes, &at, (double *)to + 100, 1, type) == MPI_SUCCESS,
           "unpack with gaps");
    positions[3] = at;
    MPI_Type_free(&type);
}

/* Which of the buffers are GPU memory, as bits. */
static void every_place(enum form form)
{
    for (int places = 1; places < 8; places++) {
        int positions[4], wanted[4];

        fill();
        there_and_back(form, host_elements, host_packed, host_others, wanted);
        there_and_back(form, places & 1 ? elements : host_elements,
                       places & 2 ? packed : host_packed, places & 4 ? others : host_others,
                       positions);
        expect(memcmp(positions, wanted, sizeof wanted) == 0, "the positions");
        if (!(places & 2))
            device_write(packed, host_packed, sizeof host_packed);
        if (!(places & 4))
            device_write(others, host_others, sizeof host_others);
        compare();
    }
    result(names[form]);
}

/* ---- at the borders */

static void nothing(void)
{
    int at = 16;

    fill();
    expect(MPI_Pack(elements, 0, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD) == MPI_SUCCESS,
           "a count of 0");
    expect(MPI_Pack(NULL, 0, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD) == MPI_SUCCESS,
           "NULL and a count of 0");
    expect(MPI_Unpack(packed, ROOM, &at, others, 0, MPI_DOUBLE, MPI_COMM_WORLD) == MPI_SUCCESS,
           "a count of 0");
    expect(at == 16, "the position");
    compare();
    result("no elements");
}

/* To the last byte; then one more is refused, also where MPI does not look (MPICH 4.0). */
static void no_room(void)
{
    int at = ROOM - 80, there = ROOM - 80;

    fill();
    MPI_Pack(host_elements, 10, MPI_DOUBLE, host_packed, ROOM, &there, MPI_COMM_WORLD);
    expect(MPI_Pack(elements, 10, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD) == MPI_SUCCESS,
           "to the end");
    expect(at == ROOM && there == ROOM, "the position");
    for (int before = 0; before <= 8; before += 4) {
        at = ROOM - before;
        expect(MPI_Pack(elements, 2, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD) != MPI_SUCCESS,
               "MPI_Pack behind the end");
        expect(at == ROOM - before, "the position");
        expect(MPI_Unpack(packed, ROOM, &at, others, 2, MPI_DOUBLE, MPI_COMM_WORLD) != MPI_SUCCESS,
               "MPI_Unpack behind the end");
        expect(at == ROOM - before, "the position");
    }
    at = -8;
    expect(class_of(MPI_Pack(elements, 2, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD)) ==
               MPI_ERR_ARG,
           "a negative position");
    compare();
    result("no room");
}

/* GPU and host memory in one type. */
static void both_kinds(void)
{
    const int lengths[] = {30, 20};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE};
    double *here = malloc(40 * sizeof *here), *there = here + 20, got[30];
    MPI_Datatype out, in;
    MPI_Aint places[2];
    int at = 0;

    fill();
    for (int i = 0; i < 20; i++) {
        here[i] = i + 0.5;
        there[i] = 0;
    }
    MPI_Get_address(elements, &places[0]);
    MPI_Get_address(here, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &out);
    MPI_Get_address(others, &places[0]);
    MPI_Get_address(there, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &in);
    MPI_Type_commit(&out);
    MPI_Type_commit(&in);
    MPI_Pack(MPI_BOTTOM, 1, out, packed, ROOM, &at, MPI_COMM_WORLD);
    expect(at == 400, "the position");
    at = 0;
    MPI_Unpack(packed, ROOM, &at, MPI_BOTTOM, 1, in, MPI_COMM_WORLD);
    device_read(got, others, sizeof got);
    expect(memcmp(got, host_elements, sizeof got) == 0, "the GPU's elements");
    expect(memcmp(here, there, 20 * sizeof *here) == 0, "the host's elements");
    result("GPU and host memory in one type");
    MPI_Type_free(&out);
    MPI_Type_free(&in);
    free(here);
}

/* Packed on one rank, unpacked on the next one. */
static void as_a_message(void)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request request;
    int at = 0;

    fill();
    MPI_Pack(elements, 100, MPI_DOUBLE, packed, ROOM, &at, MPI_COMM_WORLD);
    MPI_Isend(packed, at, MPI_PACKED, to, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(packed + 4000, 800, MPI_PACKED, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    at = 4000;
    MPI_Unpack(packed, ROOM, &at, others, 100, MPI_DOUBLE, MPI_COMM_WORLD);
    device_read(host_others, others, sizeof host_others);
    for (int i = 0; i < N; i++)
        expect(host_others[i] == (i < 100 ? from * 1e6 + i : -1 - i), "an element that came");
    result("packed, sent and unpacked");
}

/* ---- reductions on this rank alone */

static void twice_plus(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *from = in;
    double *to = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        to[i] = 2 * to[i] + from[i];
}

static void reductions(void)
{
    MPI_Op op;

    MPI_Op_create(twice_plus, 0, &op);
    for (int places = 1; places < 4; places++) {
        fill();
        MPI_Reduce_local(host_elements, host_others, 300, MPI_DOUBLE, op);
        MPI_Reduce_local(places & 1 ? elements : host_elements, places & 2 ? others : host_others,
                         300, MPI_DOUBLE, op);
        if (!(places & 2))
            device_write(others, host_others, sizeof host_others);
        compare();
    }
    fill();
    MPI_Reduce_local(host_elements, host_others, N, MPI_DOUBLE, MPI_SUM);
    MPI_Reduce_local(elements, others, N, MPI_DOUBLE, MPI_SUM);
#if MPI_VERSION >= 4
    MPI_Reduce_local_c(host_elements, host_others, N, MPI_DOUBLE, op);
    MPI_Reduce_local_c(elements, others, N, MPI_DOUBLE, op);
#endif
    compare();
    result("MPI_Reduce_local");
    MPI_Op_free(&op);
}

static double *partial; /* of the GPU */

/* A sum by MPI's local functions in GPU memory. */
static void add_there(void *in, void *inout, int *n, MPI_Datatype *type)
{
    static char room[ROOM];
    int at = 0;

    MPI_Pack(in, *n, *type, room, ROOM, &at, MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(room, ROOM, &at, partial, *n, *type, MPI_COMM_SELF);
    MPI_Reduce_local(partial, inout, *n, *type, MPI_SUM);
}

/* What all ranks' elements come to, in others. */
static void is_sum(void)
{
    device_read(host_others, others, sizeof host_others);
    for (int i = 0; i < N; i++)
        expect(host_others[i] == (size - 1) * size / 2 * 1e6 + (double)size * i, "a sum");
}

static void local_functions_in_an_operation(void)
{
    MPI_Request request;
    MPI_Op op;

    partial = device_alloc(sizeof host_elements);
    MPI_Op_create(add_there, 1, &op);
    fill();
    MPI_Allreduce(elements, others, N, MPI_DOUBLE, op, MPI_COMM_WORLD);
    is_sum();
    fill();
    MPI_Iallreduce(elements, others, N, MPI_DOUBLE, op, MPI_COMM_WORLD, &request);
    MPI_Op_free(&op); /* MPI calls its function nevertheless */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_sum();
    MPI_Op_create(add_there, 1, &op);
    MPI_Allreduce(host_elements, host_others, N, MPI_DOUBLE, op, MPI_COMM_WORLD);
    device_write(others, host_others, sizeof host_others);
    is_sum();
    MPI_Op_free(&op);
    device_free(partial);
    result("MPI's local functions in an operation");
}

/* Of a type whose first byte is not at its start. */
static void look_at_places(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)n, (void)type;
    expect((uintptr_t)in % 16 == 0 && (uintptr_t)inout % 16 == 0, "elements are aligned");
}

static void alignment(void)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {1, 16};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype pair, type;
    MPI_Op op;

    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, 0, 32, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(look_at_places, 1, &op);
    MPI_Reduce_local(elements, others, N / 4, type, op);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    MPI_Type_free(&pair);
    result("an operation of the program's gets elements that are aligned as the GPU's");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    device_start();
    elements = device_alloc(sizeof host_elements);
    others = device_alloc(sizeof host_others);
    packed = device_alloc(sizeof host_packed);

    for (enum form form = NATIVE; form < (MPI_VERSION >= 4 ? FORMS : NATIVE_C); form++)
        every_place(form);
    nothing();
    no_room();
    both_kinds();
    as_a_message();
    reductions();
    local_functions_in_an_operation();
    alignment();
    device_free(packed);
    device_free(others);
    device_free(elements);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
