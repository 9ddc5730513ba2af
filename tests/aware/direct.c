/* direct [PART...], direct finalize: what the MPI standard promises of messages, between buffers of GPU and host memory,
 * whatever way the data takes. No part relies on MPI to buffer a message. */
#include "tests/aware/direct.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOKEN = 30000 };

MPI_Comm messages;
static uint64_t state = 1; /* of the numbers that all ranks draw */

static const struct part {
    const char *name;
    int threads;
    void (*test)(void);
} parts[] = {
    {"modes", MPI_THREAD_SINGLE, test_modes},
    {"types", MPI_THREAD_SINGLE, test_types},
    {"probes", MPI_THREAD_SINGLE, test_probes},
    {"probes_behind", MPI_THREAD_SINGLE, test_probes_behind},
    {"lengths", MPI_THREAD_SINGLE, test_lengths},
    {"truncation", MPI_THREAD_SINGLE, test_truncation},
    {"progress", MPI_THREAD_SINGLE, test_progress},
    {"persistent", MPI_THREAD_SINGLE, test_persistent},
    {"wildcards", MPI_THREAD_SINGLE, test_wildcards},
    {"buffers", MPI_THREAD_SINGLE, test_buffers},
    {"rings", MPI_THREAD_SINGLE, test_rings},
    {"lists", MPI_THREAD_SINGLE, test_lists},
    {"comms", MPI_THREAD_SINGLE, test_comms},
    {"layouts", MPI_THREAD_SINGLE, test_layouts},
    {"streams", MPI_THREAD_SINGLE, test_streams},
    {"freed", MPI_THREAD_SINGLE, test_freed_memory},
    {"threads", MPI_THREAD_MULTIPLE, test_threads},
};
#define PARTS (sizeof parts / sizeof *parts)

unsigned draw(unsigned below)
{
    return random_next(&state) % below;
}

uint64_t draw_seed(void)
{
    return random_next(&state);
}

enum memory draw_gpu(void)
{
    static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_DEVICE, MEMORY_POOL, MEMORY_MANAGED};

    return kinds[draw(sizeof kinds / sizeof *kinds)];
}

enum memory draw_memory(void)
{
    static const enum memory kinds[] = {MEMORY_HOST, MEMORY_PINNED};

    return draw(3) ? draw_gpu() : kinds[draw(2)];
}

size_t draw_size(void)
{
    static const size_t sizes[] = {0, 1, 8, 1000, 1024, 16384, 65536, 70001, 300000, MIB};
    const unsigned which = draw(40);

    if (which == 39)
        return draw(4) ? MIB : LARGEST;
    if (which < 15)
        return MIX_FIRST + 16 * draw((MIX_LAST - MIX_FIRST) / 16 + 1);
    return sizes[which % (sizeof sizes / sizeof *sizes)];
}

void token_to(int rank)
{
    MPI_Send(NULL, 0, MPI_BYTE, rank, TOKEN, job.plain);
}

void token_from(int rank)
{
    MPI_Recv(NULL, 0, MPI_BYTE, rank, TOKEN, job.plain, MPI_STATUS_IGNORE);
}

void nap(int milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000L}, NULL);
}

int class_of(int result)
{
    int class;

    MPI_Error_class(result, &class);
    return class;
}

static bool is_wanted(const struct part *part, int argc, char **argv)
{
    bool wanted = argc == 1;

    for (int i = 1; i < argc; i++)
        wanted |= strcmp(argv[i], part->name) == 0;
    return wanted;
}

int main(int argc, char **argv)
{
    int threads = MPI_THREAD_SINGLE;

    for (size_t i = 0; i < PARTS; i++)
        if (is_wanted(&parts[i], argc, argv) && parts[i].threads > threads)
            threads = parts[i].threads;
    job_start(threads);
    MPI_Comm_dup(job.plain, &messages);
    if (argc > 1 && strcmp(argv[1], "finalize") == 0)
        return finalize();
    for (size_t i = 0; i < PARTS; i++) {
        state = i + 1;
        if (is_wanted(&parts[i], argc, argv))
            parts[i].test();
    }
    MPI_Comm_free(&messages);
    return job_end();
}
