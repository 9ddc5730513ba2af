/* Text in aligned columns. */
#include "core/base/text_table.h"

#include <stdlib.h>
#include <string.h>

int grid_make(struct grid *grid, int nrows, int ncolumns)
{
    grid->nrows = nrows;
    grid->ncolumns = ncolumns;
    grid->cell = calloc((size_t)nrows * ncolumns + 1, sizeof *grid->cell);
    grid->right = calloc((size_t)ncolumns + 1, sizeof *grid->right);
    grid->hidden = calloc((size_t)ncolumns + 1, sizeof *grid->hidden);
    return grid->cell && grid->right && grid->hidden ? 0 : -1;
}

void grid_clear(struct grid *grid)
{
    for (int i = 0; grid->cell && i < grid->nrows * grid->ncolumns; i++)
        text_clear(&grid->cell[i]);
    free(grid->cell);
    free(grid->right);
    free(grid->hidden);
    memset(grid, 0, sizeof *grid);
}

struct text *grid_at(const struct grid *grid, int row, int column)
{
    return &grid->cell[row * grid->ncolumns + column];
}

static int column_width(const struct grid *grid, int column)
{
    int width = 0;

    for (int row = 0; row < grid->nrows; row++)
        if ((int)grid_at(grid, row, column)->length > width)
            width = (int)grid_at(grid, row, column)->length;
    return width;
}

static void draw_row(const struct grid *grid, const int *width, int row, struct text *text)
{
    int last = grid->ncolumns - 1;

    while (last > 0 && grid->hidden[last])
        last--;
    for (int column = 0; column <= last; column++) {
        const char *bytes = grid_at(grid, row, column)->bytes;
        int pad = column == last && !grid->right[column] ? 0 : width[column];

        if (!grid->hidden[column])
            text_add(text, "  %*s", grid->right[column] ? pad : -pad, bytes ? bytes : "");
    }
    text_add(text, "\n");
}

void grid_draw(const struct grid *grid, struct text *text)
{
    int *width = malloc(((size_t)grid->ncolumns + 1) * sizeof *width);

    if (!width) {
        text->failed = true;
        return;
    }
    for (int column = 0; column < grid->ncolumns; column++)
        width[column] = column_width(grid, column);
    for (int row = 0; row < grid->nrows; row++)
        draw_row(grid, width, row, text);
    free(width);
}
