/* One namespace of the list; spaces.c alone changes it, under its lock. */
#ifndef GPUBIND_PLUGIN_JOB_H
#define GPUBIND_PLUGIN_JOB_H

#include "plugin/job_plan.h"
#include "plugin/jobs.h"

struct space {
    struct space *next;
    struct space_info info; /* ranks are owned */
    hwloc_topology_t topology;
    struct job_view view;
    char **told;   /* the job's environment, owned; NULL: the first rank's shows it */
    bool has_view; /* of a real environment, not only of what may be expected */
    bool started;  /* its first rank is about to, or has */
    bool planned, changed;
    bool asked; /* whoever visits the devices knows that they have changed */
    bool insists; /* settings were given: without a plan the job must not start */
    struct gpubind_error why_not; /* unless planned */
    bool said;                    /* why_not: once, not by every rank */
    struct placement placement;
    struct text notes; /* about the plan */
    bool reported;
    struct text refused; /* settings that are passed over, a line each */
    struct text unknown; /* variables of the job's, likewise */
    bool complained;     /* of both */
};

/* The one of the list with this name, or NULL. */
struct space *space_find(struct space *spaces, const char *name);

/* What the ranks of the namespaces have that this one comes after: as many entries as
 * the node has GPUs. */
void space_taken(const struct space *space, struct space *spaces, const struct node *node,
                 struct taken *taken);

#endif
