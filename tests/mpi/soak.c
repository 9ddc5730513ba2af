/* `ranks soak SECONDS [SEED [ROUND]]`: rounds of works of all kinds, until the time is
 * over or a fault is found; from that round on. */
#include "tests/mpi/soak.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/tests.h"

enum {
    WORKS = 5,
    COMMS = WORKS + 1,
    CHANGES = 4 /* a change in so many rounds */,
    HANG_SECONDS = 120
};

static const struct kind *const kinds[] = {
    &soak_messages, &soak_wildcards,  &soak_cancels,       &soak_truncations,
    &soak_shifts,   &soak_persistent, &soak_channels,      &soak_pipelines,
    &soak_windows,  &soak_halos,      &soak_communicators, &soak_memory,
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

struct CUstream_st *soak_streams[SOAK_STREAMS];
long long soak_count;
bool soak_can_stream;

static bool on_gpus;          /* all ranks have one */
static MPI_Comm comms[COMMS]; /* the first is MPI_COMM_WORLD, which works share */
static long long of_kind[KINDS];

int below(uint64_t *state, int n)
{
    return (int)(random_next(state) % (unsigned)n);
}

uint64_t soak_seed(uint64_t seed, int n)
{
    uint64_t state = seed + 0x632BE59BD9B4E019u * (uint64_t)(n + 1);

    return (uint64_t)random_next(&state) << 31 | random_next(&state);
}

void *soak_zeros(size_t n, size_t nbytes)
{
    void *made = calloc(n ? n : 1, nbytes ? nbytes : 1);

    if (!made)
        MPI_Abort(MPI_COMM_WORLD, 3);
    return made;
}

void soak_drain(struct CUstream_st *stream)
{
    int status;

    while ((status = cuda.cuStreamQuery(stream)) == CUDA_NOT_READY) {
        succeeds(gpubind_progress(), "progress");
        sched_yield();
    }
    is_int(status, CUDA_OK, "the end of a stream");
}

/* ---- what works share */

/* The latest round, until this one, in which communicator number i is made; -1: none. */
static int round_of_comm(int i, int round)
{
    int at = round / CHANGES;

    while (at > 0 && 1 + at % WORKS != i)
        at--;
    return at > 0 ? at * CHANGES : -1;
}

static void make_comm(uint64_t seed, int i, int round)
{
    uint64_t state = soak_seed(soak_seed(seed, -1), COMMS * round_of_comm(i, round) + i);
    MPI_Comm *comm = &comms[i];
    MPI_Request request;

    switch (below(&state, 5)) {
    case 0:
        MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, comm);
        break;
    case 1:
        MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, comm);
        break;
    case 2:
        MPI_Comm_idup(MPI_COMM_WORLD, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Comm_dup(MPI_COMM_WORLD, comm);
        break;
    }
}

/* MPI reaches the ranks of other nodes. */
static bool is_one_node(void)
{
    const char *path = getenv("GPUBIND_PATH");
    MPI_Comm node;
    int size;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size == job.size && !(path && (strcmp(path, "network") == 0 ||
                                          strcmp(path, "mpi") == 0 || strcmp(path, "direct") == 0));
}

static void set_up(uint64_t seed, int first)
{
    int mine = gpu_count > 0, all;

    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, job.plain);
    on_gpus = all;
    soak_can_stream = on_gpus && (job.threads == MPI_THREAD_MULTIPLE || is_one_node());
    comms[0] = MPI_COMM_WORLD;
    for (int i = 1; i < COMMS; i++)
        make_comm(seed, i, first);
    for (int i = 0; on_gpus && i < SOAK_STREAMS - 1; i++)
        is_int(cuda.cuStreamCreate(&soak_streams[i], i < 2 ? CUDA_STREAM_NON_BLOCKING : 0), CUDA_OK,
               "cuStreamCreate");
    soak_memory_start();
}

static void tear_down(void)
{
    soak_memory_end();
    for (int i = 0; on_gpus && i < SOAK_STREAMS - 1; i++)
        cuda.cuStreamDestroy_v2(soak_streams[i]);
    for (int i = 1; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
}

/* Other memory, maybe at the same addresses, and another communicator. */
static void change(int round, uint64_t seed, uint64_t *own)
{
    const int which = 1 + round / CHANGES % WORKS;

    if (round % CHANGES || round == 0)
        return;
    job_at("round %d, a change", round);
    soak_memory_change(own);
    MPI_Comm_free(&comms[which]);
    make_comm(seed, which, round);
}

/* ---- a round */

static bool is_possible(const struct kind *kind)
{
    return kind->needs == SOAK_ANYWHERE || soak_can_stream;
}

static int draw_kind(uint64_t *state)
{
    int all = 0, drawn;

    for (int i = 0; i < KINDS; i++)
        all += is_possible(kinds[i]) ? kinds[i]->weight : 0;
    drawn = below(state, all);
    for (int i = 0; i < KINDS; i++)
        if (is_possible(kinds[i]) && (drawn -= kinds[i]->weight) < 0)
            return i;
    return 0;
}

static void make_work(struct work *work, int number, uint64_t *state)
{
    const int kind = draw_kind(state), which = below(state, 3) ? 1 + number : 0;

    *work = (struct work){.kind = kinds[kind],
                          .comm = comms[which],
                          .alone = which > 0,
                          .tag = number * SOAK_TAGS,
                          .state = soak_seed(*state, number)};
    work->own = soak_seed(work->state, job.rank);
    of_kind[kind]++;
    MPI_Comm_rank(work->comm, &work->rank);
    MPI_Comm_size(work->comm, &work->size);
}

/* The next of those that have steps left. */
static struct work *draw_work(struct work works[], int n, uint64_t *state)
{
    int left[WORKS], nleft = 0;

    for (int i = 0; i < n; i++)
        if (works[i].taken < works[i].kind->steps)
            left[nleft++] = i;
    return nleft ? &works[left[below(state, nleft)]] : NULL;
}

static void play(int number, uint64_t seed)
{
    uint64_t state = soak_seed(seed, number), own = soak_seed(state, -2 - job.rank);
    struct work works[WORKS], *work;
    const int n = 1 + below(&state, WORKS);

    change(number, seed, &own);
    for (int i = 0; i < n; i++) {
        make_work(&works[i], i, &state);
        job_at("round %d, work %d: making %s", number, i, works[i].kind->name);
        works[i].kind->make(&works[i]);
    }
    while ((work = draw_work(works, n, &state))) {
        job_at("round %d, work %d: step %d of %s", number, (int)(work - works), work->taken,
               work->kind->name);
        work->kind->step(work, work->taken++);
        if (below(&state, 6) == 0)
            soak_plain_call(&state);
    }
    job_at("round %d, its end", number);
    job_barrier();
    for (int i = 0; i < n; i++) {
        job_at("round %d, work %d: looking at %s", number, i, works[i].kind->name);
        works[i].kind->look(&works[i]);
        free(works[i].data);
    }
    soak_memory_rewind();
}

/* ---- */

static void report(int rounds, int first, uint64_t seed, bool good)
{
    long long sum = 0;

    MPI_Reduce(&soak_count, &sum, 1, MPI_LONG_LONG, MPI_SUM, 0, job.plain);
    if (job.rank)
        return;
    printf("# %d rounds, %lld messages:", rounds, sum);
    for (int i = 0; i < KINDS; i++)
        if (of_kind[i])
            printf(" %lld %s,", of_kind[i], kinds[i]->name);
    printf(" seed %llu\n", (unsigned long long)seed);
    if (!good)
        printf("# again: ranks soak %d %llu %d\n", 60, (unsigned long long)seed,
               first + rounds - 1);
}

void test_soak(void)
{
    const int seconds = nargs > 0 ? atoi(arguments[0]) : 2,
              first = nargs > 2 ? atoi(arguments[2]) : 0;
    const uint64_t seed = nargs > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    const double start = MPI_Wtime();
    int rounds = 0, all[2] = {0};

    job_test("soak: %d s, seed %llu", seconds, (unsigned long long)seed);
    set_up(seed, first);
    while (!all[0] && !all[1]) { /* no fault, and time is left */
        int mine[2] = {0};

        alarm(job_seconds(HANG_SECONDS));
        play(first + rounds++, seed);
        mine[0] = job_faults();
        mine[1] = MPI_Wtime() - start >= seconds;
        MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, job.plain);
    }
    job_at("its end");
    tear_down();
    report(rounds, first, seed, all[0] == 0);
    job_result();
}
