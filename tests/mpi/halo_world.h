/* A global array in a serial program's view, and this rank's part of it with ghost cells:
 * what the library's halo is compared with. */
#ifndef GPUBIND_TESTS_MPI_HALO_WORLD_H
#define GPUBIND_TESTS_MPI_HALO_WORLD_H

#include "tests/mpi/job.h"

#define WORLD_ARRAYS 4

struct world {
    struct gpubind_halo_grid grid; /* of this rank; ranks are given */
    bool uneven;                   /* ranks have different cells */
    int base[3];                   /* cells of the first rank along each dimension */
    int narrays;
    enum memory kind;
    /* made by world_make */
    int place[3], total[3], from[3], length[3];
    int element_nbytes;
    size_t nbytes; /* of an array */
    struct buffer arrays[WORLD_ARRAYS];
    char *before, *after; /* an array on the host */
    void *at[WORLD_ARRAYS];
    gpubind_halo halo;
    gpubind_stream stream;
    struct CUgraphExec_st *graph; /* by world_make_graph */
};

/* For the place that rank number me of the grid has: cells, arrays, and the halo; its
 * stream waits for nobody. A pitch is how many elements behind a row are padding. false:
 * gpubind_halo_create fails. */
bool world_make(struct world *world, MPI_Comm comm, int me);
/* Frees the halo too. */
void world_clear(struct world *world);
/* Writes the values of that step into the array's own cells, and nothing else. */
void world_fill(struct world *world, int array, int step);
/* The same as bytes, of the whole array. */
void world_image(const struct world *world, char *image, int step);
/* The array has that step's values in its own cells, and after its exchange also in its
 * ghost cells. */
bool world_holds(const struct world *world, const void *array, int step, const char *what);

/* On the stream; false: this is not possible at MPI's thread level. */
bool world_queue(struct world *world, int array);
/* By start and wait, or on the stream and then waiting for that. */
void world_exchange(struct world *world, int array, bool on_stream);
/* A round of exchanges, each array once, as a graph; false: it cannot be captured. */
bool world_make_graph(struct world *world);
void world_run_graph(struct world *world);
void world_end_graph(struct world *world);

#endif
