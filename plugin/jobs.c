#include "plugin/jobs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/variables.h"
#include "host/sys/env_array.h"
#include "plugin/cpu_exchange.h"
#include "plugin/job.h"

static struct space *spaces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* setup_fork may run in a process that was forked while another thread held the
 * lock, and then nobody would ever release it. */
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

static struct space *find(const char *name)
{
    return space_find(spaces, name);
}

static struct space_rank *find_rank(struct space *space, int rank)
{
    for (int r = 0; r < space->info.nranks; r++)
        if (space->info.ranks[r].rank == rank)
            return &space->info.ranks[r];
    return NULL;
}

static void free_space(struct space *space)
{
    placement_clear(&space->placement);
    text_clear(&space->notes);
    text_clear(&space->refused);
    text_clear(&space->unknown);
    env_array_free(space->told);
    for (int r = 0; r < space->info.nranks; r++)
        free(space->info.ranks[r].sees);
    free(space->info.ranks);
    free(space);
}

/* On a node that is there. */
static int plan_beside_others(struct space *space)
{
    struct placement *placement = &space->placement;
    struct taken taken[NODE_MAX_GPUS];
    int status;

    space_taken(space, spaces, &placement->node, taken);
    placement->taken = taken;
    placement->ntaken = placement->node.ngpus;
    status = space_plan(&space->info, &space->view, placement, &space->notes, &space->why_not);
    placement->taken = NULL;
    placement->ntaken = 0;
    return status;
}

/* By the settings of its view; on failure there is no plan, and why_not says why. */
static void plan_by_view(struct space *space)
{
    placement_clear(&space->placement);
    text_clear(&space->notes);
    /* A node that cannot be planned for is not insisted on, whatever the settings. */
    space->insists = false;
    space->planned = false;
    if (space_load(&space->info, space->topology, &space->placement, &space->why_not) == 0) {
        space->insists = space->view.options.wishes_digest != 0;
        space->planned = plan_beside_others(space) == 0;
    }
    if (!space->planned)
        placement_clear(&space->placement);
}

/* Without the site's parameters of placement, where these are in the way of a plan. */
static void plan_by_limits(struct space *space, char *const *env)
{
    struct gpubind_error why_not = space->why_not;

    space->view.options = space->view.limits;
    plan_by_view(space);
    if (!space->planned && space->insists)
        return;
    text_add(&space->refused, "%s; passed over: ", why_not.text);
    settings_name_parameters(env, &space->refused);
    text_add(&space->refused, "\n");
}

/* Replaces the plan, and with it what the namespace has. */
static int plan(struct space *space, char *const *env)
{
    uint64_t before = space->planned ? space->placement.plan.hash : 0;
    bool was_planned = space->planned;

    plan_by_view(space);
    if (!space->planned && space->insists &&
        space->view.options.rules_digest != space->view.limits.rules_digest)
        plan_by_limits(space, env);
    space->changed |= space->planned != was_planned ||
                      (was_planned && space->placement.plan.hash != before);
    return space->planned ? 0 : -1;
}

int spaces_add(struct space_info *info, hwloc_topology_t topology, char **told,
               struct gpubind_error *err)
{
    struct space *space = calloc(1, sizeof *space);
    int status;

    if (!space || !take_lock()) {
        error_set(err, space ? "the plugin is busy" : "out of memory");
        env_array_free(told);
        free(info->ranks);
        free(space);
        info->ranks = NULL;
        return -1;
    }
    space->info = *info;
    info->ranks = NULL;
    space->topology = topology;
    space->told = told;
    space->has_view = told != NULL;
    space->next = spaces;
    spaces = space;
    status = job_view_read(told, &space->view, &space->refused, &space->why_not);
    space->insists = status < 0;
    variables_note_unknown(told, "\n", &space->unknown);
    /* slurmstepd is root, and a setting may name a file: that is for the rank's own
     * process to read. */
    if (status == 0 && !told)
        status = plan(space, told);
    if (status < 0)
        *err = space->why_not;
    release_lock();
    return status;
}

/* The first rank's environment shows what the job asks for. */
static void look_at_job(struct space *space, char *const *env)
{
    struct job_view view;
    struct gpubind_error err;

    if (space->has_view)
        return;
    space->has_view = true;
    text_clear(&space->refused);
    variables_note_unknown(env, "\n", &space->unknown);
    if (job_view_read(env, &view, &space->refused, &err) < 0) {
        space->insists = true;
        space->planned = false;
        space->why_not = err;
    } else if (!job_view_equal(&view, &space->view) || view.exclusive) {
        /* What others have may have changed, too. */
        space->view = view;
        plan(space, env);
    } else {
        space->view = view;
    }
}

/* Somebody chose for this rank otherwise than for the job. */
static bool is_chosen(const struct space *space, char *const *env)
{
    for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++) {
        const char *value = env_array_get(env, visible_variable(vendor));

        if (space->view.has_visible[vendor] != (value != NULL) ||
            (value && strcmp(space->view.visible[vendor], value) != 0))
            return true;
    }
    return false;
}

/* What it sees is what it has from now on, not what was planned for it. */
static void leave_alone(struct space *space, struct space_rank *rank, char *const *env)
{
    const struct node *node = &space->placement.node;
    enum gpu_vendor vendor = node->ngpus ? node->gpus[0].vendor : GPU_NVIDIA;
    const char *sees = env_array_get(env, visible_variable(vendor));

    if (!rank)
        return;
    free(rank->sees);
    rank->sees = sees ? strdup(sees) : NULL;
    rank->left_alone = true;
    space->changed = true;
}

/* The ranks are there, each with the CPUs that the daemon gave it. Where they cannot
 * tell each other, the plan stays what it was. */
static void look_at_ranks(struct space *space, int rank)
{
    struct gpubind_error err;
    bool leads;

    if (gather_cpus(&space->info, rank, &leads, &err) < 0)
        leads = rank == space->info.ranks[0].rank;
    plan(space, space->told);
    /* One of them speaks for all. */
    space->reported = space->said = space->complained = !leads;
}

/* The environment to be filled does not show what the user set: only the relay does. */
static void drop_defaults(struct env_list *list, char *const *job)
{
    bool relayed = getenv("GPUBIND_RELAY") != NULL;
    int n = 0;

    for (int i = 0; i < list->n; i++) {
        struct env_item *item = &list->item[i];

        if (item->how == ENV_DEFAULT && (!relayed || env_array_get(job, item->name)))
            free(item->value);
        else
            list->item[n++] = *item;
    }
    list->n = n;
}

static void complain(struct space *space)
{
    struct text text = {0};

    if (!space->complained && !space->view.options.quiet) {
        space_add_lines(&space->refused, &text);
        /* Where nothing is planned, the launcher or the library says it. */
        if (space->planned)
            space_add_lines(&space->unknown, &text);
        space_say(&text);
    }
    space->complained = true;
    text_clear(&text);
}

/* What the rank's environment is to get goes to list. */
static int fill(struct space *space, int number, bool forked, char *const *env,
                struct env_list *list, struct gpubind_error *err)
{
    struct space_rank *rank = find_rank(space, number);
    const struct plan_rank *planned = NULL;
    char *const *job = space->told ? space->told : env;

    space->started = true;
    if (settings_off(job)) {
        leave_alone(space, rank, job);
        return 0;
    }
    if (job)
        look_at_job(space, job);
    if (forked && space->told && !space->why_not.text[0])
        look_at_ranks(space, number);
    complain(space);
    if (!space->planned) {
        /* Without settings there is nothing that the job insists on. */
        if (!space->insists)
            return 0;
        error_set(err, "%s", space->said ? "" : space->why_not.text);
        space->said = true;
        return -1;
    }
    if (rank)
        planned = plan_find(&space->placement.plan, rank->local);
    if (!space->reported)
        space_report(&space->view.options, &space->placement, &space->notes);
    space->reported = true;
    if (job && is_chosen(space, job)) {
        leave_alone(space, rank, job);
        return 0;
    }
    if (!planned)
        return 0;
    /* Without memory for all of our variables the rank runs without them. */
    if (space_render(&space->info, &space->placement, &space->view, planned, job, list, err) < 0)
        env_list_clear(list);
    else if (space->told)
        drop_defaults(list, job);
    return 0;
}

int spaces_environment(const char *name, int rank, bool forked, char ***env,
                       struct gpubind_error *err)
{
    struct env_list list = {0};
    struct space *space;
    int status = 0;

    if (!take_lock())
        return 0;
    space = find(name);
    if (space)
        status = fill(space, rank, forked, *env, &list, err);
    release_lock();
    /* Daemons with many ranks start them from several threads. */
    (void)env_array_apply(env, &list);
    env_list_clear(&list);
    return status;
}

void spaces_visit_devices(const char *name, space_visitor *each, void *context)
{
    struct space *space;

    if (!take_lock())
        return;
    space = find(name);
    if (space)
        space->changed = space->asked = false;
    for (int r = 0; space && space->planned && r < space->info.nranks; r++) {
        const struct space_rank *rank = &space->info.ranks[r];
        const struct plan_rank *planned = plan_find(&space->placement.plan, rank->local);
        const struct gpu *gpu = NULL;

        if (planned && planned->ngpus && !rank->left_alone)
            gpu = &space->placement.node.gpus[planned->gpus[0]];
        each(context, rank->rank, !gpu ? "" : gpu->uuid[0] ? gpu->uuid : gpu->pci);
    }
    release_lock();
}

bool spaces_changed(const char *name)
{
    struct space *space;
    bool changed = false;

    if (!take_lock())
        return false;
    space = find(name);
    if (space) {
        changed = space->changed && !space->asked;
        space->asked |= changed;
    }
    release_lock();
    return changed;
}

void spaces_remove(const char *name)
{
    struct space *gone = NULL;

    if (!take_lock())
        return;
    for (struct space **at = &spaces; *at; at = &(*at)->next)
        if (strcmp((*at)->info.name, name) == 0) {
            gone = *at;
            *at = gone->next;
            break;
        }
    release_lock();
    if (gone)
        free_space(gone);
}

void spaces_clear(void)
{
    struct space *all;

    if (!take_lock())
        return;
    all = spaces;
    spaces = NULL;
    release_lock();
    while (all) {
        struct space *next = all->next;

        free_space(all);
        all = next;
    }
}
