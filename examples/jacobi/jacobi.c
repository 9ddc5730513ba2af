/* Jacobi's method on a grid in strips of rows, one a GPU, with its edges exchanged in five
 * ways, each of which hides more of the messages behind the kernels than the one before.
 * README says how to build and run it; versions.c has what is worth copying. */
#include <gpubind.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "check.h"
#include "report.h"

/* One sentence, by the rank that speaks for all. Returns status. */
static int complain(bool speaks, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int complain(bool speaks, int status, const char *format, ...)
{
    va_list arguments;

    if (!speaks)
        return status;
    fprintf(stderr, "jacobi: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    return status;
}

static int local_rank(void)
{
    MPI_Comm node;
    int local;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &local);
    MPI_Comm_free(&node);
    return local;
}

/* Every rank comes to the same answer. Returns 0, or the status to end with. */
static int choose_compute(struct job *job, const struct options *options)
{
    const char *why = "", *wanted = options->compute;
    int works, all_work;

    job->compute = &compute_gpu;
    works = wanted[0] != 'h' && compute_gpu.start(&job->strip, options->march, &why);
    MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_MIN, job->comm);
    if (all_work)
        return 0;
    if (wanted[0] == 'g' || options->graph)
        return complain(job->rank == 0, 1, "no kernels: %s", *why ? why : "another rank has none");
    if (works)
        compute_gpu.end();
    job->compute = &compute_host;
    compute_host.start(&job->strip, 0, &why);
    return 0;
}

static void make_streams(struct job *job)
{
    for (int i = 0; i < STREAMS; i++) {
        job->stream[i] = gpu_stream_make(i != INNER);
        job->computed[i] = gpu_event_make(false);
        job->exchanged[i] = gpu_event_make(false);
    }
    for (int i = 0; i < CHANGES; i++)
        job->collected[i] = gpu_event_make(false);
}

static void free_streams(struct job *job)
{
    for (int i = 0; i < STREAMS; i++) {
        gpu_stream_free(job->stream[i]);
        gpu_event_free(job->computed[i]);
        gpu_event_free(job->exchanged[i]);
    }
    for (int i = 0; i < CHANGES; i++)
        gpu_event_free(job->collected[i]);
}

/* Runs the versions that were asked for, then notes their timelines. Returns the status
 * to end with. */
static int run_versions(struct job *job, const struct options *options, FILE *timeline)
{
    struct result results[VERSIONS];
    struct reference reference;
    int n = 0, status = 0;

    if (options->check)
        reference_make(&reference, job, options);
    for (int i = 0; i < VERSIONS; i++) {
        if (options->version >= 0 && i != options->version)
            continue;
        run_version(job, &versions[i], options, &results[n]);
        if (options->check)
            results[n].wrong = reference_compare(&reference, job, results[n].norm);
        status |= results[n].wrong > 0;
        n++;
    }
    if (options->check)
        reference_free(&reference);
    if (job->rank == 0)
        report_print(job, options, results, n);
    for (int i = 0; options->timeline && i < VERSIONS; i++)
        if (options->version < 0 || i == options->version)
            run_timeline(job, &versions[i], timeline);
    return status;
}

/* What the grid and the ranks do not allow. Returns 0, or the status to end with. */
static int check_grid(const struct job *job, const struct options *options, int *rows)
{
    const long long all = options->per_gpu ? (long long)options->rows * job->n : options->rows;
    const bool speaks = job->rank == 0;

    *rows = (int)all;
    if (all < job->n)
        return complain(speaks, 2, "--size: %lld rows are less than %d ranks", all, job->n);
    if (all > 100000000)
        return complain(speaks, 2, "--per-gpu: %lld rows in all are more than 100000000", all);
    if (options->check && all * options->columns > CHECK_MOST)
        return complain(speaks, 2, "--check: %lld x %d cells are more than %d", all,
                        options->columns, (int)CHECK_MOST);
    if (options->graph && !gpu_has_graphs())
        return complain(speaks, 1, "--graph: this driver has no graphs");
    return 0;
}

/* On the ranks that have a GPU. */
static int run(struct job *job, const struct options *options)
{
    FILE *timeline = NULL;
    int rows, status;

    MPI_Comm_rank(job->comm, &job->rank);
    MPI_Comm_size(job->comm, &job->n);
    status = check_grid(job, options, &rows);
    if (!status && options->timeline && job->rank == 0) {
        timeline = fopen(options->timeline, "w");
        if (!timeline)
            status = complain(true, 2, "--timeline: '%s' cannot be written", options->timeline);
        else
            fprintf(timeline, "version,rank,step,lane,kind,begin_us,end_us\n");
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, job->comm);
    if (status)
        return status;

    gpubind_neighbors(job->comm, options->periodic, &job->north, &job->south);
    strip_make(&job->strip, rows, options->columns, options->periodic, options->doubles, job->rank,
               job->n);
    status = choose_compute(job, options);
    if (!status) {
        make_streams(job);
        timeline_make(&job->timeline);
        status = run_versions(job, options, timeline);
        timeline_free(&job->timeline);
        free_streams(job);
        job->compute->end();
    }
    if (timeline && fclose(timeline) != 0)
        status = complain(true, 1, "--timeline: '%s' cannot be written", options->timeline);
    return status;
}

/* Every rank of the job; those without a GPU take no part. */
static int start(const struct options *options, int rank)
{
    struct job job = {.comm = MPI_COMM_NULL};
    const int local = local_rank(), found = gpu_find();
    int status = 0, any, worst;

    MPI_Allreduce(&found, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any)
        return complain(rank == 0, 1, "no rank has a GPU");
    if (found)
        gpu_take(local);
    gpubind_comm_gpus(MPI_COMM_WORLD, &job.comm);
    if (job.comm != MPI_COMM_NULL && !found) {
        complain(true, 1, "rank %d: its CUDA driver lacks calls", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (job.comm != MPI_COMM_NULL) {
        status = run(&job, options);
        MPI_Comm_free(&job.comm);
    }
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    gpubind_finalize(); /* no rank maps the memory of another any more */
    strip_free(&job.strip);
    return worst;
}

int main(int argc, char **argv)
{
    struct options options;
    char text[256];
    int status = 0, rank, provided;

    /* Messages on streams to other nodes need threads. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (options_read(&options, argc, argv, text, sizeof text) < 0)
        status = complain(rank == 0, 2, "%s", text);
    else if (!options.help)
        status = start(&options, rank);
    else if (rank == 0)
        options_help(stdout);
    MPI_Finalize();
    return status;
}
