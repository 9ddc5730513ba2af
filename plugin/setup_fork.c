/* A rank is about to start: tell it what it got. */
#include <stdio.h>
#include <unistd.h>

#include "plugin/component.h"
#include "plugin/job_info.h"
#include "plugin/jobs.h"

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
