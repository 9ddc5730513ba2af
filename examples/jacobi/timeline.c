#include "timeline.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 128 }; /* characters of a line of CSV at most */

static const char *const kinds[] = {"whole", "boundary", "interior", "exchange"};

void timeline_make(struct timeline *timeline)
{
    memset(timeline, 0, sizeof *timeline);
    timeline->zero = gpu_event_make(true);
    for (int i = 0; i < SPANS_MOST; i++) {
        timeline->spans[i].begin = gpu_event_make(true);
        timeline->spans[i].end = gpu_event_make(true);
    }
}

void timeline_free(struct timeline *timeline)
{
    for (int i = 0; i < SPANS_MOST; i++) {
        gpu_event_free(timeline->spans[i].begin);
        gpu_event_free(timeline->spans[i].end);
    }
    gpu_event_free(timeline->zero);
}

void timeline_start(struct timeline *timeline, gpu_stream stream, MPI_Comm comm)
{
    timeline->n = 0;
    MPI_Barrier(comm);
    gpu_record(timeline->zero, stream);
    while (!gpu_reached(timeline->zero))
        ;
    timeline->host_zero = MPI_Wtime();
}

void timeline_begin(struct timeline *timeline, enum span_kind kind, int lane, gpu_stream stream)
{
    struct span *span = &timeline->spans[timeline->n];

    if (!timeline->recording || timeline->n == SPANS_MOST)
        return;
    span->kind = kind;
    span->lane = lane;
    span->step = timeline->step;
    span->host_begin = MPI_Wtime();
    if (lane != LANE_HOST)
        gpu_record(span->begin, stream);
}

void timeline_end(struct timeline *timeline, gpu_stream stream)
{
    struct span *span = &timeline->spans[timeline->n];

    if (!timeline->recording || timeline->n == SPANS_MOST)
        return;
    timeline->n++;
    span->host_end = MPI_Wtime();
    if (span->lane != LANE_HOST)
        gpu_record(span->end, stream);
}

/* Appends a line; returns its length. */
static int write_span(const struct timeline *timeline, const struct span *span, const char *version,
                      int rank, char *text)
{
    double begin = 1e6 * (span->host_begin - timeline->host_zero);
    double end = 1e6 * (span->host_end - timeline->host_zero);
    char lane[16] = "host";

    if (span->lane != LANE_HOST) {
        begin = gpu_us_between(timeline->zero, span->begin);
        end = gpu_us_between(timeline->zero, span->end);
        snprintf(lane, sizeof lane, "stream %d", span->lane);
    }
    return snprintf(text, LINE, "%s,%d,%d,%s,%s,%.2f,%.2f\n", version, rank, span->step, lane,
                    kinds[span->kind], begin, end);
}

void timeline_write(struct timeline *timeline, const char *version, MPI_Comm comm, FILE *file)
{
    char text[SPANS_MOST * LINE] = "", *all = NULL;
    int length = 0, rank, n;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n);
    for (int i = 0; i < timeline->n; i++)
        length += write_span(timeline, &timeline->spans[i], version, rank, text + length);
    if (rank == 0)
        all = malloc((size_t)n * sizeof text);
    if (rank == 0 && !all)
        MPI_Abort(comm, 1);
    MPI_Gather(text, sizeof text, MPI_CHAR, all, sizeof text, MPI_CHAR, 0, comm);
    for (int i = 0; rank == 0 && i < n; i++)
        fputs(all + (size_t)i * sizeof text, file);
    free(all);
}
