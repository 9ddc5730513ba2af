/* A job is about to start on this node: plan for its ranks. */
#include <stdlib.h>

#include "plugin/component.h"
#include "plugin/job_info.h"
#include "plugin/slurm.h"
#include "plugin/jobs.h"

/* Under Slurm what the ranks get is settled when they are forked, too late to be
 * published. */
static void plan(pmix_namespace_t *nptr, struct job_info *info)
{
    struct gpubind_error err;
    bool slurm = slurm_is_here();
    char **env = slurm ? slurm_env(&err) : NULL;

    if (slurm && !env) {
        gpubind_say_verbose(nptr->nspace, err.text);
        free(info->ranks);
        return;
    }
    if (jobs_add(info, pmix_globals.topology.topology, env, &err) < 0)
        gpubind_say_verbose(nptr->nspace, err.text);
    if (!slurm)
        job_info_publish(nptr);
}

/* Never an error: the job's environment, which may change everything, is not known
 * before its first rank is set up, and an error here makes Slurm hang. */
pmix_status_t gpubind_register_nspace(pmix_namespace_t *nptr)
{
    struct job_info info;

    jobs_remove(nptr->nspace);
    if (!pmix_globals.topology.topology) {
        gpubind_say_verbose(nptr->nspace, "the daemon has no topology");
    } else if (job_info_read(nptr->nspace, &info) != PMIX_SUCCESS) {
        gpubind_say_verbose(nptr->nspace, "no application with ranks here");
        free(info.ranks);
    } else {
        plan(nptr, &info);
    }
    return PMIX_SUCCESS;
}

void gpubind_deregister_nspace(pmix_namespace_t *nptr)
{
    jobs_remove(nptr->nspace);
}
