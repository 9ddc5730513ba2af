/* The jobs (PMIx namespaces) of a daemon and their plans. Independent of PMIx; any thread may
 * call it. */
#ifndef GPUBIND_PLUGIN_JOBS_H
#define GPUBIND_PLUGIN_JOBS_H

#include <hwloc.h>
#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "plugin/settings.h"

#define JOB_NAME_SIZE 256 /* PMIX_MAX_NSLEN and a NUL */

/* What the daemon knows of a local rank. */
struct local_rank {
    int rank, local;
    struct idset cpus; /* that the daemon binds it to; empty: it does not */
    bool unmanaged;    /* its own environment asked for that ... */
    char *visible;     /* ... and has this list of visible devices, malloc'ed; or NULL */
};

struct job_info {
    char name[JOB_NAME_SIZE];
    char host[256];
    int size;                   /* ranks of the job, on all nodes */
    bool spawned;               /* by another job, whose ranks keep their GPUs ... */
    char parent[JOB_NAME_SIZE]; /* ... namely this one; "": not known, so all others' do */
    int nranks;                 /* on this node */
    struct local_rank *ranks;   /* malloc'ed */
};

/* Plans for a new job and takes over info->ranks, also after a failure. The
 * topology is the daemon's and stays. env is the job's environment where a rank's own
 * does not show it, taken over as well, else NULL. */
int jobs_add(struct job_info *info, hwloc_topology_t topology, char **env,
             struct gpubind_error *err);

/* Adds to the environment of a rank that is about to start what its plan says. Unless
 * jobs_add got the job's environment, the first rank's stands for it: settings and
 * *_VISIBLE_DEVICES in it count as they would for the launcher. forked: this is the
 * rank's own process already, whose CPUs are what the daemon chose. Returns -1 only when the job
 * must not start, with the error, "" when it was reported before; an unknown job, and one without
 * a plan and without settings, is 0. */
int jobs_environment(const char *name, int rank, bool forked, char ***env,
                     struct gpubind_error *err);

/* Calls each with the UUID (or PCI address) of every local rank's first GPU, "" where
 * it has none of ours; the job cannot change meanwhile. */
typedef void device_visitor(void *context, int rank, const char *device);
void jobs_visit_devices(const char *name, device_visitor *each, void *context);

/* Whether any of that may have changed since the last visit. True once for each change: the
 * caller is to visit. */
bool jobs_changed(const char *name);

void jobs_remove(const char *name);
void jobs_clear(void);

#endif
