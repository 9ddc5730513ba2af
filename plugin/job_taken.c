/* Which GPUs are taken for a job: those of the ranks that spawned it; with the site's setting
 * exclusive, those of all other jobs. */
#include <stdio.h>
#include <string.h>

#include "host/discover/nvidia.h"
#include "host/launch/visible_gpus.h"
#include "plugin/job.h"

/* Jobs that spawn jobs; a job that is its own ancestor must not loop forever. */
#define MAX_GENERATIONS 64

struct plugin_job *plugin_job_find(struct plugin_job *jobs, const char *name)
{
    while (jobs && strcmp(jobs->info.name, name) != 0)
        jobs = jobs->next;
    return jobs;
}

/* The job that spawned this one, or the one that spawned that, as far as they
 * are here. */
static const char *family(const struct plugin_job *job, struct plugin_job *jobs)
{
    const char *name = job->info.name;

    for (int depth = 0; depth < MAX_GENERATIONS && job && *job->info.parent; depth++) {
        name = job->info.parent;
        job = plugin_job_find(jobs, name);
    }
    return name;
}

/* Whether the GPUs of the other job's ranks come last for this one's. Of two that
 * have not started yet, the older one goes first; it looks again when it starts. */
static bool gives_way(const struct plugin_job *job, const struct plugin_job *other, bool is_older,
                      struct plugin_job *jobs)
{
    if (!other->planned)
        return false;
    if (job->view.exclusive)
        return is_older || other->started;
    if (!job->info.spawned)
        return false;
    return !*job->info.parent || strcmp(family(job, jobs), family(other, jobs)) == 0;
}

/* What a rank without a plan of ours sees, if it has a list of its own: without one that is
 * all of the node, of which an unknown part is used. */
static void add_seen(const struct node *node, const struct idset *minors, const char *list,
                     struct taken *taken)
{
    enum gpu_vendor vendor = node->gpus[0].vendor;
    struct gpubind_error err;
    struct facts facts = {.minors = *minors};
    struct idset seen;

    if (!list)
        return;
    facts.has_visible[vendor] = true;
    facts.visible[vendor] = list;
    if (visible_gpus_of_rank(node, &facts, &seen, &err) < 0)
        return;
    for (int g = idset_next(&seen, -1); g >= 0; g = idset_next(&seen, g))
        taken[g].ranks++;
}

/* The other job's node may have fewer GPUs: those that the job sees. */
static void add_planned(const struct node *node, const struct placement *other,
                        const struct plan_rank *rank, struct taken *taken)
{
    for (int i = 0; i < rank->ngpus; i++) {
        const struct gpu *gpu = &other->node.gpus[rank->gpus[i]];

        for (int g = 0; g < node->ngpus; g++)
            taken[g].ranks += strcmp(taken[g].pci, gpu->pci) == 0 &&
                              strcmp(taken[g].uuid, gpu->uuid) == 0 && taken[g].part == gpu->part;
    }
}

static void add_ranks(const struct node *node, const struct plugin_job *other, struct taken *taken)
{
    struct idset minors;
    bool has_minors = false;

    for (int r = 0; r < other->info.nranks; r++) {
        const struct local_rank *rank = &other->info.ranks[r];
        const struct plan_rank *planned = plan_find(&other->placement.plan, rank->local);

        if (rank->unmanaged && !has_minors)
            nvidia_minors("", &minors);
        has_minors |= rank->unmanaged;
        if (rank->unmanaged)
            add_seen(node, &minors, rank->visible, taken);
        else if (planned)
            add_planned(node, &other->placement, planned, taken);
    }
}

void plugin_job_taken(const struct plugin_job *job, struct plugin_job *jobs,
                      const struct node *node, struct taken *taken)
{
    bool is_older = false;

    memset(taken, 0, (size_t)node->ngpus * sizeof *taken);
    for (int g = 0; g < node->ngpus; g++) {
        memcpy(taken[g].pci, node->gpus[g].pci, sizeof taken[g].pci);
        memcpy(taken[g].uuid, node->gpus[g].uuid, sizeof taken[g].uuid);
        taken[g].part = node->gpus[g].part;
    }
    /* The youngest one comes first. */
    for (const struct plugin_job *other = jobs; node->ngpus && other; other = other->next) {
        if (other != job && gives_way(job, other, is_older, jobs))
            add_ranks(node, other, taken);
        is_older |= other == job;
    }
}
