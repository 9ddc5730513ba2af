#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "relax.h"

static void *must_allocate(size_t nbytes)
{
    void *memory = malloc(nbytes);

    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return memory;
}

/* Bytes of a row with its edges. */
static size_t row_bytes(const struct strip *strip)
{
    return ((size_t)strip->columns + 2) * strip->element;
}

/* A step of the whole grid; returns the sum of the squared changes. */
static double relax_all(const struct strip *strip, char *from, char *to)
{
    const size_t width = row_bytes(strip);
    double squares = 0;

    if (strip->periodic) {
        memcpy(from, from + (size_t)strip->all_rows * width, width);
        memcpy(from + ((size_t)strip->all_rows + 1) * width, from + width, width);
    }
    for (size_t row = 1; row <= (size_t)strip->all_rows; row++) {
        const char *here = from + row * width + strip->element;
        char *target = to + row * width + strip->element;

        if (strip->element == sizeof(double))
            squares += relax_doubles((const double *)(here - width), (const double *)here,
                                     (const double *)(here + width), (double *)target,
                                     strip->columns);
        else
            squares += relax_floats((const float *)(here - width), (const float *)here,
                                    (const float *)(here + width), (float *)target, strip->columns);
    }
    return squares;
}

void reference_make(struct reference *reference, const struct job *job,
                    const struct options *options)
{
    const struct strip *strip = &job->strip;
    const size_t width = row_bytes(strip), nbytes = ((size_t)strip->all_rows + 2) * width;
    char *from, *to;

    *reference = (struct reference){NULL, -1};
    if (job->rank > 0)
        return;
    from = must_allocate(nbytes);
    to = must_allocate(nbytes);
    for (int row = 0; row < strip->all_rows + 2; row++)
        strip_first_row(strip, row, from + (size_t)row * width);
    memcpy(to, from, nbytes);
    for (int i = 0; i < options->warmup + options->steps; i++) {
        double squares = relax_all(strip, from, to);
        char *old = from;

        if (options->norm_every && i >= options->warmup &&
            (i - options->warmup + 1) % options->norm_every == 0)
            reference->norm = sqrt(squares);
        from = to;
        to = old;
    }
    free(to);
    reference->rows = from;
}

void reference_free(struct reference *reference)
{
    free(reference->rows);
}

/* Rank 0 gets the rows of all ranks without their edges; NULL on the others. */
static char *gather(const struct job *job)
{
    const struct strip *strip = &job->strip;
    const int width = strip->columns * (int)strip->element;
    const int mine = strip->rows * width;
    int *counts = must_allocate((size_t)job->n * sizeof *counts);
    int *places = must_allocate((size_t)job->n * sizeof *places);
    char *rows = must_allocate((size_t)mine), *all = NULL;

    for (int row = 0; row < strip->rows; row++)
        gpu_read(rows + (size_t)row * (size_t)width, strip_row(strip, job->array, row + 1),
                 (size_t)width);
    MPI_Gather(&mine, 1, MPI_INT, counts, 1, MPI_INT, 0, job->comm);
    for (int i = 0, place = 0; job->rank == 0 && i < job->n; place += counts[i++])
        places[i] = place;
    if (job->rank == 0)
        all = must_allocate((size_t)strip->all_rows * (size_t)width);
    MPI_Gatherv(rows, mine, MPI_BYTE, all, counts, places, MPI_BYTE, 0, job->comm);
    free(rows);
    free(places);
    free(counts);
    return all;
}

static bool is_near(const struct strip *strip, double norm, double wanted)
{
    const double share = strip->element == sizeof(double) ? 1e-10 : 1e-4;

    return fabs(norm - wanted) <= share * fabs(wanted);
}

long long reference_compare(const struct reference *reference, const struct job *job, double norm)
{
    const struct strip *strip = &job->strip;
    const size_t element = strip->element, width = (size_t)strip->columns * element;
    long long wrong = 0;
    char *all = gather(job);

    if (job->rank > 0)
        return 0;
    for (size_t row = 0; row < (size_t)strip->all_rows; row++) {
        const char *wanted = reference->rows + (row + 1) * (width + 2 * element) + element;

        for (size_t at = 0; at < width; at += element)
            wrong += memcmp(all + row * width + at, wanted + at, element) != 0;
    }
    free(all);
    return wrong + !is_near(strip, norm, reference->norm);
}
