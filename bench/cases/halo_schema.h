/* The table of the subcommand halo. */
#ifndef GPUBIND_BENCH_CASES_HALO_SCHEMA_H
#define GPUBIND_BENCH_CASES_HALO_SCHEMA_H

#include "bench/output/table.h"

extern const struct table_schema halo_schema;

enum halo_column {
    HALO_CASE, /* grid, borders and neighbours in one phrase */
    HALO_GRID,
    HALO_BORDERS,
    HALO_TURN,
    HALO_RANKS,
    HALO_PLACES,
    HALO_CELLS,
    HALO_WAY,
    HALO_BYTES,
    HALO_TIMES,
    HALO_US,
    HALO_GB_PER_S,
    HALO_DATA,
    HALO_COLUMNS
};

/* One row: one method on one grid. */
struct halo_row {
    const char *grid, *way;
    bool meets, in_turn; /* periodic; whether neighbours exchange in turn, without a handshake */
    int ndims;
    const int *cells, *places; /* of a rank; of the ranks */
    int nranks, times;
    double bytes, us; /* of an exchange */
    bool wrong;
};
void halo_add_row(struct table *table, const struct halo_row *row);

#endif
