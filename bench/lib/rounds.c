#include "bench/lib/rounds.h"

#include <string.h>

#include "bench/lib/ranks.h"

#define ROUNDS 4

/* One method's part. */
struct turn {
    int method, iterations; /* of all rounds */
    struct samples samples;
};

static double run(const struct rounds *rounds, const struct turn *turn)
{
    double from;

    MPI_Barrier(rounds->comm);
    from = seconds_now();
    rounds->once(rounds->work, turn->method);
    return seconds_now() - from;
}

/* The number of iterations, and the warming up. */
static void calibrate(const struct rounds *rounds, struct turn *turn)
{
    const struct bench_options *options = rounds->options;
    double took = 0, fit;
    int n = options->iterations;

    run(rounds, turn);
    /* The best of three, so that one delayed iteration does not count. */
    for (int i = 0; i < 3; i++) {
        const double now = run(rounds, turn);

        if (i == 0 || now < took)
            took = now;
    }
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, rounds->comm);
    fit = 1e-3 * options->time_ms / took;
    if (!n)
        n = fit > ROUNDS_MOST ? ROUNDS_MOST : fit < ROUNDS_LEAST ? ROUNDS_LEAST : (int)fit;
    turn->iterations = n;
    for (int i = 0; i < options->warmup && i < n; i++)
        run(rounds, turn);
    if (samples_reserve(&turn->samples, (size_t)n) < 0)
        ranks_die("out of memory");
}

static void finish(const struct rounds *rounds, struct turn *turn, struct round_result *result)
{
    struct samples *samples = &turn->samples;
    int rank;

    MPI_Comm_rank(rounds->comm, &rank);
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : samples->values, samples->values, (int)samples->n,
               MPI_DOUBLE, MPI_MAX, 0, rounds->comm);
    result->iterations = turn->iterations;
    result->us = samples_stats(samples);
    samples_clear(samples);
}

void rounds_measure(const struct rounds *rounds, const int methods[], int n,
                    struct round_result results[])
{
    struct turn turns[ROUNDS_METHODS];

    memset(turns, 0, sizeof turns);
    for (int i = 0; i < n; i++)
        turns[i].method = methods[i];
    for (int i = 0; i < n; i++)
        calibrate(rounds, &turns[i]);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < n; i++) {
            const int all = turns[i].iterations;

            run(rounds, &turns[i]);
            for (int j = all * round / ROUNDS; j < all * (round + 1) / ROUNDS; j++)
                samples_add(&turns[i].samples, run(rounds, &turns[i]));
        }
    for (int i = 0; i < n; i++)
        finish(rounds, &turns[i], &results[i]);
}
