/* When kernels and exchanges begin and end, on which stream. */
#ifndef JACOBI_TIMELINE_H
#define JACOBI_TIMELINE_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

#include "gpu.h"

enum span_kind { SPAN_WHOLE, SPAN_BOUNDARY, SPAN_INTERIOR, SPAN_EXCHANGE };
enum { SPANS_MOST = 64, LANE_HOST = -1 };

struct timeline {
    int recording; /* 0: nothing is noted */
    int step;
    int n;
    struct span {
        enum span_kind kind;
        int lane; /* number of the stream, or LANE_HOST */
        int step;
        gpu_event begin, end;
        double host_begin, host_end; /* s, of MPI_Wtime */
    } spans[SPANS_MOST];
    gpu_event zero;
    double host_zero;
};

void timeline_make(struct timeline *timeline);
void timeline_free(struct timeline *timeline);
/* The times that follow are counted from here. The stream has no work. */
void timeline_start(struct timeline *timeline, gpu_stream stream, MPI_Comm comm);
/* Around what is queued in the stream, or, with LANE_HOST, what the host waits for. Every
 * begin has its end before the next begin. */
void timeline_begin(struct timeline *timeline, enum span_kind kind, int lane, gpu_stream stream);
void timeline_end(struct timeline *timeline, gpu_stream stream);
/* Collective: all ranks' spans as lines of CSV, by rank 0 into file. All work is done. */
void timeline_write(struct timeline *timeline, const char *version, MPI_Comm comm, FILE *file);

#endif
