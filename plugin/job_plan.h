/* One job's plan, as the launcher would make it for the CPUs that the daemon
 * binds the ranks to. */
#ifndef GPUBIND_PLUGIN_JOB_PLAN_H
#define GPUBIND_PLUGIN_JOB_PLAN_H

#include "host/launch/placement.h"
#include "plugin/jobs.h"

/* The job's settings, from its environment and the site's parameters. */
struct job_view {
    struct options options;           /* texts are not to be looked at once planned */
    struct options limits;            /* as settings_read_limits has them */
    char *visible[VISIBLE_VARIABLES]; /* as in struct facts, malloc'ed; NULL: not set */
    bool exclusive;                   /* the site's setting */
};

/* env may be NULL, as when it is not known yet. Parameters that are passed over add a line
 * each to refused. The caller clears the view, also after a failure. */
int job_view_read(char *const *env, struct job_view *view, struct text *refused,
                  struct gpubind_error *err);
void job_view_clear(struct job_view *view);
/* Whether the variable of this vendor has this value in the view; NULL: it is not set. */
bool job_view_sees(const struct job_view *view, int vendor, const char *value);
bool job_view_equal(const struct job_view *a, const struct job_view *b);

/* Begins a placement with its node, which may be one that cannot be planned for. The
 * caller clears, also after a failure. */
int job_plan_load(const struct job_info *info, hwloc_topology_t topology,
                  struct placement *placement, struct gpubind_error *err);

/* Plans for all ranks, beside placement->taken. Sentences about the plan are added to
 * notes. */
int job_plan_make(const struct job_info *info, const struct job_view *view,
                  struct placement *placement, struct text *notes, struct gpubind_error *err);

/* Prints to stderr in one write, so that lines of other processes do not come between. */
void job_plan_print(const struct text *text);
/* Adds lines, each with "gpubind: " before it. */
void job_plan_add_lines(const struct text *lines, struct text *text);

/* Prints the report that the options ask for. */
void job_plan_report(const struct options *options, const struct placement *placement,
                     const struct text *notes);

/* Says why the ranks start without a plan, where the options ask for a report. */
void job_plan_report_none(const struct options *options, const struct gpubind_error *why);

/* The rank's environment; the caller clears the list, also after a failure. env is
 * what it has so far. */
int job_plan_render(const struct job_info *info, const struct placement *placement,
                    const struct job_view *view, const struct plan_rank *rank, char *const *env,
                    struct env_list *list, struct gpubind_error *err);

#endif
