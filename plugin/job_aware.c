/* GPU-aware MPI for the ranks of a job: libgpubind-aware is put before their program. */
#include <string.h>

#include "core/plan/plan.h"
#include "host/sys/env_array.h"
#include "plugin/job.h"

/* One rank says it for all. */
static void say_once(struct plugin_job *job, const struct text *lines)
{
    struct text text = {0};

    if (!job->aware_reported && !job->view.options.quiet) {
        job_plan_add_lines(lines, &text);
        job_plan_print(&text);
    }
    job->aware_reported = true;
    text_clear(&text);
}

/* A setting of the job's that cannot be met stops it; a parameter is passed over. */
static int refuse(struct plugin_job *job, char *const *env, const struct gpubind_error *why,
                  struct gpubind_error *err)
{
    const char *own = env_array_get(env, "GPUBIND_GPU_AWARE");
    struct text notice = {0};

    if (own && *own) {
        error_set(err, "%s", job->failure_reported ? "" : why->text);
        job->failure_reported = true;
        return -1;
    }
    text_add(&notice, "%s; passed over: pmdl_gpubind_gpu_aware\n", why->text);
    say_once(job, &notice);
    text_clear(&notice);
    return 0;
}

/* Whether there is anything to do for this rank. Which MPI its program is of, the launcher must
 * say: the daemon does not look at programs. */
static bool is_wanted(const struct plugin_job *job, const struct plan_rank *planned,
                      char *const *env)
{
    const int mode = job->view.options.gpu_aware;

    if (mode == GPU_AWARE_AUTO && planned && planned->role != ROLE_GPU)
        return false;
    return mode > GPU_AWARE_OFF && job->placement.node.ngpus && gpu_aware_knows_launcher(env);
}

int plugin_job_preload(struct plugin_job *job, const struct plan_rank *planned, char *const *env,
                       struct env_list *list, struct gpubind_error *err)
{
    const struct options *options = &job->view.options;
    const enum gpu_aware mode = (enum gpu_aware)options->gpu_aware;
    struct gpubind_error why;
    struct text outcome = {0};
    int status = 0;
    bool aside;

    if (!is_wanted(job, planned, env))
        return 0;
    if (gpu_aware_environment(mode, "", env, list, &outcome, &aside, &why) == 0) {
        if (options->report || options->verbose)
            say_once(job, &outcome);
    } else if (mode == GPU_AWARE_ON) {
        status = refuse(job, env, &why, err);
    } else {
        /* Out of memory, as for the plan's variables. */
        env_list_clear(list);
    }
    text_clear(&outcome);
    return status;
}
