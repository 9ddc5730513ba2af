/* Receives that are longer than their message. */
#include "tests/aware/direct.h"

#include <stdlib.h>

static const enum memory kinds[] = {MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_PINNED};

static void pass_short(size_t n, enum shape shape, enum memory from, enum memory to)
{
    const uint64_t seed = draw_seed();
    struct place place;
    MPI_Status status;

    job_at("%zu elements of %s into %s, %s", n, memory_name(from), memory_name(to),
           shape_name(shape));
    if (job.rank == 0) {
        place_make(&place, from, draw(SHAPES), MPI_INT, n);
        place_fill(&place, seed);
        MPI_Send(place.at, place.layout.count, place.layout.type, 1, TAG, messages);
    } else {
        draw(SHAPES);
    }
    if (job.rank == 1) {
        place_make(&place, to, shape, MPI_INT, 2 * n + 11);
        MPI_Recv(place.at, place.layout.count, place.layout.type, MPI_ANY_SOURCE, TAG, messages,
                 &status);
        status_says(&status, 0, TAG, 4 * n, &place.layout, "a short message");
        place_holds(&place, 4 * n, seed, "a short message");
    }
    if (job.rank < 2)
        place_clear(&place);
}

static void test_longer(void)
{
    static const size_t sizes[] = {0, 1, 400, 4096, 75000, 262145};

    for (int shape = 0; shape < SHAPES; shape++) {
        job_test("messages shorter than what receives them, %s", shape_name((enum shape)shape));
        for (int i = 0; i < 6 * 16; i++)
            pass_short(sizes[i / 16], (enum shape)shape, kinds[i / 4 % 4], kinds[i % 4]);
        job_result();
    }
}

void test_lengths(void)
{
    test_longer();
}
