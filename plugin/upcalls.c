/* What PMIx's server calls: when it describes a job to its daemons, when a job is about to
 * start on this node, when a rank is about to start, and when the job has ended. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <src/util/pmix_environ.h>

#include "plugin/component.h"
#include "plugin/job_info.h"
#include "plugin/jobs.h"
#include "plugin/slurm.h"

/* What the user exported for gpubind goes with the job, so that it need not be named on the
 * command line. */
pmix_status_t gpubind_harvest_envars(pmix_namespace_t *nptr, const pmix_info_t info[], size_t ninfo,
                                     pmix_list_t *ilist, char ***priors)
{
    char all[] = "GPUBIND*", *include[] = {all, NULL};

    (void)nptr;
    (void)info;
    (void)ninfo;
    (void)priors;
    return pmix_util_harvest_envars(include, NULL, ilist);
}

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

/* Never an error: the job's environment, which the plan depends on, is not known
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

/* An error aborts the job, which is what --overflow error and the like ask for. */
pmix_status_t gpubind_setup_fork(const pmix_proc_t *peer, char ***env, char ***priors)
{
    struct gpubind_error err;
    /* Under Slurm this is the forked rank already, where PMIx's thread is not. */
    bool forked = getpid() != pmix_globals.pid;
    int status = jobs_environment(peer->nspace, (int)peer->rank, forked, env, &err);

    (void)priors;
    if (jobs_changed(peer->nspace) && !forked)
        job_info_publish_soon(peer->nspace);
    if (status == 0)
        return PMIX_SUCCESS;
    if (err.text[0])
        fprintf(stderr, "gpubind: %s\n", err.text);
    return PMIX_ERR_BAD_PARAM;
}
