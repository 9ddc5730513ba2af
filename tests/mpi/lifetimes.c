/* Memory that is freed, allocated again or written to: as soon as a call allows it. For
 * two ranks; rank 1 sends to rank 0. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/job.h"
#include "tests/mpi/tests.h"

static const int sizes[] = {8, 4096, 70001, 1 << 20};

static void receive(const struct buffer *in, int nbytes, uint64_t seed, const char *what)
{
    buffer_reset(in);
    succeeds(
        MPI_GPURecv(in->at, (int)in->nbytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
        "%s", what);
    received(in, (size_t)nbytes, seed, what);
}

static void send(const struct buffer *out, int nbytes, const char *what)
{
    succeeds(MPI_GPUSend(out->at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD), "%s", what);
}

/* A release needs the other rank to let go, which therefore stays in the library until
 * the one that releases is through. */
static void stay_until_released(int releases)
{
    if (job.rank == releases)
        succeeds(MPI_GPUSend(NULL, 0, MPI_BYTE, !releases, 2, MPI_COMM_WORLD), "the last send");
    else
        succeeds(MPI_GPURecv(NULL, 0, MPI_BYTE, releases, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "the last receive");
}

/* One message to rank 0 between a lasting buffer and one that is made for it, by the
 * rank `maker`, and freed after it. The maker comes first, so that it is the other one
 * that has to reach into what is new. Returns the new buffer's address. */
static void *one_made_anew(int maker, enum memory kind, bool release, int i,
                           const struct buffer *lasting)
{
    gpubind_request request = GPUBIND_REQUEST_NULL;
    struct buffer made = *lasting;
    int nbytes = sizes[i % 4];
    void *at;

    if (job.rank == maker)
        need_buffer(&made, kind, 1 << 20);
    at = made.at;
    if (job.rank == 1)
        buffer_fill(&made, 0, (size_t)nbytes, 600 + (uint64_t)i);
    else
        buffer_reset(&made);
    if (job.rank != maker)
        job_barrier();
    succeeds(job.rank ? gpubind_isend(made.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request)
                      : gpubind_irecv(made.at, 1 << 20, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request),
             "isend or irecv");
    if (job.rank == maker)
        job_barrier();
    succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    if (job.rank == 0)
        received(&made, (size_t)nbytes, 600 + (uint64_t)i, maker ? "from new" : "into new");
    if (job.rank == maker && release)
        succeeds(gpubind_release(made.at), "release");
    if (job.rank == maker)
        buffer_clear(&made);
    return at;
}

/* What follows a message: nothing, or gpubind_release, as the manual asks for. */
static void allocated_again(enum memory kind, bool release)
{
    struct buffer lasting;
    void *last[2] = {NULL};
    int again[2] = {0};

    job_test("%s at an address that was freed%s", memory_name(kind),
             release ? ", after gpubind_release" : "");
    need_buffer(&lasting, MEMORY_DEVICE, 1 << 20);
    for (int i = 0; i < 48; i++) {
        int maker = i / 4 % 2;
        void *at = one_made_anew(maker, kind, release, i, &lasting);

        again[maker] += at == last[maker];
        last[maker] = at;
        stay_until_released(maker);
    }
    if (job.rank < 2 && gpu_count && !release && kind == MEMORY_DEVICE)
        expect(again[job.rank] > 0, "no address came again: nothing was tested");
    buffer_clear(&lasting);
    job_result();
}

/* The buffer is overwritten, or freed, in the moment in which the send returns. */
static void gone_at_once(bool blocking, bool freed)
{
    struct buffer out = {0}, in;

    job_test("%s at once when a %s send returns", freed ? "freed" : "overwritten",
             blocking ? "blocking" : "nonblocking");
    need_buffer(&in, MEMORY_DEVICE, 1 << 20);
    for (int i = 0; i < 32; i++) {
        int nbytes = sizes[i % 4];

        if (job.rank == 1) {
            gpubind_request request;

            if (!out.at)
                need_buffer(&out, MEMORY_DEVICE, 1 << 20);
            buffer_fill(&out, 0, (size_t)nbytes, 800 + (uint64_t)i);
            if (blocking) {
                send(&out, nbytes, "send");
            } else {
                succeeds(gpubind_isend(out.at, nbytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request),
                         "isend");
                succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
            }
            if (freed)
                buffer_clear(&out);
            else
                buffer_reset(&out);
        }
        if (job.rank == 0) {
            if (i / 4 % 2) /* the sender comes first */
                nanosleep(&(struct timespec){0, 3000000}, NULL);
            receive(&in, nbytes, 800 + (uint64_t)i, "receive");
        }
    }
    if (out.at)
        buffer_clear(&out);
    buffer_clear(&in);
    job_result();
}

/* Ten times the device's memory (or 200 rounds, where that is too much) is allocated,
 * sent from and freed. */
static void churn(enum memory kind, bool release)
{
    size_t unused = 0, total = (size_t)1 << 30, nbytes;
    struct buffer in;
    int rounds;

    job_test("allocate, send, free over ten times the memory: %s%s", memory_name(kind),
             release ? ", gpubind_release" : "");
    if (gpu_count && cuda.cuMemGetInfo_v2)
        cuda.cuMemGetInfo_v2(&unused, &total);
    MPI_Bcast(&total, sizeof total, MPI_BYTE, 1, job.plain);
    nbytes = total / 5 < (size_t)1 << 30 ? total / 5 : (size_t)1 << 30;
    rounds = (int)(10 * total / nbytes) < 200 ? (int)(10 * total / nbytes) : 200;
    need_buffer(&in, MEMORY_DEVICE, 100000);
    for (int i = 0; i < rounds; i++) {
        struct buffer out;

        if (job.rank == 0)
            receive(&in, 100000, 900 + (uint64_t)i, "receive");
        if (job.rank == 1 &&
            expect(buffer_make(&out, kind, nbytes) == 0, "no memory in round %d", i)) {
            buffer_fill(&out, nbytes / 2, 100000, 900 + (uint64_t)i);
            succeeds(MPI_GPUSend(out.at + nbytes / 2, 100000, MPI_BYTE, 0, 1, MPI_COMM_WORLD),
                     "send");
            if (release)
                succeeds(gpubind_release(out.at), "release");
            buffer_clear(&out);
        }
    }
    stay_until_released(1);
    buffer_clear(&in);
    job_result();
}

void test_lifetimes(void)
{
    allocated_again(MEMORY_DEVICE, false);
    allocated_again(MEMORY_DEVICE, true);
    allocated_again(MEMORY_OURS, false);
    allocated_again(MEMORY_POOL, false);
    gone_at_once(true, false);
    gone_at_once(true, true);
    gone_at_once(false, false);
    gone_at_once(false, true);
}

/* `ranks churn KIND`: ours, release or bare. */
void test_churn(void)
{
    const char *kind = nargs ? arguments[0] : "ours";

    churn(strcmp(kind, "ours") == 0 ? MEMORY_OURS : MEMORY_DEVICE, strcmp(kind, "release") == 0);
}
