#include "graph.h"

enum { AHEAD = 16 }; /* pairs of steps; at most twice that are queued */

/* Two graphs in turn with sums of changes, so that the host reads those of one while the
 * other runs: the pth has sums 2 p and 2 p + 1. */
struct graphs {
    gpu_graph plain, with_sums[2];
    gpu_event done[2], fetched[2];
    bool both; /* steps of a pair have sums, else the second one */
    int made, got;
};

/* Two steps from the array on. changes: of the two, -1: none. */
static gpu_graph capture(struct job *job, const struct version *version, int from,
                         const int changes[2])
{
    gpu_stream first = job->stream[NORTH];
    gpu_graph graph;

    gpu_capture(first);
    /* In a graph events are those of the graph: all that are waited for begin here. */
    gpu_record(job->computed[NORTH], first);
    gpu_after(job->stream[INNER], job->computed[NORTH]);
    gpu_record(job->computed[INNER], job->stream[INNER]);
    for (int i = 0; i < 2; i++) {
        if (changes[i] < 0)
            continue;
        gpu_after(job->stream[CHANGE], job->computed[NORTH]);
        gpu_record(job->collected[changes[i]], job->stream[CHANGE]);
    }
    for (int i = 0; i < 2; i++) {
        version->step(job, (struct step){i ? 1 - from : from, changes[i]});
        if (changes[i] >= 0)
            norms_fetch(job, version, changes[i]);
    }
    gpu_record(job->computed[INNER], job->stream[INNER]);
    gpu_after(first, job->computed[INNER]);
    for (int i = 0; i < 2; i++)
        if (changes[i] >= 0)
            gpu_after(first, job->collected[changes[i]]);
    graph = gpu_captured(first);

    gpu_record(job->computed[NORTH], first);
    gpu_record(job->computed[INNER], job->stream[INNER]);
    for (int i = 0; i < CHANGES; i++)
        gpu_record(job->collected[i], job->stream[CHANGE]);
    return graph;
}

static void make(struct graphs *graphs, struct job *job, const struct version *version, int from,
                 int norm_every)
{
    *graphs = (struct graphs){.both = norm_every == 1};
    if (norm_every != 1)
        graphs->plain = capture(job, version, from, (const int[]){-1, -1});
    for (int i = 0; i < 2; i++) {
        const int changes[] = {graphs->both ? 2 * i : -1, 2 * i + 1};

        graphs->done[i] = gpu_event_make(false);
        graphs->fetched[i] = gpu_event_make(false);
        if (norm_every)
            graphs->with_sums[i] = capture(job, version, from, changes);
    }
}

static void end(const struct graphs *graphs)
{
    if (graphs->plain)
        gpu_graph_free(graphs->plain);
    for (int i = 0; i < 2; i++) {
        gpu_event_free(graphs->done[i]);
        gpu_event_free(graphs->fetched[i]);
        if (graphs->with_sums[i])
            gpu_graph_free(graphs->with_sums[i]);
    }
}

static void take_oldest(struct graphs *graphs, const struct job *job, struct norms *norms)
{
    const int i = graphs->got++ % 2;

    wait_for_event(graphs->fetched[i]);
    if (graphs->both)
        norms_take(norms, job, 2 * i);
    norms_take(norms, job, 2 * i + 1);
}

static void replay(struct graphs *graphs, const struct job *job, struct norms *norms, bool sums,
                   int pair)
{
    gpu_stream in = job->stream[NORTH];

    if (sums) {
        gpu_replay(graphs->with_sums[graphs->made % 2], in);
        gpu_record(graphs->fetched[graphs->made++ % 2], in);
        if (graphs->made - graphs->got == 2)
            take_oldest(graphs, job, norms);
        return;
    }
    gpu_replay(graphs->plain, in);
    if (pair % AHEAD)
        return;
    gpu_record(graphs->done[pair / AHEAD % 2], in);
    wait_for_event(graphs->done[(pair / AHEAD + 1) % 2]);
}

double graph_steps(struct job *job, const struct version *version, int steps, int norm_every,
                   struct norms *norms)
{
    struct graphs graphs;
    double s;

    wait_for_stream(job->stream[INNER]);
    wait_for_stream(job->stream[NORTH]);
    make(&graphs, job, version, norms->from, norm_every);
    MPI_Barrier(job->comm);
    s = MPI_Wtime();
    for (int pair = 0; pair < steps / 2; pair++) {
        bool sums = norm_every && (pair + 1) * 2 % norm_every == 0;

        replay(&graphs, job, norms, sums, pair);
    }
    while (graphs.got < graphs.made)
        take_oldest(&graphs, job, norms);
    wait_for_stream(job->stream[NORTH]);
    s = MPI_Wtime() - s;
    end(&graphs);
    return s;
}
