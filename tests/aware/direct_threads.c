/* Several threads of a rank pass messages at once. */
#include "tests/aware/direct.h"

#include <pthread.h>
#include <stdlib.h>

enum { ASKS = 8, THREADS = 3, ROUNDS = 40, PROBES = 100, MOST = 400000 };

static int next, last;
static bool asks; /* MPI_Request_get_status is among the calls */

struct worker {
    int number;
    MPI_Comm comm;
    pthread_t thread;
    void (*work)(struct worker *worker);
};

/* Memory of the GPU is a thread's own affair only where the thread has a context. */
static void *begin(void *argument)
{
    struct worker *worker = argument;
    const char *wanted = getenv("TEST_DEVICE");

    if (gpu_count > 0)
        gpu_use((wanted ? atoi(wanted) : job.local) % gpu_count);
    worker->work(worker);
    return NULL;
}

static void run(int n, struct worker workers[], void (*work)(struct worker *worker))
{
    for (int i = 0; i < n; i++) {
        workers[i].number = i;
        workers[i].work = work;
        pthread_create(&workers[i].thread, NULL, begin, &workers[i]);
    }
    for (int i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
}

static enum memory kind_of(unsigned number)
{
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED};

    return kinds[number % 4];
}

/* All threads of one number draw the same. */
static void exchange(struct worker *worker)
{
    uint64_t state = 77 + (uint64_t)worker->number;

    for (int round = 0; round < ROUNDS; round++) {
        const unsigned chosen = random_next(&state);
        const int nbytes = 1 + (int)(random_next(&state) % (chosen % 2 ? MOST : 4000));
        const uint64_t seed = random_next(&state);
        MPI_Request requests[2];
        MPI_Status statuses[2];
        struct buffer out, in;

        need_filled(&out, kind_of(chosen), (size_t)nbytes, seed + (uint64_t)job.rank);
        need_buffer(&in, kind_of(chosen / 4), (size_t)nbytes);
        MPI_Irecv(in.at, nbytes, MPI_BYTE, chosen % 3 ? last : MPI_ANY_SOURCE, worker->number,
                  worker->comm, &requests[0]);
        if (chosen % 5 == 0) {
            MPI_Send(out.at, nbytes, MPI_BYTE, next, worker->number, worker->comm);
            MPI_Wait(&requests[0], &statuses[0]);
        } else {
            (chosen % 5 == 1 ? MPI_Issend : MPI_Isend)(out.at, nbytes, MPI_BYTE, next,
                                                       worker->number, worker->comm, &requests[1]);
            complete(chosen / 16 % COMPLETIONS == ASKS && !asks ? 0
                                                                : (int)(chosen / 16 % COMPLETIONS),
                     2, requests, statuses);
        }
        status_says(&statuses[0], last, worker->number, (size_t)nbytes, NULL, "the status");
        received(&in, (size_t)nbytes, seed + (uint64_t)last, "the message");
        buffer_clear(&out);
        buffer_clear(&in);
    }
}

/* From thread to thread of one rank: neither of them can do the other's part. */
static void to_oneself(struct worker *worker)
{
    for (int round = 0; round < ROUNDS; round++) {
        const int nbytes = round % 2 ? MIB : 3008;
        const int turn = round / 8; /* a send may return before the other thread receives */
        struct buffer buffer;

        need_buffer(&buffer, kind_of((unsigned)(round + worker->number)), (size_t)nbytes);
        if (worker->number == turn % 2) {
            buffer_fill(&buffer, 0, (size_t)nbytes, (uint64_t)round);
            (round % 3 ? MPI_Ssend : MPI_Send)(buffer.at, nbytes, MPI_BYTE, job.rank, TAG + turn,
                                               messages);
        } else {
            MPI_Recv(buffer.at, nbytes, MPI_BYTE, job.rank, TAG + turn, messages,
                     MPI_STATUS_IGNORE);
            received(&buffer, (size_t)nbytes, (uint64_t)round, "of the other thread");
        }
        buffer_clear(&buffer);
    }
}

/* Every thread probes for the same messages, of one length, so that another one may receive what it has found. */
static void probe_and_receive(struct worker *worker)
{
    const int nbytes = 16384, other = job.rank ^ 1;
    struct buffer buffer;

    if (other == job.size)
        return;
    need_filled(&buffer, MEMORY_DEVICE, (size_t)nbytes, 3);
    for (int round = 0; round < PROBES; round++) {
        MPI_Status status;
        int count = 0, flag = worker->number != 0;

        if (job.rank % 2 == 0) {
            MPI_Send(buffer.at, nbytes, MPI_BYTE, other, 0, worker->comm);
            continue;
        }
        if (flag)
            MPI_Probe(other, 0, worker->comm, &status);
        while (!flag)
            MPI_Iprobe(other, 0, worker->comm, &flag, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        is_int(count, nbytes, "the length that the probe says");
        buffer_fill(&buffer, 0, (size_t)nbytes, 4);
        MPI_Recv(buffer.at, nbytes, MPI_BYTE, other, 0, worker->comm, MPI_STATUS_IGNORE);
        received(&buffer, (size_t)nbytes, 3, "the message");
    }
    buffer_clear(&buffer);
}

/* One thread waits for a message that comes only when the others are done. */
static void wait_or_exchange(struct worker *worker)
{
    struct buffer buffer;

    if (worker->number) {
        exchange(worker);
        return;
    }
    need_buffer(&buffer, MEMORY_DEVICE, MIB);
    MPI_Recv(buffer.at, MIB, MPI_BYTE, MPI_ANY_SOURCE, 500, messages, MPI_STATUS_IGNORE);
    received(&buffer, MIB, 9, "the last message");
    buffer_clear(&buffer);
}

/* Of all threads; the waiting ones of the next rank end by it. */
static void wake(struct worker *worker)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static int ndone;
    struct buffer buffer;
    int done;

    wait_or_exchange(worker);
    if (worker->number == 0)
        return;
    pthread_mutex_lock(&lock);
    done = ++ndone % (THREADS - 1) == 0;
    pthread_mutex_unlock(&lock);
    if (!done)
        return;
    need_filled(&buffer, MEMORY_DEVICE, MIB, 9);
    MPI_Send(buffer.at, MIB, MPI_BYTE, next, 500, messages);
    buffer_clear(&buffer);
}

static const struct form {
    const char *name;
    int nthreads;
    void (*work)(struct worker *worker);
    bool own; /* a communicator for each */
    bool asks;
} forms[] = {
    {"threads pass messages at once, by a tag of their own", THREADS, exchange, false, false},
    {"threads pass messages at once, in a communicator of their own", THREADS, exchange, true,
     false},
    {"a thread passes messages to another one of its rank", 2, to_oneself, false, false},
    {"a thread waits for a message, the others pass theirs", THREADS, wake, false, false},
    {"threads pass messages at once, and ask by MPI_Request_get_status", THREADS, exchange, false,
     true},
    {"threads probe for the same messages", THREADS, probe_and_receive, false, false},
};

void test_threads(void)
{
    struct worker workers[THREADS];

    next = (job.rank + 1) % job.size;
    last = (job.rank + job.size - 1) % job.size;
    for (const struct form *form = forms; form < forms + sizeof forms / sizeof *forms; form++) {
        job_test("%s", form->name);
        if (job.threads < MPI_THREAD_MULTIPLE) {
            job_skip("MPI has no MPI_THREAD_MULTIPLE");
            continue;
        }
        asks = form->asks;
        for (int i = 0; i < THREADS; i++) {
            workers[i].comm = messages;
            if (form->own)
                MPI_Comm_dup(messages, &workers[i].comm);
        }
        run(form->nthreads, workers, form->work);
        for (int i = 0; i < THREADS && form->own; i++)
            MPI_Comm_free(&workers[i].comm);
        job_result();
    }
}
