/* One job of the list; jobs.c alone changes it, under its lock. */
#ifndef GPUBIND_PLUGIN_JOB_H
#define GPUBIND_PLUGIN_JOB_H

#include "plugin/job_plan.h"
#include "plugin/jobs.h"

struct plugin_job {
    struct plugin_job *next;
    struct job_info info; /* ranks are owned */
    hwloc_topology_t topology;
    struct job_view view;
    char **env;    /* the job's environment, owned; NULL: the first rank's shows it */
    bool has_view; /* from the job's environment, not only from the defaults */
    bool started;  /* its first rank has been set up */
    bool planned, changed;
    bool change_seen;             /* the change was reported by jobs_changed */
    bool required;                /* settings were given: without a plan the job must not start */
    struct gpubind_error why_not; /* unless planned */
    bool failure_reported;        /* why_not, by one rank for all */
    struct placement placement;
    struct text notes; /* about the plan */
    bool reported;
    struct text refused; /* settings that were ignored, a line each */
    struct text unknown; /* variables of the job's, likewise */
    bool warned;         /* refused and unknown were printed */
    bool aware_reported; /* likewise what became of gpu_aware */
};

/* The one of the list with this name, or NULL. */
struct plugin_job *plugin_job_find(struct plugin_job *jobs, const char *name);

/* GPUs that ranks of jobs before this one have: as many entries as the node has GPUs. */
void plugin_job_taken(const struct plugin_job *job, struct plugin_job *jobs,
                      const struct node *node, struct taken *taken);

/* Once the node is loaded: which GPUs the job's CUDA_VISIBLE_DEVICES names. Under Slurm the
 * numbers of the step's GPUs in it, which are those of device files, are replaced by what CUDA
 * reads in this process, whose device cgroup may hide some. -1 with why_not where nobody can tell. */
int plugin_job_see(struct plugin_job *job);

/* Adds to list what a rank with that environment gets by the setting gpu_aware. planned: NULL where the
 * rank's GPUs were not chosen here. Returns -1 only when the job must not start, as jobs_environment
 * does. */
int plugin_job_preload(struct plugin_job *job, const struct plan_rank *planned, char *const *env,
                       struct env_list *list, struct gpubind_error *err);

#endif
