/* Sizes and datatypes of the soak. Two layouts of the same number of integers fit each
 * other, whatever their types. */
#include "tests/mpi/soak.h"

#define BLOCKS 12 /* the most of a part of 12 integers */

struct layout layout_dense(size_t nbytes)
{
    return (struct layout){
        .type = MPI_BYTE, .count = (int)nbytes, .nbytes = nbytes, .room = nbytes};
}

void layout_clear(struct layout *layout)
{
    if (layout->derived)
        MPI_Type_free(&layout->type);
    layout->derived = false;
}

/* Blocks at places that grow, by gaps that are drawn; their integers are 12. */
static int cut(uint64_t *state, bool even, int lengths[BLOCKS], int places[BLOCKS])
{
    static const int divisors[] = {1, 2, 3, 4, 6};
    const int step = divisors[below(state, 5)];
    int n = 0, left = 12, place = below(state, 4);

    for (; left > 0; n++) {
        lengths[n] = even ? step : 1 + below(state, left < 5 ? left : 5);
        places[n] = place;
        place += lengths[n] + below(state, 4);
        left -= lengths[n];
    }
    return n;
}

static MPI_Datatype listed(uint64_t *state)
{
    const int way = below(state, 4);
    int lengths[BLOCKS], places[BLOCKS], n = cut(state, way == 0, lengths, places);
    MPI_Aint addresses[BLOCKS];
    MPI_Datatype type, parts[BLOCKS];

    for (int i = 0; i < n; i++) {
        addresses[i] = places[i] * (MPI_Aint)sizeof(int);
        parts[i] = MPI_INT;
    }
    if (way == 0)
        MPI_Type_create_indexed_block(n, lengths[0], places, MPI_INT, &type);
    else if (way == 1)
        MPI_Type_indexed(n, lengths, places, MPI_INT, &type);
    else if (way == 2)
        MPI_Type_create_hindexed(n, lengths, addresses, MPI_INT, &type);
    else
        MPI_Type_create_struct(n, lengths, addresses, parts, &type);
    return type;
}

static MPI_Datatype vector(uint64_t *state)
{
    static const int counts[] = {2, 3, 4, 6};
    const int n = counts[below(state, 4)], length = 12 / n, step = length + 1 + below(state, 6);
    MPI_Datatype type;

    if (below(state, 4) == 0)
        MPI_Type_vector(n, length, -step, MPI_INT, &type);
    else if (below(state, 2))
        MPI_Type_create_hvector(n, length, step * (MPI_Aint)sizeof(int), MPI_INT, &type);
    else
        MPI_Type_vector(n, length, step, MPI_INT, &type);
    return type;
}

static MPI_Datatype subarray(uint64_t *state)
{
    const int parts[3] = {2, 3, 2};
    int sizes[3], starts[3];
    MPI_Datatype type;

    for (int d = 0; d < 3; d++) {
        sizes[d] = parts[d] + below(state, 3);
        starts[d] = below(state, sizes[d] - parts[d] + 1);
    }
    MPI_Type_create_subarray(3, sizes, parts, starts,
                             below(state, 2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &type);
    return type;
}

static MPI_Datatype resized(uint64_t *state)
{
    MPI_Datatype type, part;

    MPI_Type_contiguous(12, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, (12 + below(state, 5)) * (MPI_Aint)sizeof(int), &type);
    MPI_Type_free(&part);
    return type;
}

/* So many of them, side by side or apart. */
static MPI_Datatype nested(uint64_t *state, MPI_Datatype part, int n)
{
    MPI_Aint lower, extent;
    MPI_Datatype type;

    MPI_Type_get_extent(part, &lower, &extent);
    switch (below(state, 3)) {
    case 0:
        MPI_Type_contiguous(n, part, &type);
        break;
    case 1:
        MPI_Type_vector(n / 2, 2, 3, part, &type);
        break;
    default:
        MPI_Type_create_hvector(n, 1, extent + 8 * (MPI_Aint)below(state, 3), part, &type);
        break;
    }
    MPI_Type_free(&part);
    return type;
}

static void measure(struct layout *layout)
{
    MPI_Aint lower, extent, first, length;

    MPI_Type_get_extent(layout->type, &lower, &extent);
    MPI_Type_get_true_extent(layout->type, &first, &length);
    layout->origin = first < 0 ? (size_t)-first : 0;
    layout->room = layout->origin + (size_t)(first + length + (layout->count - 1) * extent);
}

struct layout layout_draw(uint64_t *state, int n)
{
    static MPI_Datatype (*const shapes[])(uint64_t * state) = {listed, listed,   vector,
                                                               vector, subarray, resized};
    struct layout layout = {
        .type = MPI_INT, .count = 12 * n, .nbytes = 48 * (size_t)n, .room = 48 * (size_t)n};
    const int shape = below(state, 8), times = 1 << 3 * below(state, 3); /* 1, 8, 64 */

    if (shape >= 6 || n == 0)
        return layout;
    layout.derived = true;
    layout.type = shapes[shape](state);
    layout.count = n;
    if (times > 1 && n % times == 0) {
        layout.type = nested(state, layout.type, times);
        layout.count = n / times;
    }
    MPI_Type_commit(&layout.type);
    measure(&layout);
    return layout;
}

int soak_draw_twelves(uint64_t *state)
{
    switch (below(state, 6)) {
    case 0:
        return below(state, 4);
    case 1:
    case 2:
        return 8 * (1 + below(state, 60));
    case 3:
        return 64 * (1 + below(state, below(state, 8) ? 24 : 240));
    default:
        return 1 + below(state, 400);
    }
}

size_t soak_draw_size(uint64_t *state)
{
    static const int limits[] = {256, 4096, 8192, 16384, 65536, 262144, 524288, 1 << 20, 4 << 20};

    switch (below(state, 8)) {
    case 0:
        return 0;
    case 1:
        return (size_t)below(state, 64);
    case 2:
        return (size_t)below(state, 5000);
    case 3:
    case 4: /* the larger ones less often */
        return (size_t)(limits[below(state, 1 + below(state, 9))] - 1 + below(state, 3));
    case 5:
        return (size_t)below(state, below(state, 8) ? 300000 : SOAK_LARGEST);
    default:
        return (size_t)below(state, 40000);
    }
}
