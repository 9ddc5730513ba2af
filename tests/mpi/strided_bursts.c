/* Several messages of random types at once, and irregular receives that wait. For two ranks
 * and more; rank 0 sends to rank 1. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/job.h"
#include "tests/mpi/random_type.h"
#include "tests/mpi/tests.h"

#define BURST 6
#define BYTES (64u << 10) /* of each buffer */
#define MOST 20000u       /* of data */

struct part {
    struct buffer buffer;
    MPI_Datatype type;
    int count;
    size_t origin;
    struct byte_map map;
};

static struct part out[BURST], into[BURST];
static char *wanted, *got;

static unsigned dice(uint64_t *state, unsigned n)
{
    return random_next(state) % n;
}

/* A random type that fits, of as many bytes as sent has or more; bytes when none is found. */
static void choose(struct part *part, uint64_t *state, const struct part *sent)
{
    for (int tries = 0; tries < 20; tries++) {
        part->type = random_type(state, dice(state, 2) ? MPI_INT : MPI_CHAR);
        part->count = dice(state, 2) ? (int)dice(state, 60) + 1 : 1;
        part->origin = BYTES / 4 + dice(state, 16) * 4;
        if (byte_map_fill(&part->map, MOST, part->type, part->count, part->origin, BYTES) &&
            (!sent || (!part->map.twice && part->map.n >= sent->map.n)))
            return;
        MPI_Type_free(&part->type);
    }
    MPI_Type_dup(MPI_BYTE, &part->type);
    part->count = sent ? (int)sent->map.n : 100;
    part->origin = 0;
    byte_map_fill(&part->map, MOST, part->type, part->count, part->origin, BYTES);
}

/* Messages of one tag keep their order; those of others come when they are asked for. */
static int tag_of(int i)
{
    return i % 2 ? 10 + i : 3;
}

static void send_burst(int round, bool one_by_one)
{
    gpubind_request requests[BURST];

    for (int i = 0; i < BURST; i++) {
        bytes_of_seed(got, BYTES, (uint64_t)(round * BURST + i));
        gpu_put(out[i].buffer.at, got, BYTES);
    }
    for (int i = 0; i < BURST; i++) {
        succeeds(gpubind_isend(out[i].buffer.at + out[i].origin, out[i].count, out[i].type, 1,
                               tag_of(i), MPI_COMM_WORLD, &requests[i]),
                 "isend");
        MPI_Type_free(&out[i].type);
    }
    if (!one_by_one)
        succeeds(gpubind_waitall(BURST, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int i = 0; i < BURST; i++) {
        if (one_by_one)
            succeeds(gpubind_wait(&requests[i], MPI_STATUS_IGNORE), "wait");
        buffer_reset(&out[i].buffer);
    }
}

static void compare(int round, int i)
{
    size_t at = 0;

    memset(wanted, 0x77, BYTES);
    bytes_of_seed(got, BYTES, (uint64_t)(round * BURST + i));
    for (size_t b = 0; b < out[i].map.n; b++)
        wanted[into[i].map.at[b]] = got[out[i].map.at[b]];
    gpu_get(got, into[i].buffer.at, BYTES);
    while (at < BYTES && got[at] == wanted[at])
        at++;
    expect(at == BYTES, "round %d, message %d of %zu bytes: byte %zu is wrong", round, i,
           out[i].map.n, at);
}

static void receive_burst(int round, bool blocking)
{
    static const int order[BURST] = {5, 3, 0, 2, 1, 4};
    gpubind_request requests[BURST];

    memset(got, 0x77, BYTES);
    for (int i = 0; i < BURST; i++)
        gpu_put(into[i].buffer.at, got, BYTES);
    for (int k = 0; k < BURST; k++) {
        const int i = order[k];
        char *at = into[i].buffer.at + into[i].origin;

        if (blocking)
            succeeds(MPI_GPURecv(at, into[i].count, into[i].type, 0, tag_of(i), MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE),
                     "receive");
        else
            succeeds(gpubind_irecv(at, into[i].count, into[i].type, 0, tag_of(i), MPI_COMM_WORLD,
                                   &requests[k]),
                     "irecv");
    }
    if (!blocking)
        succeeds(gpubind_waitall(BURST, requests, MPI_STATUSES_IGNORE), "waitall");
    for (int i = 0; i < BURST; i++)
        compare(round, i);
}

static void bursts(int rounds)
{
    uint64_t state = 77;

    job_test("%d times %d isends of random types at once, overwritten when they are over", rounds,
             BURST);
    for (int round = 0; round < rounds; round++) {
        const unsigned verb = dice(&state, 4);

        for (int i = 0; i < BURST; i++) {
            choose(&out[i], &state, NULL);
            choose(&into[i], &state, &out[i]);
        }
        if (job.rank == 0)
            send_burst(round, verb & 1);
        else if (job.rank == 1)
            receive_burst(round, verb & 2);
        for (int i = 0; i < BURST; i++) {
            if (job.rank != 0)
                MPI_Type_free(&out[i].type);
            MPI_Type_free(&into[i].type);
        }
    }
    job_result();
}

/* The receiver is there first, so that the sender copies into its pieces; more types than
 * it keeps, each of them twice in a row, and freed. */
static void awaited(void)
{
    enum { TYPES = 40, BLOCKS = 50 };

    job_test("%d irregular types, each received by a rank that waits", TYPES);
    for (int round = 0; round < 3 * TYPES && job.rank < 2; round++) {
        const int apart = 8 + round / 2 % TYPES;
        int places[BLOCKS], lengths[BLOCKS];
        MPI_Datatype type;

        for (int i = 0; i < BLOCKS; i++) {
            places[i] = (i ^ 1) * 2 * apart;
            lengths[i] = apart - i % 3;
        }
        MPI_Type_indexed(BLOCKS, lengths, places, MPI_CHAR, &type);
        MPI_Type_commit(&type);
        byte_map_fill(&out[0].map, MOST, type, 1, 0, BYTES);
        into[0].map.n = out[0].map.n;
        memcpy(into[0].map.at, out[0].map.at, out[0].map.n * sizeof *out[0].map.at);
        bytes_of_seed(got, BYTES, (uint64_t)(round * BURST));
        if (job.rank == 0) {
            gpu_put(out[0].buffer.at, got, BYTES);
            usleep(300);
            succeeds(MPI_GPUSend(out[0].buffer.at, 1, type, 1, 1, MPI_COMM_WORLD), "send");
        } else {
            memset(got, 0x77, BYTES);
            gpu_put(into[0].buffer.at, got, BYTES);
            succeeds(
                MPI_GPURecv(into[0].buffer.at, 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                "receive");
            compare(round, 0);
        }
        MPI_Type_free(&type);
    }
    job_result();
}

/* `ranks strided_bursts [ROUNDS]` */
void test_strided_bursts(void)
{
    wanted = malloc(BYTES);
    got = malloc(BYTES);
    for (int i = 0; i < BURST; i++) {
        need_buffer(&out[i].buffer, MEMORY_DEVICE, BYTES);
        need_buffer(&into[i].buffer, i == 4 ? MEMORY_HOST : MEMORY_DEVICE, BYTES);
        out[i].map.at = malloc(MOST * sizeof *out[i].map.at);
        into[i].map.at = malloc(MOST * sizeof *into[i].map.at);
    }
    bursts(nargs ? atoi(arguments[0]) : 60);
    awaited();
    for (int i = 0; i < BURST; i++) {
        buffer_clear(&out[i].buffer);
        buffer_clear(&into[i].buffer);
        free(out[i].map.at);
        free(into[i].map.at);
    }
    free(wanted);
    free(got);
}
