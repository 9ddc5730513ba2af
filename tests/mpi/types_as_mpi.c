/* Every kind of datatype: what arrives is what MPI's own calls make of the same data in host
 * memory, and so is what the status says. For two ranks and more: the first sends to the
 * second, and each to itself. */
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

#define BYTES 16384
#define LEAD 4096 /* in front of the buffer's address: types may begin before it */

static struct buffer outs[2], ins[2]; /* in host memory and on the GPU */
static char pattern[BYTES], wanted[BYTES], got[BYTES];

static void same_status(const MPI_Status *mpi, const MPI_Status *ours, MPI_Datatype type,
                        const char *what)
{
    MPI_Count bytes[2];
    int counts[2], elements[2] = {0}, cancelled = 1, integers, addresses, types, combiner;

    MPI_Get_count(mpi, type, &counts[0]);
    MPI_Get_count(ours, type, &counts[1]);
    is_int(counts[1], counts[0], what);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    /* MPICH's own ends the program for some of these. */
    if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_DARRAY) {
        MPI_Get_elements(mpi, type, &elements[0]);
        MPI_Get_elements(ours, type, &elements[1]);
    }
    is_int(elements[1], elements[0], what);
    MPI_Get_elements_x(mpi, MPI_BYTE, &bytes[0]);
    MPI_Get_elements_x(ours, MPI_BYTE, &bytes[1]);
    is_int(bytes[1], bytes[0], what);
    MPI_Test_cancelled(ours, &cancelled);
    expect(!cancelled, "%s: cancelled", what);
}

/* count of type from here to there, by MPI and by the library. */
static void to_itself(const struct buffer *out, const struct buffer *in, int count,
                      MPI_Datatype type, const char *what)
{
    MPI_Status mpi, ours;

    memset(wanted, 0x5a, BYTES);
    MPI_Sendrecv(pattern + LEAD, count, type, 0, 1, wanted + LEAD, count, type, 0, 1, MPI_COMM_SELF,
                 &mpi);
    memset(got, 0x5a, BYTES);
    gpu_put(out->at, pattern, BYTES);
    gpu_put(in->at, got, BYTES);
    if (!succeeds(gpubind_sendrecv(out->at + LEAD, count, type, 0, 1, in->at + LEAD, count, type, 0,
                                   1, MPI_COMM_SELF, &ours),
                  "%s, to itself", what))
        return;
    gpu_get(got, in->at, BYTES);
    expect(memcmp(got, wanted, BYTES) == 0, "%s, to itself: not as MPI has it", what);
    same_status(&mpi, &ours, type, what);
}

/* As bytes: the order of the type map shows. */
static void to_bytes(const struct buffer *out, const struct buffer *in, int count,
                     MPI_Datatype type, bool spread, const char *what)
{
    MPI_Status mpi, ours;
    int size, n;

    MPI_Type_size(type, &size);
    n = count * size;
    gpu_put(out->at, pattern, BYTES);
    memset(wanted, 0x5a, BYTES);
    memset(got, 0x5a, BYTES);
    gpu_put(in->at, got, BYTES);
    if (job.rank == 0) {
        MPI_Send(pattern + LEAD, spread ? n : count, spread ? MPI_BYTE : type, 1, 1, job.plain);
        succeeds(MPI_GPUSend(out->at + LEAD, spread ? n : count, spread ? MPI_BYTE : type, 1, 1,
                             MPI_COMM_WORLD),
                 "%s, send", what);
    } else if (job.rank == 1) {
        MPI_Recv(wanted + LEAD, spread ? count : n, spread ? type : MPI_BYTE, 0, 1, job.plain,
                 &mpi);
        if (!succeeds(MPI_GPURecv(in->at + LEAD, spread ? count : n, spread ? type : MPI_BYTE, 0, 1,
                                  MPI_COMM_WORLD, &ours),
                      "%s, receive", what))
            return;
        gpu_get(got, in->at, BYTES);
        expect(memcmp(got, wanted, BYTES) == 0, "%s, %s: not as MPI has it", what,
               spread ? "from bytes" : "to bytes");
        same_status(&mpi, &ours, spread ? type : MPI_BYTE, what);
    }
}

static void as_mpi(int count, MPI_Datatype type, const char *what)
{
    for (int way = 0; way < 4; way++) {
        to_itself(&outs[way / 2], &ins[way % 2], count, type, what);
        to_bytes(&outs[way / 2], &ins[way % 2], count, type, false, what);
        to_bytes(&outs[way / 2], &ins[way % 2], count, type, true, what);
    }
}

/* Frees the type. */
static void made_as_mpi(int count, MPI_Datatype *type, const char *what)
{
    MPI_Type_commit(type);
    as_mpi(count, *type, what);
    MPI_Type_free(type);
}

static void predefined(void)
{
#define TYPE(type)  \
    {               \
        type, #type \
    }
    const struct {
        MPI_Datatype type;
        const char *name;
    } types[] = {
        TYPE(MPI_SHORT_INT),
        TYPE(MPI_DOUBLE_INT),
        TYPE(MPI_LONG_DOUBLE_INT),
        TYPE(MPI_2INT),
        TYPE(MPI_LONG_INT),
        TYPE(MPI_FLOAT_INT),
        TYPE(MPI_C_BOOL),
        TYPE(MPI_LONG_DOUBLE),
        TYPE(MPI_C_FLOAT_COMPLEX),
        TYPE(MPI_C_DOUBLE_COMPLEX),
        TYPE(MPI_C_LONG_DOUBLE_COMPLEX),
        TYPE(MPI_PACKED),
        TYPE(MPI_WCHAR),
        TYPE(MPI_COUNT),
        TYPE(MPI_AINT),
        TYPE(MPI_OFFSET),
        TYPE(MPI_CXX_BOOL),
        TYPE(MPI_CXX_DOUBLE_COMPLEX),
        TYPE(MPI_DOUBLE_PRECISION),
        TYPE(MPI_LOGICAL),
        TYPE(MPI_CHARACTER),
        TYPE(MPI_INTEGER),
        TYPE(MPI_REAL),
        TYPE(MPI_COMPLEX),
        TYPE(MPI_INTEGER1),
        TYPE(MPI_INTEGER2),
        TYPE(MPI_2INTEGER),
        TYPE(MPI_2REAL),
        TYPE(MPI_2DOUBLE_PRECISION),
        TYPE(MPI_SIGNED_CHAR),
    };

    job_test("predefined types, pairs among them, are as MPI has them");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        int size = 0;

        if (types[i].type == MPI_DATATYPE_NULL)
            continue;
        MPI_Type_size(types[i].type, &size);
        if (size > 0) /* else this MPI has none of them */
            as_mpi(5, types[i].type, types[i].name);
    }
    job_result();
}

static void of_fortran(void)
{
    static const int kinds[3][2] = {{15, 307}, {6, 37}, {9, 0}};
    MPI_Datatype type, derived;

    job_test("types of MPI_Type_create_f90_* and MPI_Type_match_size, and made of them");
    for (int i = 0; i < 3; i++) {
        if (i < 2)
            MPI_Type_create_f90_real(kinds[i][0], kinds[i][1], &type);
        else
            MPI_Type_create_f90_integer(kinds[i][0], &type);
        as_mpi(3, type, "f90");
        MPI_Type_vector(4, 2, 3, type, &derived);
        made_as_mpi(2, &derived, "a vector of f90");
    }
    MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type);
    as_mpi(3, type, "f90 complex");
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    as_mpi(3, type, "match_size");
    job_result();

    job_test("a message of MPI_Type_create_f90_real is probed as its real");
    MPI_Type_create_f90_real(15, 307, &type);
    if (job.rank == 0)
        succeeds(MPI_GPUSend(outs[1].at, 7, type, 1, 4, MPI_COMM_WORLD), "send");
    if (job.rank == 1) {
        struct gpubind_message message;
        int size = 0;

        succeeds(gpubind_probe(0, 4, MPI_COMM_WORLD, &message), "probe");
        MPI_Type_size(message.type, &size);
        is_int(message.count, 7, "elements");
        is_int(size, 8, "bytes of each");
        succeeds(MPI_GPURecv(ins[1].at, 7, type, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "recv");
    }
    job_result();
}

/* Random ones, of one to three dimensions. */
static void distributed(void)
{
    enum { MOST = 3 };
    uint64_t state = 77;

    job_test("distributed arrays of any kind are as MPI has them");
    for (int turn = 0; turn < 60; turn++) {
        const int ndims = 1 + (int)(random_next(&state) % MOST);
        int sizes[MOST], kinds[MOST], darguments[MOST], nprocs[MOST], all = 1, rank;
        MPI_Datatype type;

        for (int d = 0; d < ndims; d++) {
            const unsigned kind = random_next(&state) % 3;

            sizes[d] = 1 + (int)(random_next(&state) % 9);
            nprocs[d] = kind == 2 ? 1 : 1 + (int)(random_next(&state) % 3);
            kinds[d] = kind == 0   ? MPI_DISTRIBUTE_BLOCK
                       : kind == 1 ? MPI_DISTRIBUTE_CYCLIC
                                   : MPI_DISTRIBUTE_NONE;
            darguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
            if (kind == 1 && random_next(&state) % 2)
                darguments[d] = 1 + (int)(random_next(&state) % 4);
            if (kind == 0 && random_next(&state) % 2)
                darguments[d] = (sizes[d] + nprocs[d] - 1) / nprocs[d] +
                                (int)(random_next(&state) % 2);
            all *= nprocs[d];
        }
        rank = (int)(random_next(&state) % (unsigned)all);
        MPI_Type_create_darray(all, rank, ndims, sizes, kinds, darguments, nprocs,
                               turn % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                               turn % 3 ? MPI_INT : MPI_SHORT_INT, &type);
        made_as_mpi(1, &type, "a distributed array");
    }
    job_result();
}

static void derived(void)
{
    const int lengths[3] = {1, 0, 3};
    const MPI_Aint places[3] = {40, 8, 0};
    const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Datatype type, part;

    job_test("types with holes, negative strides, other extents are as MPI has them");
    MPI_Type_create_resized(MPI_INT, -4, 16, &type);
    made_as_mpi(6, &type, "a lower bound of -4");
    MPI_Type_vector(3, 2, -4, MPI_SHORT, &type);
    made_as_mpi(2, &type, "a stride of -4");
    MPI_Type_create_resized(MPI_INT, 0, -8, &type);
    made_as_mpi(5, &type, "an extent of -8");
    MPI_Type_create_struct(3, lengths, places, types, &part);
    MPI_Type_contiguous(2, part, &type);
    made_as_mpi(3, &type, "a structure out of order");
    MPI_Type_dup(part, &type);
    made_as_mpi(2, &type, "its duplicate");
    MPI_Type_free(&part);
    MPI_Type_contiguous(0, MPI_INT, &type);
    made_as_mpi(4, &type, "nothing");
    MPI_Type_contiguous(3, MPI_SHORT_INT, &type);
    made_as_mpi(3, &type, "pairs with a hole");
    MPI_Type_vector(3, 2, 4, MPI_SHORT_INT, &type);
    made_as_mpi(2, &type, "a vector of pairs with a hole");
    job_result();
}

/* A receive that takes less than one element, or not a whole number of them. */
static void elements(void)
{
    const int lengths[2] = {2, 2};
    const MPI_Aint places[2] = {0, 12};
    const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    const struct buffer *out = &outs[1], *in = &ins[1];
    MPI_Datatype type;

    job_test("MPI_Get_count and MPI_Get_elements after a part of an element");
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    for (int n = 0; n <= 48; n += 4) {
        MPI_Status mpi, ours;

        if (n % 24 > 8 && n % 24 % 8)
            continue; /* a part of a double is no message of this type */
        MPI_Sendrecv(pattern, n, MPI_BYTE, 0, 1, wanted, 2, type, 0, 1, MPI_COMM_SELF, &mpi);
        if (succeeds(gpubind_sendrecv(out->at, n, MPI_BYTE, 0, 1, in->at, 2, type, 0, 1,
                                      MPI_COMM_SELF, &ours),
                     "%d bytes", n))
            same_status(&mpi, &ours, type, "a part");
    }
    MPI_Type_free(&type);
    job_result();
}

/* Absolute addresses, also of GPU memory. */
static void bottom(void)
{
    const int length = 4000;
    MPI_Datatype type;
    MPI_Aint at;

    job_test("MPI_BOTTOM with absolute addresses in host memory and on the GPU");
    for (int kind = 0; kind < 4; kind++) {
        const struct buffer *buffer = job.rank == 0 ? &outs[kind / 2] : &ins[kind % 2];

        at = (MPI_Aint)(uintptr_t)buffer->at + 100;
        MPI_Type_create_hindexed(1, &length, &at, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        buffer_reset(buffer);
        gpu_put(outs[kind / 2].at, pattern, BYTES);
        if (job.rank == 0)
            succeeds(MPI_GPUSend(MPI_BOTTOM, 1, type, 1, 6, MPI_COMM_WORLD), "send");
        if (job.rank == 1 &&
            succeeds(MPI_GPURecv(MPI_BOTTOM, 1, type, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                     "receive")) {
            gpu_get(got, buffer->at, BYTES);
            expect(memcmp(got + 100, pattern + 100, (size_t)length) == 0, "other bytes");
            expect(buffer_untouched(buffer, 100 + (size_t)length), "written too far");
        }
        MPI_Type_free(&type);
    }
    job_result();
}

void test_types_as_mpi(void)
{
    for (int kind = 0; kind < 2; kind++) {
        need_buffer(&outs[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, BYTES);
        need_buffer(&ins[kind], kind ? MEMORY_DEVICE : MEMORY_HOST, BYTES);
    }
    for (int i = 0; i < BYTES; i++)
        pattern[i] = (char)(7 * i + i / 256);
    predefined();
    of_fortran();
    distributed();
    derived();
    elements();
    bottom();
    for (int kind = 0; kind < 2; kind++) {
        buffer_clear(&outs[kind]);
        buffer_clear(&ins[kind]);
    }
}
