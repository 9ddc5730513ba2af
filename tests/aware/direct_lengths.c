/* Receives that are longer than their message. */
#include "tests/aware/direct.h"

#include <stddef.h>
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

/* A sender of MPI_PACKED does not know the elements of its receiver. */
static void test_packed(void)
{
    struct element {
        char letter;
        double number;
    } elements[400];
    const int n = sizeof elements / sizeof *elements, lengths[] = {1, 1};
    const MPI_Aint places[] = {0, offsetof(struct element, number)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE};
    MPI_Datatype pair, type;
    struct buffer packed;
    int at = 0, room = 0, bad = 0;

    job_test("packed data, received in a type with gaps");
    MPI_Type_create_struct(2, lengths, places, types, &pair);
    MPI_Type_create_resized(pair, 0, sizeof *elements, &type);
    MPI_Type_commit(&type);
    MPI_Pack_size(n, type, messages, &room);
    need_buffer(&packed, MEMORY_DEVICE, (size_t)room);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < n; i++)
            elements[i] = (struct element){(char)i, job.rank == 0 ? i + round : 0};
        at = 0;
        if (job.rank == 0) {
            MPI_Pack(elements, n, type, packed.at, room, &at, messages);
            MPI_Send(packed.at, at, MPI_PACKED, 1, TAG, messages);
        } else if (job.rank == 1) {
            is_int(MPI_Recv(elements, n, type, 0, TAG, messages, MPI_STATUS_IGNORE), MPI_SUCCESS,
                   "what MPI_Recv returns");
            for (int i = 0; i < n; i++)
                bad += elements[i].letter != (char)i || elements[i].number != i + round;
        }
    }
    is_int(bad, 0, "wrong elements");
    buffer_clear(&packed);
    MPI_Type_free(&pair);
    MPI_Type_free(&type);
    job_result();
}

void test_lengths(void)
{
    test_longer();
    test_packed();
}
