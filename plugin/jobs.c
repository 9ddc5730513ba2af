/* The jobs of this daemon: one list under one lock. */
#include "plugin/jobs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/list.h"
#include "core/base/variables.h"
#include "host/sys/env_array.h"
#include "plugin/cpu_exchange.h"
#include "plugin/job.h"

static QUEUE_OF(struct plugin_job) jobs; /* the newest first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* setup_fork may run in a process that was forked while another thread held the
 * lock, which is then never released. */
#define LOCK_PATIENCE_S 5

static bool take_lock(void)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOCK_PATIENCE_S;
    return pthread_mutex_timedlock(&lock, &until) == 0;
}

static void release_lock(void)
{
    pthread_mutex_unlock(&lock);
}

static struct plugin_job *find(const char *name)
{
    return plugin_job_find(jobs.first, name);
}

static struct local_rank *find_rank(struct plugin_job *job, int rank)
{
    for (int r = 0; r < job->info.nranks; r++)
        if (job->info.ranks[r].rank == rank)
            return &job->info.ranks[r];
    return NULL;
}

static void free_job(struct plugin_job *job)
{
    placement_clear(&job->placement);
    text_clear(&job->notes);
    text_clear(&job->refused);
    text_clear(&job->unknown);
    job_view_clear(&job->view);
    env_array_free(job->env);
    for (int r = 0; r < job->info.nranks; r++)
        free(job->info.ranks[r].visible);
    free(job->info.ranks);
    free(job);
}

/* Plans when the node is loaded. */
static int plan_beside_others(struct plugin_job *job)
{
    struct placement *placement = &job->placement;
    struct taken taken[NODE_MAX_GPUS];
    int status;

    plugin_job_taken(job, jobs.first, &placement->node, taken);
    placement->taken = taken;
    placement->ntaken = placement->node.ngpus;
    status = job_plan_make(&job->info, &job->view, placement, &job->notes, &job->why_not);
    placement->taken = NULL;
    placement->ntaken = 0;
    return status;
}

/* By the settings of its view; on failure there is no plan, and why_not says why. */
static void plan_by_view(struct plugin_job *job)
{
    placement_clear(&job->placement);
    text_clear(&job->notes);
    /* Without a usable node or its GPUs the job starts unplanned, whatever the settings. */
    job->required = false;
    job->planned = false;
    if (job_plan_load(&job->info, job->topology, &job->placement, &job->why_not) == 0 &&
        plugin_job_see(job) == 0) {
        job->required = job->view.options.settings_digest != 0;
        job->planned = plan_beside_others(job) == 0;
    }
    if (!job->planned)
        placement_clear(&job->placement);
}

/* Without the site's parameters of placement, where these are in the way of a plan. */
static void plan_by_limits(struct plugin_job *job, char *const *env)
{
    struct gpubind_error why_not = job->why_not;

    job->view.options = job->view.limits;
    plan_by_view(job);
    if (!job->planned && job->required)
        return;
    text_add(&job->refused, "%s; passed over: ", why_not.text);
    settings_name_parameters(env, &job->refused);
    text_add(&job->refused, "\n");
}

/* Replaces the plan, and with it what the job has. */
static int plan(struct plugin_job *job, char *const *env)
{
    uint64_t before = job->planned ? job->placement.plan.hash : 0;
    bool was_planned = job->planned;

    plan_by_view(job);
    if (!job->planned && job->required &&
        job->view.options.rules_digest != job->view.limits.rules_digest)
        plan_by_limits(job, env);
    job->changed |= job->planned != was_planned ||
                    (was_planned && job->placement.plan.hash != before);
    return job->planned ? 0 : -1;
}

int jobs_add(struct job_info *info, hwloc_topology_t topology, char **env,
             struct gpubind_error *err)
{
    struct plugin_job *job = calloc(1, sizeof *job);
    int status;

    if (!job || !take_lock()) {
        error_set(err, job ? "the plugin is busy" : "out of memory");
        env_array_free(env);
        free(info->ranks);
        free(job);
        info->ranks = NULL;
        return -1;
    }
    job->info = *info;
    info->ranks = NULL;
    job->topology = topology;
    job->env = env;
    job->has_view = env != NULL;
    QUEUE_PUSH_FRONT(&jobs, job, next);
    status = job_view_read(env, &job->view, &job->refused, &job->why_not);
    job->required = status < 0;
    variables_note_unknown(env, "\n", &job->unknown);
    /* slurmstepd is root, and a setting may name a file: that is for the rank's own
     * process to read. */
    if (status == 0 && !env)
        status = plan(job, env);
    if (status < 0)
        *err = job->why_not;
    release_lock();
    return status;
}

/* The first rank's environment shows what the job asks for. */
static void read_job_settings(struct plugin_job *job, char *const *env)
{
    struct job_view view;
    struct gpubind_error err;
    bool replan;

    if (job->has_view)
        return;
    job->has_view = true;
    text_clear(&job->refused);
    variables_note_unknown(env, "\n", &job->unknown);
    if (job_view_read(env, &view, &job->refused, &err) < 0) {
        job->required = true;
        job->planned = false;
        job->why_not = err;
        job_view_clear(&view);
        return;
    }
    /* The GPUs of other jobs may have changed, too. */
    replan = !job_view_equal(&view, &job->view) || view.exclusive;
    job_view_clear(&job->view);
    job->view = view;
    if (replan)
        plan(job, env);
}

/* This rank has other visible devices than the job: they were chosen for it. */
static bool is_chosen(const struct plugin_job *job, char *const *env)
{
    for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++)
        if (!job_view_sees(&job->view, vendor, env_array_get(env, visible_variable(vendor))))
            return true;
    return false;
}

/* From now on the rank has what it sees, not what was planned for it. */
static void leave_unmanaged(struct plugin_job *job, struct local_rank *rank, char *const *env)
{
    const struct node *node = &job->placement.node;
    enum gpu_vendor vendor = node->ngpus ? node->gpus[0].vendor : GPU_NVIDIA;
    const char *visible = env_array_get(env, visible_variable(vendor));

    if (!rank)
        return;
    free(rank->visible);
    rank->visible = visible ? strdup(visible) : NULL;
    rank->unmanaged = true;
    job->changed = true;
}

/* The ranks are there, each with the CPUs that the daemon gave it. Where they cannot
 * exchange them, the plan stays as it was. */
static void replan_with_cpus(struct plugin_job *job, int rank)
{
    struct gpubind_error err;
    bool leads;

    if (cpu_exchange(&job->info, rank, &leads, &err) < 0)
        leads = rank == job->info.ranks[0].rank;
    plan(job, job->env);
    /* One of them reports for all. */
    job->reported = job->failure_reported = job->warned = !leads;
}

/* The environment to be filled does not show what the user set: only the relay does. */
static void drop_defaults(struct env_list *list, char *const *job_env)
{
    bool relayed = getenv("GPUBIND_RELAY") != NULL;
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        struct env_item *item = &list->item[i];

        if (item->how == ENV_DEFAULT && (!relayed || env_array_get(job_env, item->name)))
            free(item->value);
        else
            list->item[n++] = *item;
    }
    list->n = n;
}

static void warn(struct plugin_job *job)
{
    struct text text = {0};

    if (!job->warned && !job->view.options.quiet) {
        job_plan_add_lines(&job->refused, &text);
        /* Without a plan, the launcher or the library prints it. */
        if (job->planned)
            job_plan_add_lines(&job->unknown, &text);
        job_plan_print(&text);
    }
    job->warned = true;
    text_clear(&text);
}

/* For a job with a plan. */
static int fill_planned(struct plugin_job *job, struct local_rank *rank, char *const *job_env,
                        struct env_list *list, struct gpubind_error *err)
{
    const struct plan_rank *planned = rank ? plan_find(&job->placement.plan, rank->local) : NULL;

    if (!job->reported)
        job_plan_report(&job->view.options, &job->placement, &job->notes);
    job->reported = true;
    if (job_env && is_chosen(job, job_env)) {
        leave_unmanaged(job, rank, job_env);
        return plugin_job_preload(job, NULL, job_env, list, err);
    }
    if (!planned)
        return 0;
    /* Out of memory: the rank runs without any of our variables. */
    if (job_plan_render(&job->info, &job->placement, &job->view, planned, job_env, list, err) < 0) {
        env_list_clear(list);
        return 0;
    }
    if (job->env)
        drop_defaults(list, job_env);
    return plugin_job_preload(job, planned, job_env, list, err);
}

/* Adds to list what the rank's environment is to get. */
static int fill(struct plugin_job *job, int number, bool forked, char *const *env,
                struct env_list *list, struct gpubind_error *err)
{
    struct local_rank *rank = find_rank(job, number);
    char *const *job_env = job->env ? job->env : env;

    job->started = true;
    if (settings_off(job_env)) {
        leave_unmanaged(job, rank, job_env);
        return 0;
    }
    if (job_env)
        read_job_settings(job, job_env);
    if (forked && job->env && !job->why_not.text[0])
        replan_with_cpus(job, number);
    warn(job);
    if (!job->planned) {
        /* Without settings the job starts unplanned. */
        if (!job->required) {
            if (!job->reported)
                job_plan_report_none(&job->view.options, &job->why_not);
            job->reported = true;
            return 0;
        }
        error_set(err, "%s", job->failure_reported ? "" : job->why_not.text);
        job->failure_reported = true;
        return -1;
    }
    return fill_planned(job, rank, job_env, list, err);
}

int jobs_environment(const char *name, int rank, bool forked, char ***env,
                     struct gpubind_error *err)
{
    struct env_list list = {0};
    struct plugin_job *job;
    int status = 0;

    if (!take_lock())
        return 0;
    job = find(name);
    if (job)
        status = fill(job, rank, forked, *env, &list, err);
    release_lock();
    /* Daemons with many ranks start them from several threads. */
    (void)env_array_apply(env, &list);
    env_list_clear(&list);
    return status;
}

void jobs_visit_devices(const char *name, device_visitor *each, void *context)
{
    struct plugin_job *job;

    if (!take_lock())
        return;
    job = find(name);
    if (job)
        job->changed = job->change_seen = false;
    for (int r = 0; job && job->planned && r < job->info.nranks; r++) {
        const struct local_rank *rank = &job->info.ranks[r];
        const struct plan_rank *planned = plan_find(&job->placement.plan, rank->local);
        const struct gpu *gpu = NULL;

        if (planned && planned->ngpus && !rank->unmanaged)
            gpu = &job->placement.node.gpus[planned->gpus[0]];
        each(context, rank->rank, !gpu ? "" : gpu->uuid[0] ? gpu->uuid : gpu->pci);
    }
    release_lock();
}

bool jobs_changed(const char *name)
{
    struct plugin_job *job;
    bool changed = false;

    if (!take_lock())
        return false;
    job = find(name);
    if (job) {
        changed = job->changed && !job->change_seen;
        job->change_seen |= changed;
    }
    release_lock();
    return changed;
}

void jobs_remove(const char *name)
{
    struct plugin_job *gone;

    if (!take_lock())
        return;
    gone = find(name);
    if (gone)
        QUEUE_REMOVE(&jobs, gone, next);
    release_lock();
    if (gone)
        free_job(gone);
}

void jobs_clear(void)
{
    struct plugin_job *job;

    if (!take_lock())
        return;
    while ((job = QUEUE_POP(&jobs, next)))
        free_job(job);
    release_lock();
}
