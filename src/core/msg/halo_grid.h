/* A grid of cells that is spread over ranks: who is whose neighbour, and which cells go
 * from whom to whom. All lengths are in elements. */
#ifndef GPUBIND_CORE_MSG_HALO_GRID_H
#define GPUBIND_CORE_MSG_HALO_GRID_H

#include <stdint.h>

#include "core/base/error.h"

enum { HALO_DIMS = 3, HALO_NEIGHBORS = 26 };

/* The numbers of one rank. Dimensions from ndims on are 1 rank with 1 cell, so that
 * no caller has to look at ndims: see halo_grid_fill. */
struct halo_grid {
    int ndims;
    int ranks[HALO_DIMS];    /* 0: to be chosen */
    int periodic[HALO_DIMS]; /* 0 or 1 */
    int cells[HALO_DIMS];    /* of this rank */
    int width[HALO_DIMS];    /* ghost cells on either side */
    int pitch;               /* of rows, that is of the last dimension */
    int corners;             /* 0 or 1 */
    int in_turn;
    int narrays;
    int nbytes; /* of an element */
    int base;   /* 1: the program is in Fortran, which counts from 1, and whose
                              * first dimension lies together in memory: it is the last here */
};

/* A part of the array of a rank, counted with its ghost cells. */
struct halo_box {
    int at[HALO_DIMS], extent[HALO_DIMS];
};

/* What a rank exchanges with the neighbour at an offset of -1, 0 or 1 along each
 * dimension. What one sends with code c, the other receives from the opposite side. */
struct halo_neighbor {
    int offset[HALO_DIMS];
    int rank; /* the rank itself, perhaps; or one that is a neighbour elsewhere too */
    struct halo_box send, receive;
    int send_code, receive_code; /* of the direction of the message: 0 to 26 */
};

/* Completes what the caller has set for its ndims: the other dimensions, a pitch of 0,
 * truth as 0 or 1. -1 and a sentence: the numbers of this rank make no sense. */
int halo_grid_fill(struct halo_grid *grid, struct gpubind_error *err);
/* Chooses ranks where they are 0: of all that are possible, those with the smallest sum,
 * in falling order; a dimension of width 0 is not cut, unless there is no other. -1 and a
 * sentence: they do not come out as nranks. */
int halo_grid_spread(struct halo_grid *grid, int nranks, struct gpubind_error *err);
/* All nranks, before they are spread, have the same but for cells and pitch, and can be
 * spread; where they are neighbours, the sides that they exchange are of one size. names:
 * what the ranks are called in the sentence. */
int halo_grid_agree(const struct halo_grid *grids, const int *names, int nranks,
                    struct gpubind_error *err);

/* The dimension that the program calls i, from 0; and the other way round. */
int halo_grid_dim(const struct halo_grid *grid, int i);
/* What the program calls a number along a dimension: "cells[0]", or "cells(2)". */
struct halo_name {
    char text[24];
};
struct halo_name halo_grid_name(const struct halo_grid *grid, const char *what, int dim);

/* The program's last dimension runs fastest. */
void halo_grid_place(const struct halo_grid *grid, int rank, int place[HALO_DIMS]);
/* The rank at an offset from a rank; -1: none. */
int halo_grid_rank_at(const struct halo_grid *grid, int rank, const int offset[HALO_DIMS]);
/* Those that the rank exchanges anything with; returns how many. */
int halo_grid_neighbors(const struct halo_grid *grid, int rank,
                        struct halo_neighbor neighbors[HALO_NEIGHBORS]);
/* Elements along a dimension with ghost cells; along the last, the pitch. */
int halo_grid_length(const struct halo_grid *grid, int dim);

#endif
