/* The blocks of data of any MPI type, one by one, and copies of them: for typed.c. */
#ifndef GPUBIND_AWARE_TYPED_WALK_H
#define GPUBIND_AWARE_TYPED_WALK_H

#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed.h"
#include "aware/memory/typed_shape.h"

struct walk {
    const struct typed *typed;
    char *dense;         /* or NULL: */
    char *host;          /* of the same layout */
    bool on_gpu;         /* dense is GPU memory */
    MPI_Count left;      /* bytes */
    bool out;            /* from the elements */
    bool asks;           /* nothing is copied: is a block in GPU memory? */
    typed_visit *visits; /* nor here, where it is called with each block */
    void *visitor;
    struct rows rows;    /* blocks of the GPU that are not copied yet: one copy; n 0: none */
    uint64_t allocation; /* that they lie in, where blocks have absolute addresses */
};

/* An MPI error class; *found: the walk was over before its end. */
int walk_blocks(struct walk *walk, bool *found);

#define WALK_LEVELS 4

/* Blocks of one length at up to four levels of equal distances, the innermost first. */
struct alike {
    MPI_Aint first; /* offset of the first block */
    size_t nbytes;  /* of a block */
    int nlevels;    /* 0: all of it is one block */
    struct level {
        MPI_Count n;
        MPI_Aint stride;
    } levels[WALK_LEVELS];
};

/* Of count elements of a regular shape that has data. */
struct alike walk_alike(const struct typed_shape *shape, MPI_Count count);
/* The blocks of one element of an irregular shape follow each other, and so do the elements. */
bool walk_is_adjacent(const struct typed_shape *shape, MPI_Count count);

#endif
