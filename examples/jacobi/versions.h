/* Five ways to exchange the rows at the edges of the strips and compute; the numbers are
 * the same. */
#ifndef JACOBI_VERSIONS_H
#define JACOBI_VERSIONS_H

#include <gpubind.h>

#include "compute.h"
#include "timeline.h"

/* Streams: of the rows at the edges, of those inside, and of the change of the grid. */
enum { NORTH, SOUTH, INNER, CHANGE };

/* What a rank works with. */
struct job {
    struct strip strip;
    const struct compute *compute;
    MPI_Comm comm; /* the ranks that have a GPU */
    int rank, n, north, south;
    bool exchange; /* false: no messages, to see what they cost */
    gpu_stream stream[STREAMS];
    gpu_event computed[STREAMS];  /* the last kernel of the stream is done */
    gpu_event exchanged[STREAMS]; /* the last exchange in the stream is done */
    gpu_event collected[CHANGES]; /* that sum of changes is where the host finds it */
    gpubind_halo halo;
    int array; /* that holds the result of the last run */
    struct timeline timeline;
};

struct step {
    int from;   /* the array that is read; the other is written */
    int change; /* number of the sum that the changes are added to, -1: none */
};

struct version {
    const char *name, *what;
    unsigned streams; /* that compute, as bits */
    bool can_be_graph;
    void (*start)(struct job *job); /* collective; may be NULL */
    void (*step)(struct job *job, struct step step);
    void (*end)(struct job *job);
};

enum { VERSIONS = 5 };
extern const struct version versions[VERSIONS];

/* Waits, and lets messages go on. */
void wait_for_event(gpu_event event);
void wait_for_stream(gpu_stream stream);

#endif
