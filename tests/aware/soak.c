/* soak SECONDS SEED: plain MPI functions of all kinds, mixed at random, with buffers of host and GPU
 * memory on either side. All ranks draw the same numbers, and check every byte. */
#include "tests/aware/soak.h"

#include <stdlib.h>

static uint64_t state; /* of the numbers that all ranks draw */
long nmessages, ncollectives;

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
    const size_t most = draw(20) ? (size_t)1 << draw(17) : LARGE;

    return draw(12) ? 1 + draw((unsigned)most) : 0;
}

enum memory draw_memory(void)
{
    static const enum memory kinds[] = {MEMORY_DEVICE,  MEMORY_DEVICE, MEMORY_DEVICE,
                                        MEMORY_HOST,    MEMORY_HOST,   MEMORY_POOL,
                                        MEMORY_MANAGED, MEMORY_PINNED};

    return kinds[draw(sizeof kinds / sizeof *kinds)];
}

/* ---- */

static bool is_over(double until)
{
    int over = MPI_Wtime() > until || job_faults() > 0;

    MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT, MPI_MAX, job.plain);
    return over;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? atof(argv[1]) : 2;
    static char attached[4 * MESSAGES_MOST * LARGE];
    double until;

    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    job_start(MPI_THREAD_SINGLE);
    MPI_Buffer_attach(attached, sizeof attached);
    job_test("%g seconds of messages and collectives", seconds);
    until = MPI_Wtime() + seconds;
    while (!is_over(until))
        for (int i = 0; i < 20; i++)
            draw(2) ? messages() : collective();
    job_at(" ");
    job_result();
    if (job.rank == 0)
        printf("# %ld messages, %ld collectives\n", nmessages, ncollectives);
    MPI_Buffer_detach(&(void *){NULL}, &(int){0});
    return job_end();
}
