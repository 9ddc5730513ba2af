/* Types of millions of blocks that follow a rule: a message that begins such an element takes
 * no memory for the blocks, and its bytes lie where MPI_Pack says for a short one of the same
 * rule. For two ranks and more. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/mpi/job.h"
#include "tests/mpi/random_type.h"
#include "tests/mpi/tests.h"

#define BYTES (64u << 10)
#define MOST 4000u /* bytes of data */
#define FEW 200
#define MILLIONS 8000000
#define ORIGIN 1024
#define MIB_MOST 24

static MPI_Datatype of_vector(int n)
{
    MPI_Datatype type;

    MPI_Type_vector(n, 1, 2, MPI_BYTE, &type);
    return type;
}

/* The type around part, which is freed. */
static MPI_Datatype hvector_of(int n, MPI_Aint stride, MPI_Datatype part)
{
    MPI_Datatype type;

    MPI_Type_create_hvector(n, 1, stride, part, &type);
    MPI_Type_free(&part);
    return type;
}

static MPI_Datatype of_vectors(int n)
{
    MPI_Datatype part;

    MPI_Type_vector(3, 1, 2, MPI_INT, &part);
    return hvector_of(n, 28, part);
}

static MPI_Datatype of_resized(int n)
{
    MPI_Datatype part, type;

    MPI_Type_create_resized(MPI_INT, -4, 12, &part);
    MPI_Type_contiguous(n, part, &type);
    MPI_Type_free(&part);
    return type;
}

static MPI_Datatype of_subarray(int n)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(3, (int[]){n, 8, 4}, (int[]){n, 3, 2}, (int[]){0, 1, 2}, MPI_ORDER_C,
                             MPI_SHORT, &type);
    return type;
}

static MPI_Datatype of_columns(int n)
{
    MPI_Datatype type;

    MPI_Type_create_subarray(2, (int[]){8, n}, (int[]){2, n}, (int[]){3, 0}, MPI_ORDER_FORTRAN,
                             MPI_INT, &type);
    return type;
}

static MPI_Datatype of_struct(int n)
{
    MPI_Datatype part = of_resized(1), type, copy;

    MPI_Type_create_struct(1, &n, (MPI_Aint[]){16}, &part, &type);
    MPI_Type_free(&part);
    MPI_Type_dup(type, &copy);
    MPI_Type_free(&type);
    return copy;
}

static MPI_Datatype of_lists(int n)
{
    MPI_Datatype part;

    MPI_Type_create_indexed_block(4, 1, (int[]){9, 6, 3, 0}, MPI_SHORT, &part);
    return hvector_of(n, 24, part);
}

static const struct {
    const char *name;
    MPI_Datatype (*make)(int n);
} kinds[] = {{"a vector of bytes", of_vector},      {"vectors in a vector", of_vectors},
             {"resized elements", of_resized},      {"a subarray", of_subarray},
             {"a subarray of Fortran", of_columns}, {"a struct of one", of_struct},
             {"lists with one distance", of_lists}};

static long most_memory(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

static void look(const struct buffer *in, MPI_Datatype (*make)(int n), size_t n)
{
    struct byte_map map = {.at = malloc(MOST * sizeof *map.at)};
    char *wanted = malloc(BYTES), *got = malloc(BYTES), bytes[MOST];
    MPI_Datatype few = make(FEW);

    MPI_Type_commit(&few);
    memset(wanted, 0x77, BYTES);
    bytes_of_seed(bytes, n, 5);
    if (expect(byte_map_fill(&map, MOST, few, 1, ORIGIN, BYTES), "the short type has no map"))
        for (size_t i = 0; i < n; i++)
            wanted[map.at[i]] = bytes[i];
    gpu_get(got, in->at, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        if (!expect(got[i] == wanted[i], "byte %zu of the buffer is wrong", i))
            break;
    MPI_Type_free(&few);
    free(map.at);
    free(wanted);
    free(got);
}

static void pass(enum memory kind, int which, size_t n)
{
    struct buffer in, out;
    char filling[BYTES];
    MPI_Datatype type;
    long before, after;

    need_buffer(&in, kind, BYTES);
    need_filled(&out, kind, MOST, 5);
    job_test("%s, %d millions, the first %zu bytes to %s", kinds[which].name, MILLIONS / 1000000, n,
             memory_name(kind));
    if (job.rank == 0)
        succeeds(MPI_GPUSend(out.at, (int)n, MPI_BYTE, 1, 3, MPI_COMM_WORLD), "send");
    if (job.rank == 1) {
        memset(filling, 0x77, sizeof filling);
        gpu_put(in.at, filling, BYTES);
        type = kinds[which].make(MILLIONS);
        MPI_Type_commit(&type);
        before = most_memory();
        succeeds(MPI_GPURecv(in.at + ORIGIN, 1, type, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "receive");
        after = most_memory();
        expect(after - before < MIB_MOST, "it takes %ld MiB", after - before);
        MPI_Type_free(&type);
        look(&in, kinds[which].make, n);
    }
    job_result();
    buffer_clear(&in);
    buffer_clear(&out);
}

void test_regular(void)
{
    for (int which = 0; which < (int)(sizeof kinds / sizeof *kinds); which++) {
        pass(MEMORY_HOST, which, 200);
        pass(MEMORY_DEVICE, which, 3);
        pass(MEMORY_DEVICE, which, 200);
    }
}
