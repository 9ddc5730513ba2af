/* The plan of one job and what its ranks' environments get from it. */
#include "plugin/job_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/report/render.h"
#include "core/topo/node_from_hwloc.h"
#include "host/discover/nvidia.h"
#include "host/sys/env_array.h"

int job_view_read(char *const *env, struct job_view *view, struct text *refused,
                  struct gpubind_error *err)
{
    memset(view, 0, sizeof *view);
    for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++) {
        const char *value = env_array_get(env, visible_variable(vendor));

        view->visible[vendor] = value ? strdup(value) : NULL;
        if (value && !view->visible[vendor])
            return error_set(err, "out of memory");
    }
    view->exclusive = settings_exclusive(refused);
    if (settings_read(env, &view->options, refused, err) < 0)
        return -1;
    return settings_read_limits(env, &view->limits, err);
}

void job_view_clear(struct job_view *view)
{
    for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++) {
        free(view->visible[vendor]);
        view->visible[vendor] = NULL;
    }
}

bool job_view_sees(const struct job_view *view, int vendor, const char *value)
{
    const char *visible = view->visible[vendor];

    return visible && value ? strcmp(visible, value) == 0 : !visible && !value;
}

bool job_view_equal(const struct job_view *a, const struct job_view *b)
{
    for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++)
        if (!job_view_sees(a, vendor, b->visible[vendor]))
            return false;
    return a->options.settings_digest == b->options.settings_digest;
}

static int load_node(const struct job_info *info, hwloc_topology_t topology, struct node *node,
                     struct gpubind_error *err)
{
    if (node_from_hwloc(topology, node, err) < 0)
        return -1;
    if (info->host[0])
        snprintf(node->name, sizeof node->name, "%s", info->host);
    node->recorded = !hwloc_topology_is_thissystem(topology);
    return nvidia_tells_of(node) ? nvidia_refine("", NVML_NEVER, node, err) : 0;
}

static struct facts *collect_facts(const struct job_info *info, const struct job_view *view)
{
    struct facts *facts = calloc((size_t)info->nranks, sizeof *facts);
    struct idset minors;

    if (!facts)
        return NULL;
    nvidia_minors("", &minors);
    for (int r = 0; r < info->nranks; r++) {
        snprintf(facts[r].version, sizeof facts[r].version, "%s", PACKAGE_VERSION);
        facts[r].rank = info->ranks[r].rank;
        facts[r].local = info->ranks[r].local;
        facts[r].rules_digest = view->options.rules_digest;
        facts[r].cpus = info->ranks[r].cpus;
        facts[r].binding = BINDING_ASKED;
        facts[r].minors = minors;
        facts[r].prefs = view->options.prefs;
        for (int vendor = 0; vendor < VISIBLE_VARIABLES; vendor++) {
            facts[r].visible[vendor] = view->visible[vendor];
            facts[r].has_visible[vendor] = view->visible[vendor] != NULL;
        }
    }
    return facts;
}

void job_plan_print(const struct text *text)
{
    if (!text->failed && text->length)
        fprintf(stderr, "%s", text->bytes);
}

void job_plan_add_lines(const struct text *lines, struct text *text)
{
    for (const char *at = lines->bytes; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        text_add(text, "gpubind: %.*s\n", (int)strcspn(at, "\n"), at);
}

void job_plan_report(const struct options *options, const struct placement *placement,
                     const struct text *notes)
{
    const struct gpu_ranks no_peers = {0};
    struct text text = {0}, why = {0};

    if ((options->report || options->verbose) && !options->quiet)
        job_plan_add_lines(notes, &text);
    if (options->verbose)
        render_why(&placement->node, &placement->plan, &placement->policy, &why);
    job_plan_add_lines(&why, &text);
    text_clear(&why);
    if (options->report & REPORT_JSON)
        render_json(&placement->node, &placement->plan, &no_peers, &text);
    if (options->report & REPORT_TABLE) {
        render_table(&placement->node, &placement->plan, &no_peers, &text);
        text_add(&text, "  planned by gpubind's plugin, CPUs bound by the daemon\n");
    }
    job_plan_print(&text);
    text_clear(&text);
}

void job_plan_report_none(const struct options *options, const struct gpubind_error *why)
{
    struct text text = {0};

    if (why->text[0] && (options->report || options->verbose) && !options->quiet)
        text_add(&text, "gpubind: the plugin leaves the ranks alone: %s\n", why->text);
    job_plan_print(&text);
    text_clear(&text);
}

/* A daemon must not block on a pipe without a writer. */
static int check_map(const char *map, struct gpubind_error *err)
{
    struct stat about;

    if (map && *map == '@' && stat(map + 1, &about) == 0 && !S_ISREG(about.st_mode))
        return error_set(err, "--map: %s is no regular file", map + 1);
    return 0;
}

int job_plan_load(const struct job_info *info, hwloc_topology_t topology,
                  struct placement *placement, struct gpubind_error *err)
{
    memset(placement, 0, sizeof *placement);
    return load_node(info, topology, &placement->node, err);
}

/* For a site that wants exclusive GPUs: how many ranks share with other jobs. */
static void note_shared(const struct placement *placement, struct text *notes)
{
    const struct plan *plan = &placement->plan;
    int nshared = 0;

    for (int r = 0; r < plan->nranks; r++) {
        bool shared = false;

        for (int i = 0; i < plan->ranks[r].ngpus; i++)
            shared |= placement->job.busy[plan->ranks[r].gpus[i]] > 0;
        nshared += shared;
    }
    if (nshared)
        text_add(notes, "%s has too few free GPUs; ranks that share with other jobs: %d of %d\n",
                 placement->node.name, nshared, plan->nranks);
}

int job_plan_make(const struct job_info *info, const struct job_view *view,
                  struct placement *placement, struct text *notes, struct gpubind_error *err)
{
    struct rules rules = view->options.rules;
    struct facts *facts;
    int status;

    /* The daemon binds CPUs. */
    rules.policy.bind = BIND_NONE;
    if (info->spawned) /* --master names ranks of the parent job */
        rules.nmasters = 0;
    if (rules_check_masters(&rules, info->size, err) < 0 || check_map(rules.map, err) < 0)
        return -1;
    facts = collect_facts(info, view);
    status = facts ? placement_make(placement, &rules, facts, info->nranks, notes, err)
                   : error_set(err, "out of memory");
    free(facts);
    /* A hint: the daemon sets no memory policy. */
    placement->plan.bind_memory = rules.policy.membind;
    if (status == 0 && view->exclusive)
        note_shared(placement, notes);
    return status;
}

static void add(struct env_list *list, const char *name, char *value)
{
    list->item[list->n++] = (struct env_item){ENV_SET, name, value};
}

/* What gpubind in the rank needs to know: who planned, for which process and by which
 * settings, and what the rank would see without. */
static int add_maker(const struct job_info *info, const struct placement *placement,
                     const struct job_view *view, const struct plan_rank *rank, char *const *env,
                     struct env_list *list)
{
    enum gpu_vendor vendor = placement->node.ngpus ? placement->node.gpus[0].vendor : GPU_NVIDIA;
    const char *before = env_array_get(env, visible_variable(vendor));
    /* No GPU, both of them, but to Level Zero. */
    const char *outer = before && !*before && vendor != GPU_INTEL ? "-1" : before;
    const char *order = env_array_get(env, "CUDA_DEVICE_ORDER");
    struct text made_for = {0}, settings = {0};

    text_add(&made_for, "%s.%d", info->name, rank->rank);
    text_add(&settings, "%016llx", (unsigned long long)view->options.settings_digest);
    add(list, "GPUBIND_MADE_BY", strdup("plugin"));
    add(list, "GPUBIND_MADE_FOR", made_for.bytes);
    add(list, "GPUBIND_SETTINGS", settings.bytes);
    /* Not unset: under Slurm nothing can be, and an outer job's may be there. */
    add(list, "GPUBIND_OUTER_VISIBLE_DEVICES", strdup(outer ? outer : ""));
    add(list, "GPUBIND_OUTER_DEVICE_ORDER", strdup(order ? order : ""));
    for (int i = 0; vendor == GPU_AMD && i < ENV_ABOVE_ROCM; i++) {
        const char *was = env_array_get(env, env_above_rocm[i].name);

        add(list, env_above_rocm[i].kept, strdup(was ? was : ""));
    }
    for (int i = 0; i < list->n; i++)
        if (list->item[i].how != ENV_UNSET && !list->item[i].value)
            return -1;
    return 0;
}

int job_plan_render(const struct job_info *info, const struct placement *placement,
                    const struct job_view *view, const struct plan_rank *rank, char *const *env,
                    struct env_list *list, struct gpubind_error *err)
{
    if (render_env(&placement->node, &placement->plan, rank, &view->options.prefs, PACKAGE_VERSION,
                   list) < 0 ||
        add_maker(info, placement, view, rank, env, list) < 0)
        return error_set(err, "out of memory");
    return 0;
}
