/* Files that are read to and written from GPU memory, by every function that does: what comes, and what
 * the status says, is what the same call with host memory gives. Rank 0 prints the results.
 * TEST_FILE: a name for a file that all ranks can open. */
#include <mpi.h>
#include <stdlib.h>

#include "examples/device.h"
#include "tests/tap.h"

#define N 1000    /* doubles of a rank */
#define ROOM 1600 /* of a buffer */

static int rank, size;
static MPI_File file;
static double *gpu; /* ROOM */
static double host[ROOM], got[ROOM];
static int wrong;

static void expect(bool good, const char *what, const char *of)
{
    if (!good && wrong++ == 0)
        tap_diag("rank %d: %s, %s", rank, what, of);
}

static void result(const char *what, const char *of)
{
    int all;

    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        tap_ok(all == 0, "%s%s", what, of);
    wrong = 0;
}

/* Both buffers have numbers from start on, or -1 (start < 0). */
static void fill(double start)
{
    for (int i = 0; i < ROOM; i++)
        host[i] = start < 0 ? -1 : start + i;
    device_write(gpu, host, sizeof host);
}

static void compare(const char *what, const char *of)
{
    device_read(got, gpu, sizeof got);
    expect(memcmp(got, host, sizeof got) == 0, what, of);
}

/* ---- the functions: each reads or writes, and ends with the status */

typedef int call(bool reads, MPI_Offset at, void *buf, int n, MPI_Datatype type,
                 MPI_Status *status);

#define CALL(name, body)                                                            \
    static int name(bool reads, MPI_Offset at, void *buf, int n, MPI_Datatype type, \
                    MPI_Status *status)                                             \
    {                                                                               \
        (void)at;                                                                   \
        body                                                                        \
    }
/* The arguments behind the name: those before the buffer. */
#define BLOCKING(name, ...)                                                                    \
    CALL(blocking##name, return reads ? MPI_File_read##name(__VA_ARGS__, buf, n, type, status) \
                                      : MPI_File_write##name(__VA_ARGS__, buf, n, type, status);)
#define NONBLOCKING(name, ...)                                                           \
    CALL(nonblocking##name, MPI_Request request;                                         \
         int error = reads ? MPI_File_iread##name(__VA_ARGS__, buf, n, type, &request)   \
                           : MPI_File_iwrite##name(__VA_ARGS__, buf, n, type, &request); \
         return error == MPI_SUCCESS ? MPI_Wait(&request, status) : error;)
#define SPLIT(name, suffix, ...)                                                              \
    CALL(split##name##suffix,                                                                 \
         int error = reads ? MPI_File_read##name##_begin##suffix(__VA_ARGS__, buf, n, type)   \
                           : MPI_File_write##name##_begin##suffix(__VA_ARGS__, buf, n, type); \
         if (error != MPI_SUCCESS) return error;                                              \
         return reads ? MPI_File_read##name##_end(file, buf, status)                          \
                      : MPI_File_write##name##_end(file, buf, status);)
#define CALLS(suffix)                      \
    BLOCKING(_at##suffix, file, at)        \
    BLOCKING(_at_all##suffix, file, at)    \
    BLOCKING(suffix, file)                 \
    BLOCKING(_all##suffix, file)           \
    BLOCKING(_ordered##suffix, file)       \
    BLOCKING(_shared##suffix, file)        \
    NONBLOCKING(_at##suffix, file, at)     \
    NONBLOCKING(_at_all##suffix, file, at) \
    NONBLOCKING(suffix, file)              \
    NONBLOCKING(_all##suffix, file)        \
    NONBLOCKING(_shared##suffix, file)     \
    SPLIT(_at_all, suffix, file, at)       \
    SPLIT(_all, suffix, file)              \
    SPLIT(_ordered, suffix, file)
CALLS()
#if MPI_VERSION >= 4
CALLS(_c)
#endif

/* Where a call begins, and who takes part. */
enum place { OFFSET, OWN_POINTER, ORDERED, SHARED };

struct way {
    const char *name;
    call *call;
    enum place place;
    bool later; /* it makes a request */
};

#define WAYS(suffix)                                                                   \
    {"_at" #suffix, blocking_at##suffix, OFFSET, false},                               \
        {"_at_all" #suffix, blocking_at_all##suffix, OFFSET, false},                   \
        {"" #suffix, blocking##suffix, OWN_POINTER, false},                            \
        {"_all" #suffix, blocking_all##suffix, OWN_POINTER, false},                    \
        {"_ordered" #suffix, blocking_ordered##suffix, ORDERED, false},                \
        {"_shared" #suffix, blocking_shared##suffix, SHARED, false},                   \
        {"_at" #suffix ", nonblocking", nonblocking_at##suffix, OFFSET, true},         \
        {"_at_all" #suffix ", nonblocking", nonblocking_at_all##suffix, OFFSET, true}, \
        {"" #suffix ", nonblocking", nonblocking##suffix, OWN_POINTER, true},          \
        {"_all" #suffix ", nonblocking", nonblocking_all##suffix, OWN_POINTER, true},  \
        {"_shared" #suffix ", nonblocking", nonblocking_shared##suffix, SHARED, true}, \
        {"_at_all" #suffix ", split", split_at_all##suffix, OFFSET, false},            \
        {"_all" #suffix ", split", split_all##suffix, OWN_POINTER, false},             \
        {"_ordered" #suffix ", split", split_ordered##suffix, ORDERED, false},
static const struct way ways[] = {WAYS()
#if MPI_VERSION >= 4
                                      WAYS(_c)
#endif
};
#define NWAYS (sizeof ways / sizeof *ways)

/* All ranks: n elements at a rank's own offset; by a shared pointer the ranks follow one another from 0
 * on. Returns the count of the status in doubles; -1 where the status is ignored. */
static int transfer(const struct way *way, bool reads, MPI_Offset at, void *buf, int n,
                    MPI_Datatype type, bool ignored)
{
    MPI_Status status;
    int error, count = -1, token = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    if (way->place == OWN_POINTER)
        MPI_File_seek(file, at, MPI_SEEK_SET);
    if (way->place == ORDERED || way->place == SHARED)
        MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    if (way->place == SHARED && rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    error = way->call(reads, at, buf, n, type, ignored ? MPI_STATUS_IGNORE : &status);
    expect(error == MPI_SUCCESS, reads ? "a read fails" : "a write fails", way->name);
    if (way->place == SHARED && rank < size - 1)
        MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    if (!ignored && error == MPI_SUCCESS)
        MPI_Get_count(&status, MPI_DOUBLE, &count);
    MPI_Barrier(MPI_COMM_WORLD);
    return count;
}

static MPI_Datatype columns(void)
{
    MPI_Datatype type;

    MPI_Type_vector(150, 3, 10, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

/* All of the file: so many doubles of each rank, which begin with its number. */
static void want_file(int n, int stride, const char *of)
{
    static double all[ROOM];

    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < size; r++) {
        memset(all, 0, sizeof all);
        MPI_File_read_at(file, (MPI_Offset)r * n, all, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            expect(all[i] == (r + 1) * 1e6 + i / 3 * stride + i % 3, "a number in the file", of);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void writes(const struct way *way)
{
    MPI_Datatype type = columns();
    int count;

    fill((rank + 1) * 1e6);
    count = transfer(way, false, (MPI_Offset)rank * N, gpu, N, MPI_DOUBLE, false);
    expect(count == N, "the count of the status", way->name);
    want_file(N, 3, way->name);
    transfer(way, false, (MPI_Offset)rank * 450, gpu, 1, type, true);
    want_file(450, 10, way->name);
    compare("the buffer was changed", way->name);
    MPI_Type_free(&type);
    result("writes: MPI_File_write", way->name);
}

/* The same read to both memories. */
static void reads_alike(const struct way *way, MPI_Offset at, int n, MPI_Datatype type,
                        bool ignored, const char *what)
{
    int wanted, count;

    fill(-1);
    wanted = transfer(way, true, at, host, n, type, ignored);
    count = transfer(way, true, at, gpu, n, type, ignored);
    expect(count == wanted, "the count of the status", way->name);
    compare(what, way->name);
}

/* At the end of the file ten come. (ROMIO's collective reads write more than that to host memory, too,
 * and tell another count.) */
static void reads_the_end(const struct way *way, int n, MPI_Datatype type)
{
    const MPI_Offset last = (MPI_Offset)size * N - 10;
    int wanted = 0;

    fill(-1);
    transfer(way, true, last, host, n, type, true);
    transfer(way, true, last, gpu, n, type, true);
    device_read(got, gpu, sizeof got);
    for (int i = 0; i < ROOM; i++) {
        const bool comes = n > 1 ? i < 10 : i < 31 && i % 10 < 3 && wanted < 10;

        if (comes)
            expect(got[i] == size * 1e6 + N - 10 + wanted++, "the end of the file", way->name);
        else if (host[i] == -1)
            expect(got[i] == -1, "what lies behind the end of the file", way->name);
    }
}

static void reads(const struct way *way, bool to_the_end)
{
    MPI_Datatype type = columns();

    reads_alike(way, (MPI_Offset)rank * N, N, MPI_DOUBLE, false, "numbers");
    expect(host[0] == (rank + 1) * 1e6 && host[N] == -1, "the number at the front", way->name);
    reads_alike(way, (MPI_Offset)rank * 100, 1, type, true, "numbers with gaps");
    if (to_the_end && (way->place == OFFSET || way->place == OWN_POINTER)) {
        reads_the_end(way, N, MPI_DOUBLE);
        reads_the_end(way, 1, type);
    }
    MPI_Type_free(&type);
    result("reads: MPI_File_read", way->name);
}

/* What reads at the end of the file read, and no more. */
static void set_up(void)
{
    MPI_File_set_size(file, 0);
    fill((rank + 1) * 1e6);
    MPI_File_write_at_all(file, (MPI_Offset)rank * N, host, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- other cases */

/* GPU and host memory in one type. */
static void both_kinds(void)
{
    const int lengths[] = {30, 20};
    const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Aint places[2];
    MPI_Datatype type;
    double *here = malloc(20 * sizeof *here);

    set_up();
    fill(-1);
    MPI_Get_address(gpu + 5, &places[0]);
    MPI_Get_address(here, &places[1]);
    MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    MPI_File_read_at(file, (MPI_Offset)rank * N, MPI_BOTTOM, 1, type, MPI_STATUS_IGNORE);
    for (int i = 0; i < 30; i++)
        host[5 + i] = (rank + 1) * 1e6 + i;
    compare("the part in GPU memory", "MPI_BOTTOM");
    for (int i = 0; i < 20; i++)
        expect(here[i] == (rank + 1) * 1e6 + 30 + i, "the part in host memory", "MPI_BOTTOM");
    MPI_Type_free(&type);
    free(here);
    result("GPU and host memory in one type", "");
}

/* A type that is freed before the request or the split call ends; and two split calls at once. */
static void freed_types(const char *name)
{
    MPI_Datatype type = columns();
    MPI_Request request;
    MPI_File second;

    set_up();
    fill(-1);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &second);
    MPI_File_set_view(second, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    MPI_File_read_at_all(file, 0, host, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at_all(second, 3, host + 1500, 50, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_read_at(file, (MPI_Offset)rank, host, 1, type, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_begin(second, 3, gpu + 1500, 50, MPI_DOUBLE);
    MPI_File_iread_at(file, (MPI_Offset)rank, gpu, 1, type, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    device_write(gpu, host, 80); /* again, by the split call */
    MPI_File_read_at_all_begin(file, (MPI_Offset)rank, gpu, 1, type);
    MPI_Type_free(&type);
    MPI_File_read_at_all_end(second, gpu + 1500, MPI_STATUS_IGNORE);
    MPI_File_read_at_all_end(file, gpu, MPI_STATUS_IGNORE);
    compare("what was read", "a freed type");
    MPI_File_close(&second);
    result("a type that is freed meanwhile, and two split reads", "");
}

/* Open MPI converts what it has read when it frees the request, which may be seen to be complete before. Other MPIs
 * do not convert in these calls, with host memory either. */
static void external32_nonblocking(MPI_Datatype type)
{
#if defined OPEN_MPI && !defined MPI_ABI_VERSION
    for (int way = 0; way < 6; way++) {
        const int n = way % 2 ? 1 : 450;
        MPI_Request request;
        int over = 0;

        fill(-1);
        MPI_File_read_at(file, (MPI_Offset)rank * 450, host, n, way % 2 ? type : MPI_DOUBLE,
                         MPI_STATUS_IGNORE);
        MPI_File_iread_at(file, (MPI_Offset)rank * 450, gpu, n, way % 2 ? type : MPI_DOUBLE,
                          &request);
        while (way / 2 == 1 && !over)
            MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        while (way / 2 == 2 && !over)
            MPI_Request_get_status(request, &over, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        compare("what was read", "external32, nonblocking");
    }
#else
    (void)type;
#endif
}

/* A representation that is made from elements. */
static void external32(void)
{
    MPI_Datatype type = columns();

    if (MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL) ==
        MPI_SUCCESS) {
        for (int gaps = 0; gaps < 2; gaps++) {
            const int n = gaps ? 1 : 450;

            fill((rank + 1) * 1e6);
            MPI_File_write_at(file, (MPI_Offset)rank * 450, gpu, n, gaps ? type : MPI_DOUBLE,
                              MPI_STATUS_IGNORE);
            fill(-1);
            MPI_File_read_at(file, (MPI_Offset)rank * 450, host, n, gaps ? type : MPI_DOUBLE,
                             MPI_STATUS_IGNORE);
            MPI_File_read_at(file, (MPI_Offset)rank * 450, gpu, n, gaps ? type : MPI_DOUBLE,
                             MPI_STATUS_IGNORE);
            expect(host[0] == (rank + 1) * 1e6, "the first number", "external32");
            compare("what was read", "external32");
        }
        external32_nonblocking(type);
    }
    MPI_Type_free(&type);
    MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    result("external32", "");
}

/* A view of a type that is predefined although it was made: nobody may free it. */
static void precision(void)
{
    MPI_Datatype type = columns(), real;

    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
    MPI_File_set_view(file, 0, real, real, "native", MPI_INFO_NULL);
    for (int i = 0; i < 3; i++) {
        fill((rank + 1) * 1e6);
        MPI_File_write_at(file, (MPI_Offset)rank * 450, gpu, 1, type, MPI_STATUS_IGNORE);
        fill(-1);
        MPI_File_read_at(file, (MPI_Offset)rank * 450, host, 1, type, MPI_STATUS_IGNORE);
        MPI_File_read_at(file, (MPI_Offset)rank * 450, gpu, 1, type, MPI_STATUS_IGNORE);
        expect(host[0] == (rank + 1) * 1e6, "the first number", "a type of Fortran's");
        compare("what was read", "a type of Fortran's");
    }
    MPI_Type_free(&type);
    MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);
    result("a view of a real with a precision", "");
}

/* A request of a file is waited for while a message to GPU memory is to come, whose sender waits likewise. */
static void beside_messages(void)
{
    enum { BYTES = 2 * sizeof host };
    char *from = device_alloc(BYTES), *to = device_alloc(BYTES);
    MPI_Request requests[2];

    for (int way = 0; way < 4; way++) {
        set_up();
        MPI_Irecv(to, BYTES, MPI_CHAR, (rank + 1) % size, way, MPI_COMM_WORLD, &requests[1]);
        fill(rank + way);
        if (way % 2 == 0)
            MPI_File_iwrite_at(file, (MPI_Offset)rank * N, way < 2 ? host : gpu, N, MPI_DOUBLE,
                               &requests[0]);
        else
            MPI_File_iread_at(file, (MPI_Offset)rank * N, way < 2 ? got : gpu, N, MPI_DOUBLE,
                              &requests[0]);
        if (way < 2)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        else
            MPI_Waitall(1, requests, MPI_STATUSES_IGNORE);
        if (way % 2 == 0)
            MPI_File_read_at(file, (MPI_Offset)rank * N, got, N, MPI_DOUBLE, MPI_STATUS_IGNORE);
        else if (way == 3)
            device_read(got, gpu, N * sizeof *gpu);
        for (int i = 0; i < N; i++)
            expect(got[i] == (way % 2 ? (rank + 1) * 1e6 : rank + way) + i, "a number", "messages");
        MPI_Send(from, BYTES, MPI_CHAR, (rank + size - 1) % size, way, MPI_COMM_WORLD);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    device_free(from);
    device_free(to);
    result("requests that are waited for while a message is to come", "");
}

static int handled;

static void count_errors(MPI_File *of, int *error, ...)
{
    (void)of;
    (void)error;
    handled++;
}

/* Nothing is copied, and the file's error handler is called. */
static void errors(void)
{
    double *freed = device_alloc(8 << 20);
    MPI_Errhandler handler;
    MPI_Status status;
    int class, count;

    fill(-1);
    MPI_File_read_at(file, 0, gpu, 0, MPI_DOUBLE, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    expect(count == 0, "the count", "no elements");
    expect(MPI_File_write_at(file, 0, NULL, 0, MPI_DOUBLE, &status) == MPI_SUCCESS, "NULL",
           "no elements");
    device_free(freed);
    MPI_File_create_errhandler(count_errors, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_Error_class(MPI_File_read_at(file, 0, freed, 8, MPI_DOUBLE, &status), &class);
    expect(class == MPI_ERR_BUFFER && handled == 1, "the error", "freed memory");
    expect(MPI_File_read_at(file, 0, gpu, -1, MPI_DOUBLE, &status) != MPI_SUCCESS && handled == 2,
           "the error", "a count of -1");
    MPI_File_set_errhandler(file, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    compare("the buffer", "errors");
    result("no elements, and errors", "");
}

/* Open MPI 4's nonblocking and split reads do not end at the end of a file, whatever the memory. */
static bool is_endless(const struct way *way)
{
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
    return way->call != blocking_at && way->call != blocking_at_all && way->call != blocking &&
           way->call != blocking_all;
#else
    (void)way;
    return false;
#endif
}

int main(int argc, char **argv)
{
    const char *name = getenv("TEST_FILE");

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    device_start();
    gpu = device_alloc(sizeof host);
    if (!name || MPI_File_open(MPI_COMM_WORLD, name,
                               MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                               MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "TEST_FILE: %s cannot be opened\n", name ? name : "nothing");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL);

    for (size_t i = 0; i < NWAYS; i++)
        writes(&ways[i]);
    set_up();
    for (size_t i = 0; i < NWAYS; i++)
        reads(&ways[i], !is_endless(&ways[i]));
    both_kinds();
    freed_types(name);
    external32();
    precision();
    beside_messages();
    errors();
    MPI_File_close(&file);
    device_free(gpu);
    MPI_Finalize();
    return rank ? 0 : tap_done();
}
