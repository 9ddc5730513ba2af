/* Strided data: random types against MPI_Pack, and shapes that are all over. For two ranks
 * and more: the first two pass messages. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/random_type.h"
#include "tests/mpi/tests.h"

#define BYTES (96u << 10) /* of each buffer */
#define MOST 40000u       /* of data */

/* One side of a message. */
struct side {
    MPI_Datatype type;
    int count;
    size_t origin;
    enum memory kind;
    struct byte_map map;
};

static struct buffer buffers[2]; /* of MEMORY_HOST and MEMORY_DEVICE */
static char *wanted, *got;

static unsigned dice(uint64_t *state, unsigned n)
{
    return random_next(state) % n;
}

static bool may_receive(const struct side *into, const struct side *out)
{
    return !into->map.twice && into->map.n >= out->map.n;
}

/* A random type that fits; a dense one when none is found soon. */
static void choose(struct side *side, uint64_t *state, MPI_Datatype base, const struct side *out)
{
    int size, tries = 0;

    MPI_Type_size(base, &size);
    side->kind = dice(state, 4) ? MEMORY_DEVICE : MEMORY_HOST;
    for (; tries < 30; tries++) {
        side->type = random_type(state, base);
        side->count = dice(state, 3) ? (int)dice(state, 60) + 1 : 1;
        side->origin = BYTES / 4 / 16 * 16 + dice(state, 64) * (unsigned)size;
        if (byte_map_fill(&side->map, MOST, side->type, side->count, side->origin, BYTES) &&
            (!out || may_receive(side, out)))
            return;
        MPI_Type_free(&side->type);
    }
    MPI_Type_dup(base, &side->type);
    side->count = out ? (int)(out->map.n / (size_t)size) : 100;
    side->origin = 0;
    byte_map_fill(&side->map, MOST, side->type, side->count, side->origin, BYTES);
}

static char *start_of(const struct side *side)
{
    return buffers[side->kind == MEMORY_DEVICE].at + side->origin;
}

static void send(const struct side *side, int verb)
{
    gpubind_request request;

    if (verb == 0) {
        succeeds(MPI_GPUSend(start_of(side), side->count, side->type, 1, 3, MPI_COMM_WORLD),
                 "send");
        return;
    }
    succeeds(gpubind_isend(start_of(side), side->count, side->type, 1, 3, MPI_COMM_WORLD, &request),
             "isend");
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
}

static void receive(struct side *side, int verb, MPI_Status *status)
{
    gpubind_request request;

    if (verb == 0) {
        succeeds(MPI_GPURecv(start_of(side), side->count, side->type, 0, 3, MPI_COMM_WORLD, status),
                 "receive");
        return;
    }
    succeeds(gpubind_irecv(start_of(side), side->count, side->type, 0, 3, MPI_COMM_WORLD, &request),
             "irecv");
    MPI_Type_free(&side->type); /* while the message is under way */
    succeeds(gpubind_wait(&request, status), "wait");
}

/* The whole of the receiver's buffer, and the status. */
static void compare(const struct side *out, const struct side *into, MPI_Datatype base,
                    MPI_Status *status, int round)
{
    const struct buffer *buffer = &buffers[into->kind == MEMORY_DEVICE];
    MPI_Count elements = -1;
    size_t at = 0;
    int size;

    memset(wanted, 0x77, BYTES);
    bytes_of_seed(got, BYTES, (uint64_t)round);
    for (size_t i = 0; i < out->map.n; i++)
        wanted[into->map.at[i]] = got[out->map.at[i]];
    gpu_get(got, buffer->at, BYTES);
    while (at < BYTES && got[at] == wanted[at])
        at++;
    expect(at == BYTES, "round %d: %zu bytes, %s to %s: byte %zu of the buffer is wrong", round,
           out->map.n, memory_name(out->kind), memory_name(into->kind), at);
    MPI_Type_size(base, &size);
    MPI_Get_elements_x(status, base, &elements);
    is_int(elements, (long long)out->map.n / size, "MPI_Get_elements");
}

static void pass(int round, uint64_t *state)
{
    static const MPI_Datatype bases[] = {MPI_DOUBLE, MPI_INT, MPI_CHAR, MPI_SHORT,
                                         MPI_C_DOUBLE_COMPLEX};
    static struct side out, into;
    const MPI_Datatype base = bases[dice(state, 5)];
    const int send_verb = (int)dice(state, 2), receive_verb = (int)dice(state, 2);
    const unsigned late = dice(state, 4);
    MPI_Status status;

    if (!out.map.at) {
        out.map.at = malloc(MOST * sizeof *out.map.at);
        into.map.at = malloc(MOST * sizeof *into.map.at);
    }
    choose(&out, state, base, NULL);
    choose(&into, state, base, &out);
    if (job.rank == (int)late) /* who comes first decides who copies */
        usleep(100);
    if (job.rank == 0) {
        bytes_of_seed(got, BYTES, (uint64_t)round);
        gpu_put(buffers[out.kind == MEMORY_DEVICE].at, got, BYTES);
        send(&out, send_verb);
    } else if (job.rank == 1) {
        memset(got, 0x77, BYTES);
        gpu_put(buffers[into.kind == MEMORY_DEVICE].at, got, BYTES);
        receive(&into, receive_verb, &status);
        compare(&out, &into, base, &status, round);
    }
    MPI_Type_free(&out.type);
    if (into.type != MPI_DATATYPE_NULL)
        MPI_Type_free(&into.type);
}

static void random_ones(int rounds)
{
    uint64_t state = 20;

    job_test("%d random types, compared with MPI_Pack", rounds);
    for (int round = 0; round < rounds; round++)
        pass(round, &state);
    job_result();
}

/* ---- one shape, large enough for every path */

#define ROWS 40000
#define STRIDE 64 /* bytes */

static struct buffer grid;

/* Is each row's block at nbytes of the row what it was in the other grid? */
static void compare_rows(const char *here, int rows, int nbytes, const char *what)
{
    for (int row = 0; row < ROWS; row++) {
        const char *at = here + (size_t)row * STRIDE;
        char value = row < rows ? (char)row : 0x77;

        for (int i = 0; i < STRIDE; i++)
            if (!expect(at[i] == (i < nbytes ? value : 0x77), "%s: row %d, byte %d is %d", what,
                        row, i, at[i]))
                return;
    }
}

static MPI_Datatype column(int rows, int nbytes, bool irregular)
{
    MPI_Datatype type;
    MPI_Aint *places = malloc((size_t)rows * sizeof *places);

    for (int row = 0; row < rows; row++) /* the first two in the other order */
        places[row] = (MPI_Aint)(irregular && row < 2 ? 1 - row : row) * STRIDE;
    if (irregular)
        MPI_Type_create_hindexed_block(rows, nbytes, places, MPI_CHAR, &type);
    else
        MPI_Type_vector(rows, nbytes, STRIDE, MPI_CHAR, &type);
    MPI_Type_commit(&type);
    free(places);
    return type;
}

static void fill_grid(char *host, bool sender)
{
    for (int row = 0; row < ROWS; row++)
        memset(host + (size_t)row * STRIDE, sender ? row : 0x77, STRIDE);
    gpu_put(grid.at, host, ROWS * STRIDE);
}

static void columns(int rows, int nbytes, bool irregular)
{
    char *host = malloc(ROWS * STRIDE);
    MPI_Datatype type = column(rows, nbytes, irregular);

    job_test("%d rows of %d bytes%s, by each verb", rows, nbytes, irregular ? ", indexed" : "");
    for (int i = 0; i < 4; i++) {
        MPI_Status status;
        gpubind_request request = GPUBIND_REQUEST_NULL;

        fill_grid(host, job.rank == 0);
        job_barrier();
        if (job.rank == 0 && i < 2) {
            succeeds(MPI_GPUSend(grid.at, 1, type, 1, i, MPI_COMM_WORLD), "send");
        } else if (job.rank == 0) {
            succeeds(gpubind_isend(grid.at, 1, type, 1, i, MPI_COMM_WORLD, &request), "isend");
            succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
        } else if (job.rank == 1) {
            succeeds(MPI_GPURecv(grid.at, 1, type, 0, i, MPI_COMM_WORLD, &status), "receive");
            status_is(&status, 0, i, (MPI_Count)rows * nbytes, "column");
            gpu_get(host, grid.at, ROWS * STRIDE);
            compare_rows(host, rows, nbytes, "received");
        }
    }
    MPI_Type_free(&type);
    free(host);
    job_result();
}

/* Both ranks send the first bytes of their rows into the other's next ones. */
static void exchange(void)
{
    char *host = malloc(ROWS * STRIDE);
    MPI_Datatype type = column(1000, 8, false);

    job_test("columns exchanged, many at once");
    fill_grid(host, true);
    for (int round = 0; round < 50 && job.rank < 2; round++) {
        gpubind_request requests[6];

        succeeds(gpubind_sendrecv(grid.at, 1, type, !job.rank, 1, grid.at + 8, 1, type, !job.rank,
                                  1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "sendrecv");
        for (int i = 0; i < 3; i++) {
            succeeds(gpubind_irecv(grid.at + 16 + 8 * i, 1, type, !job.rank, i, MPI_COMM_WORLD,
                                   &requests[i]),
                     "irecv");
            succeeds(
                gpubind_isend(grid.at, 1, type, !job.rank, i, MPI_COMM_WORLD, &requests[3 + i]),
                "isend");
        }
        succeeds(gpubind_waitall(6, requests, MPI_STATUSES_IGNORE), "waitall");
    }
    gpu_get(host, grid.at, ROWS * STRIDE);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < STRIDE; i++)
            if (host[row * STRIDE + i] != (char)row) {
                expect(false, "row %d, byte %d", row, i);
                row = ROWS - 1;
                break;
            }
    MPI_Type_free(&type);
    free(host);
    job_result();
}

/* `ranks strided [ROUNDS]` */
void test_strided(void)
{
    need_buffer(&buffers[0], MEMORY_HOST, BYTES);
    need_buffer(&buffers[1], MEMORY_DEVICE, BYTES);
    need_buffer(&grid, MEMORY_DEVICE, ROWS * STRIDE);
    wanted = malloc(BYTES);
    got = malloc(BYTES);
    random_ones(nargs ? atoi(arguments[0]) : 300);
    columns(1000, 8, false);
    columns(ROWS, 8, false);
    columns(ROWS, 40, false);
    columns(1000, 8, true);
    columns(ROWS, 40, true);
    exchange();
    free(wanted);
    free(got);
    buffer_clear(&grid);
    buffer_clear(&buffers[0]);
    buffer_clear(&buffers[1]);
}
