/* A rank's part of the grid: a strip of rows, twice, on its GPU. A step reads one array
 * and writes the other. Row 0 and row `rows` + 1 are ghost rows: they are the neighbours',
 * or the edge of the grid. The columns beside the first and the last are the edge too.
 * The edges keep their values. */
#ifndef JACOBI_STRIP_H
#define JACOBI_STRIP_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct strip {
    int rows, columns;
    int first;      /* row of the grid that row 1 is; the grid's are numbered from 1 */
    int all_rows;   /* of the grid */
    bool periodic;  /* the grid's first and last row are neighbours */
    size_t element; /* bytes: float or double */
    MPI_Datatype type;
    long pitch; /* elements from one row to the next */
    void *memory[2];
    char *cells[2]; /* row 0, column 0 of each array; a row begins at a multiple of 128 bytes */
};

/* The strip of this rank of n; all_rows is n or more. */
void strip_make(struct strip *strip, int all_rows, int columns, bool periodic, bool doubles,
                int rank, int n);
void strip_free(struct strip *strip);
/* The values of a row of the grid before the first step, from the left edge to the right
 * one: columns + 2 elements. */
void strip_first_row(const struct strip *strip, int row, void *at);
/* Both arrays as they are before the first step. */
void strip_reset(const struct strip *strip);
/* On the GPU, column 0. */
static inline void *strip_row(const struct strip *strip, int array, int row)
{
    return strip->cells[array] + (size_t)row * (size_t)strip->pitch * strip->element;
}

#endif
