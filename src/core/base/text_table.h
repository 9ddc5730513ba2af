/* Aligned columns of text. */
#ifndef GPUBIND_CORE_BASE_TEXT_TABLE_H
#define GPUBIND_CORE_BASE_TEXT_TABLE_H

#include <stdbool.h>

#include "core/base/text.h"

struct grid {
    int nrows, ncolumns;
    struct text *cell;
    bool *right, *hidden; /* of each column; neither, unless set */
};

/* Empty cells; -1 when there is no memory. The caller clears, then too. */
int grid_make(struct grid *grid, int nrows, int ncolumns);
void grid_clear(struct grid *grid);

struct text *grid_at(const struct grid *grid, int row, int column);

/* Two blanks before each column; nothing behind the last one. */
void grid_draw(const struct grid *grid, struct text *text);

#endif
