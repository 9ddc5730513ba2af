/* For irregular.c: types of many small blocks, and buffers for them in both kinds of memory. */
#ifndef GPUBIND_TESTS_AWARE_IRREGULAR_H
#define GPUBIND_TESTS_AWARE_IRREGULAR_H

#include <mpi.h>

#define ROOM (1 << 20)   /* bytes of a buffer */
#define START (ROOM / 4) /* where its elements begin: displacements may be negative */

struct kind {
    const char *name;
    MPI_Datatype (*make)(void);
    int count; /* of elements */
};
extern const struct kind kinds[];
extern const int nkinds;

MPI_Datatype of_doubles(void);
MPI_Datatype of_bytes(void);
MPI_Datatype of_vectors(void);
MPI_Datatype committed(MPI_Datatype type);

struct buffers {
    char *out, *in;            /* of the GPU */
    char *sent, *got, *wanted; /* of the host */
    char *packed;
};

void make_buffers(struct buffers *b);
void free_buffers(struct buffers *b);
/* What tells a rank and a seed. */
void fill(char *bytes, int rank, int seed);
/* A rank's bytes in out, and x everywhere in in. */
void begin(struct buffers *b, int rank, int seed);
/* What that rank sends then is to be where the type has it, its first bytes, and nothing else. */
void expect(struct buffers *b, int from, MPI_Datatype sends, int nsend, MPI_Datatype gets, int nget,
            int seed);
/* Of got from wanted: the first byte, or -1. */
int difference(const struct buffers *b);

#endif
