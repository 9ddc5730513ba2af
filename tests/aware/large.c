/* large [PART...]: what the MPI standard promises of collective functions, for blocks of 4 KiB and more in GPU
 * memory, whatever way the data takes. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state; /* of the numbers that all ranks draw */

static const struct part {
    const char *name;
    int threads;
    void (*test)(void);
} parts[] = {
    {"moved", MPI_THREAD_SINGLE, test_moved},
    {"reduced", MPI_THREAD_SINGLE, test_reduced},
    {"neighbours", MPI_THREAD_SINGLE, test_neighbours},
    {"pass", MPI_THREAD_SINGLE, test_pass},
    {"comms", MPI_THREAD_SINGLE, test_comms},
    {"attributes", MPI_THREAD_SINGLE, test_attributes},
    {"inter", MPI_THREAD_SINGLE, test_inter},
    {"ahead", MPI_THREAD_SINGLE, test_ahead},
    {"progress", MPI_THREAD_SINGLE, test_progress},
    {"wildcards", MPI_THREAD_SINGLE, test_wildcards},
    {"pending", MPI_THREAD_SINGLE, test_pending},
    {"streams", MPI_THREAD_SINGLE, test_streams},
    {"errors", MPI_THREAD_SINGLE, test_errors},
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

size_t draw_size(void)
{
    static const size_t sizes[] = {4096, 5000, 8 * KIB, 12000, 16 * KIB, 33000, 64 * KIB, 150000};
    const unsigned which = draw(40);

    return which == 0 ? 1024 * KIB : sizes[which % (sizeof sizes / sizeof *sizes)];
}

void nap(int milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000L}, NULL);
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
    if (job.size > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    types_make();
    for (size_t i = 0; i < PARTS; i++) {
        state = i + 1;
        if (is_wanted(&parts[i], argc, argv))
            parts[i].test();
    }
    types_clear();
    return job_end();
}
