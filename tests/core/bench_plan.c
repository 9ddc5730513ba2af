/* How long plan_make takes: 256 ranks, 256 cores, 16 GPUs. Not a test: nothing is
 * asserted. By hand: make tests/core/bench_plan && tests/core/bench_plan [RUNS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/cases.h"

#define RANKS 256

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const char *what, const struct node *node, const struct job *job, int runs)
{
    double *took = malloc((size_t)runs * sizeof *took);
    struct policy policy;

    policy_default(&policy);
    for (int i = 0; i < runs; i++) {
        struct plan plan;
        struct gpubind_error err;
        double start = now_us();
        int status = plan_make(node, job, &policy, &plan, &err);

        took[i] = now_us() - start;
        if (status < 0) {
            fprintf(stderr, "%s\n", err.text);
            exit(1);
        }
        plan_clear(&plan);
    }
    qsort(took, (size_t)runs, sizeof *took, by_size);
    printf("%-28s min %7.0f us, median %7.0f us, %d runs\n", what, took[0], took[runs / 2], runs);
    free(took);
}

int main(int argc, char **argv)
{
    static const int numa[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7};
    const struct drawing drawing = {2, 4, 32, 2, 16, numa};
    struct dice dice = {7};
    struct node node;
    struct job job;
    int runs = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 200;

    node_draw(&drawing, &node);
    job_unbound(&node, RANKS, &job);
    measure("256 ranks, not bound", &node, &job, runs);
    job_bind(&dice, &node, BOUND_CORES, &job);
    measure("256 ranks, 256 bindings", &node, &job, runs);
    job_bind(&dice, &node, BOUND_REVERSED, &job);
    measure("256 ranks, reversed", &node, &job, runs);
    job_bind(&dice, &node, BOUND_NUMAS, &job);
    measure("256 ranks, 8 NUMA nodes", &node, &job, runs);
    job_clear(&job);
    node_clear(&node);
    return 0;
}
