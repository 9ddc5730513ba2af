/* Large collectives of several threads, each on communicators of its own. */
#include "tests/aware/large.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, COMMS = 2, CALLS = 16, MESSAGE = 300000, MESSAGES = 12 };

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comms[COMMS];
    struct call calls[CALLS];
};

static void use_gpu(void)
{
    const char *wanted = getenv("TEST_DEVICE");

    if (gpu_count > 0)
        gpu_use((wanted ? atoi(wanted) : job.local) % gpu_count);
}

/* The ranks' threads come to their first calls in any order. */
static void *work(void *argument)
{
    struct worker *worker = argument;

    use_gpu();
    nap(2 * ((job.rank + worker->number) % THREADS));
    for (int i = 0; i < CALLS; i++)
        call_check(&worker->calls[i]);
    return NULL;
}

static void pass_messages(MPI_Comm comm)
{
    const int next = (job.rank + 1) % job.size, last = (job.rank + job.size - 1) % job.size;

    for (int i = 0; i < MESSAGES; i++) {
        const enum memory kind = i % 2 ? MEMORY_DEVICE : MEMORY_HOST;
        MPI_Status status;
        struct buffer out, in;

        need_filled(&out, kind, MESSAGE, (uint64_t)(100 * i + job.rank));
        need_buffer(&in, kind, MESSAGE);
        MPI_Sendrecv(out.at, MESSAGE, MPI_BYTE, next, TAG, in.at, MESSAGE, MPI_BYTE, MPI_ANY_SOURCE,
                     MPI_ANY_TAG, comm, &status);
        status_is(&status, last, TAG, MESSAGE, "a message beside them");
        received(&in, MESSAGE, (uint64_t)(100 * i + last), "a message beside them");
        buffer_clear(&out);
        buffer_clear(&in);
    }
}

/* One thread passes host memory, one now the one, now the other. */
static void prepare(struct worker *worker, int number)
{
    worker->number = number;
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &worker->comms[i]);
    for (int i = 0; i < CALLS; i++) {
        struct call call = draw_call(worker->comms[i / 3 % COMMS], draw_size());

#ifdef MPICH_VERSION
        call.in_place &= call.operation != REDUCE;
#endif
        call.in_place &= call.operation != BCAST;
        if (number == 1 || (number == 2 && (i + job.rank) % 3 == 0))
            call.from = call.to = MEMORY_HOST;
        worker->calls[i] = call;
    }
}

void test_threads(void)
{
    struct worker workers[THREADS];
    MPI_Comm plain;

    job_test("threads with communicators of their own");
    if (job.threads != MPI_THREAD_MULTIPLE) {
        job_skip("MPI has no MPI_THREAD_MULTIPLE");
        return;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    for (int i = 0; i < THREADS; i++)
        prepare(&workers[i], i);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    pass_messages(plain);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS * COMMS; i++)
        MPI_Comm_free(&workers[i / COMMS].comms[i % COMMS]);
    MPI_Comm_free(&plain);
    job_result();
}
