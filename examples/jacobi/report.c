#include "report.h"

#include <stdio.h>

static const char *type_name(const struct strip *strip)
{
    return strip->element == sizeof(double) ? "double" : "float";
}

/* An element is read and one written for each cell. */
static double gigabytes(const struct job *job, double us)
{
    double cells = (double)job->strip.all_rows * job->strip.columns / job->n;

    return 1e-3 * 2 * cells * (double)job->strip.element / us;
}

static void print_csv(const struct job *job, const struct options *options,
                      const struct result *results, int n)
{
    const struct strip *s = &job->strip;

    printf("version,ranks,rows,columns,type,compute,norm_every,steps,us,us_alone,exposed_us,"
           "ratio,norm\n");
    for (int i = 0; i < n; i++) {
        const struct result *r = &results[i];

        printf("%s%s,%d,%d,%d,%s,%s,%d,%d,%.3f,", r->version->name, options->graph ? " graph" : "",
               job->n, s->all_rows, s->columns, type_name(s), job->compute->name,
               options->norm_every, options->steps, r->us);
        if (r->us_alone >= 0)
            printf("%.3f,%.3f", r->us_alone, r->us - r->us_alone);
        else
            printf(",");
        printf(",%.4f,", r->us / results[0].us);
        if (r->norm >= 0)
            printf("%.9g", r->norm);
        printf("\n");
    }
}

static void print_result(const struct job *job, const struct options *options,
                         const struct result *first, const struct result *r)
{
    char exposed[32] = "-", norm[32] = "-";

    if (r->us_alone >= 0)
        snprintf(exposed, sizeof exposed, "%.2f", r->us - r->us_alone);
    if (r->norm >= 0)
        snprintf(norm, sizeof norm, "%.6g", r->norm);
    printf("%-12s %10.2f %7.3f %12s %9.0f %12s", r->version->name, r->us, r->us / first->us,
           exposed, gigabytes(job, r->us), norm);
    if (options->check && r->wrong)
        printf("  %lld cells are wrong", r->wrong);
    else if (options->check)
        printf("  right");
    printf("\n");
}

void report_print(const struct job *job, const struct options *options,
                  const struct result *results, int n)
{
    const struct strip *s = &job->strip;

    if (options->csv) {
        print_csv(job, options, results, n);
        return;
    }
    printf("%d x %d cells of type %s%s, %d %s, %d steps on %s, kernels by the %s%s%s\n",
           s->all_rows, s->columns, type_name(s), s->periodic ? ", periodic" : "", job->n,
           job->n > 1 ? "ranks" : "rank", options->steps, gpu_name(), job->compute->name,
           options->graph ? ", in a graph" : "", options->no_exchange ? ", no messages" : "");
    printf("%-12s %10s %7s %12s %9s %12s\n", "version", "us a step", "ratio", "exposed us", "GB/s",
           "norm");
    for (int i = 0; i < n; i++)
        print_result(job, options, &results[0], &results[i]);
    printf("ratio: to the first. exposed: what the messages add. GB/s: of each GPU's memory.\n");
}
