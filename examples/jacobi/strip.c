#include "strip.h"

#include <stdlib.h>

#include "gpu.h"

enum { ALIGNED = 128 }; /* bytes: a line of the GPU's cache */

static int first_row(int all_rows, int rank, int n)
{
    return (int)((long long)all_rows * rank / n);
}

void strip_make(struct strip *strip, int all_rows, int columns, bool periodic, bool doubles,
                int rank, int n)
{
    size_t nbytes;
    int lead;

    *strip = (struct strip){
        .rows = first_row(all_rows, rank + 1, n) - first_row(all_rows, rank, n),
        .columns = columns,
        .first = first_row(all_rows, rank, n) + 1,
        .all_rows = all_rows,
        .periodic = periodic,
        .element = doubles ? sizeof(double) : sizeof(float),
        .type = doubles ? MPI_DOUBLE : MPI_FLOAT,
    };
    /* Room for the edge on the left, and on the right for it and the rest of 16 bytes. */
    lead = ALIGNED / (int)strip->element;
    strip->pitch = lead + ((long)columns + 4 + lead - 1) / lead * lead;
    nbytes = ((size_t)strip->rows + 2) * (size_t)strip->pitch * strip->element;
    for (int array = 0; array < 2; array++) {
        strip->memory[array] = gpu_alloc(nbytes);
        strip->cells[array] = (char *)strip->memory[array] + ALIGNED;
    }
}

void strip_free(struct strip *strip)
{
    for (int array = 0; array < 2; array++)
        if (strip->memory[array])
            gpu_free(strip->memory[array]);
}

/* A cell of the grid before the first step, its edges included: column -1 is the left
 * one. Neighbouring cells differ, so that a row that is missing or displaced is seen. */
static double first_value(const struct strip *strip, int row, int column)
{
    unsigned mixed;

    if (strip->periodic)
        row = (row + strip->all_rows - 1) % strip->all_rows + 1;
    if (column < 0 || column >= strip->columns)
        return column < 0 ? row % 7 : row % 5 - 2;
    if (row == 0 || row > strip->all_rows)
        return column % 11;
    mixed = (unsigned)row * 2654435761u + (unsigned)column * 2246822519u;
    return (mixed >> 24) / 256.0;
}

void strip_first_row(const struct strip *strip, int row, void *at)
{
    for (int column = -1; column <= strip->columns; column++)
        if (strip->element == sizeof(double))
            ((double *)at)[column + 1] = first_value(strip, row, column);
        else
            ((float *)at)[column + 1] = (float)first_value(strip, row, column);
}

void strip_reset(const struct strip *strip)
{
    const size_t width = (size_t)strip->columns + 2;
    char *row = malloc(width * strip->element);

    if (!row)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < strip->rows + 2; i++) {
        strip_first_row(strip, strip->first - 1 + i, row);
        for (int array = 0; array < 2; array++)
            gpu_write((char *)strip_row(strip, array, i) - strip->element, row,
                      width * strip->element);
    }
    free(row);
}
