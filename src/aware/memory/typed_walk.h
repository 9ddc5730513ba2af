/* The blocks of data of any MPI type, one by one, and copies of them: for typed.c. */
#ifndef GPUBIND_AWARE_TYPED_WALK_H
#define GPUBIND_AWARE_TYPED_WALK_H

#include "aware/memory/gpu_buffer.h"
#include "aware/memory/typed.h"
#include "mpi/datatype/type_flatten.h"

struct walk {
    const struct typed *typed;
    char *dense;         /* or NULL: */
    char *host;          /* of the same layout */
    bool on_gpu;         /* dense is GPU memory */
    MPI_Count left;      /* bytes */
    bool out;            /* from the elements */
    bool asks;           /* nothing is copied: is a block in GPU memory? */
    struct rows rows;    /* blocks of the GPU that are not copied yet: one copy; n 0: none */
    uint64_t allocation; /* that they lie in, where blocks have absolute addresses */
};

/* An MPI error class; *found: the walk was over before its end. */
int walk_blocks(struct walk *walk, bool *found);

/* The blocks of one element follow each other, and so do the elements. */
bool are_adjacent(const struct type_parts *parts, MPI_Count count, MPI_Count extent);

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

/* false: they are not. */
bool find_alike(const struct typed *typed, struct alike *alike);

#endif
