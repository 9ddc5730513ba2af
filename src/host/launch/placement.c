/* From the ranks' facts to the node's plan. */
#include "host/launch/placement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/report/render.h"
#include "host/launch/visible_gpus.h"
#include "host/sys/file.h"
#include "host/sys/process.h"

/* ---- --map */

static int add_entry(const struct node *node, const char *entry, struct policy *policy,
                     struct gpubind_error *err)
{
    struct gpubind_error why;
    int gpu = node_find_gpu(node, entry, &why);

    if (gpu < 0)
        return error_set(err, "--map: %s", why.text);
    for (int i = 0; i < policy->nmap; i++)
        if (policy->map[i] == gpu)
            return error_set(err, "--map: '%s' names GPU %d a second time", entry,
                             node->gpus[gpu].index);
    policy->map[policy->nmap++] = gpu;
    return 0;
}

int map_read(const struct node *node, const char *text, struct policy *policy,
             struct gpubind_error *err)
{
    char *copy = *text == '@' ? file_read_list(text + 1, err) : strdup(text);
    char *rest = copy, *entry;
    int status = 0;

    if (!copy)
        return *text == '@' ? error_of(err, "--map") : error_set(err, "out of memory");
    policy->nmap = 0;
    /* A node without a GPU has nothing to map, which the plan handles. */
    while (node->ngpus && status == 0 && (entry = strsep(&rest, ", \t\r\n")))
        if (*entry)
            status = add_entry(node, entry, policy, err);
    if (status == 0 && node->ngpus && !policy->nmap)
        status = error_set(err, "--map %s names no GPU", text);
    free(copy);
    return status;
}

/* ---- the placement */

int placement_load(struct placement *placement, const struct rules *rules, const char *topology,
                   struct gpubind_error *err)
{
    memset(placement, 0, sizeof *placement);
    return topology_load(topology, rules->policy.gpus_per_rank > 1, &placement->node, err);
}

int placement_copy(struct placement *placement, const struct node *node, struct gpubind_error *err)
{
    memset(placement, 0, sizeof *placement);
    return node_copy(node, &placement->node, err);
}

void placement_clear(struct placement *placement)
{
    plan_clear(&placement->plan);
    job_clear(&placement->job);
    node_clear(&placement->node);
}

int rules_check_masters(const struct rules *rules, int size, struct gpubind_error *err)
{
    for (int m = 0; m < rules->nmasters; m++)
        if (rules->masters[m] >= size)
            return error_set(err, "--master: the job has no rank %d, its ranks are 0 to %d",
                             rules->masters[m], size - 1);
    return 0;
}

/* All ranks must have equal options and versions, and different local ranks. */
static int check_facts(const struct facts *facts, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(facts[i].version, facts[0].version) != 0)
            return error_set(err, "local ranks %d and %d run different versions of gpubind",
                             facts[0].local, facts[i].local);
        if (facts[i].rules_digest != facts[0].rules_digest)
            return facts_refuse_difference(&facts[0], &facts[i], err);
        for (int j = 0; j < i; j++)
            if (facts[i].local == facts[j].local)
                return error_set(err, "two processes say that they are local rank %d",
                                 facts[i].local);
    }
    return 0;
}

static int by_local(const void *a, const void *b)
{
    int x = ((const struct facts *)a)->local, y = ((const struct facts *)b)->local;

    return (x > y) - (x < y);
}

static bool pus_within(const struct idset *cpus, const struct core *core)
{
    int inside = 0;

    for (int p = 0; p < core->npus; p++)
        inside += idset_has(cpus, core->pu[p]);
    return inside == idset_count(cpus);
}

/* The CPUs are those of whole NUMA nodes or packages: no core outside shares such
 * an object with one inside. */
static bool is_whole(const struct node *node, const struct idset *cpus)
{
    struct idset numas[2], packages[2]; /* outside, inside */

    for (int side = 0; side < 2; side++) {
        idset_clear(&numas[side]);
        idset_clear(&packages[side]);
    }
    for (int c = 0; c < node->ncores; c++) {
        const struct core *core = &node->cores[c];
        bool inside = idset_has(cpus, core->pu[0]);

        idset_add(&numas[inside], core->numa_domain);
        idset_add(&packages[inside], core->package);
    }
    return !idset_intersects(&numas[0], &numas[1]) || !idset_intersects(&packages[0], &packages[1]);
}

/* Open MPI's defaults: one core each, in order from the first; with version 4 and
 * more than two ranks, a whole NUMA node or package. */
static bool has_default_shape(const struct node *node, const struct facts *facts, int n)
{
    bool cores = true, wholes = true;

    for (int i = 0; i < n; i++) {
        if (facts[i].binding != BINDING_DEFAULT && facts[i].binding != BINDING_UNKNOWN)
            return false;
        cores = cores && facts[i].local < node->ncores &&
                pus_within(&facts[i].cpus, &node->cores[facts[i].local]);
        wholes = wholes && facts[i].binding == BINDING_DEFAULT && is_whole(node, &facts[i].cpus);
    }
    return cores || wholes;
}

/* A binding that was not requested is ignored. facts stand in the order of
 * local ranks. */
static void restore_allowed_cpus(const struct node *node, struct facts *facts, int n)
{
    bool by_default = has_default_shape(node, facts, n);

    for (int i = 0; i < n; i++)
        if (by_default || facts[i].binding == BINDING_FREE)
            facts[i].cpus = facts[i].allowed_cpus;
}

/* Only CPUs that a rank may use exist. */
static int restrict_node(struct node *node, const struct facts *facts, int n,
                         struct gpubind_error *err)
{
    struct idset all;

    idset_clear(&all);
    for (int i = 0; i < n; i++) {
        if (idset_empty(&facts[i].cpus))
            return 0;
        idset_union(&all, &facts[i].cpus);
    }
    return node_restrict(node, &all, err);
}

static void count_taken(struct placement *placement)
{
    for (int t = 0; t < placement->ntaken; t++)
        for (int g = 0; g < placement->node.ngpus; g++)
            if (strcmp(placement->node.gpus[g].pci, placement->taken[t].pci) == 0 &&
                strcmp(placement->node.gpus[g].uuid, placement->taken[t].uuid) == 0 &&
                placement->node.gpus[g].part == placement->taken[t].part)
                placement->job.busy[g] += placement->taken[t].ranks;
}

/* Reads the names of a rank's GPUs, in their order. */
static int keep_gpus(const struct node *node, char *names, struct job_rank *rank,
                     struct gpubind_error *err)
{
    int n = 0;

    idset_clear(&rank->gpus);
    for (char *name; (name = strsep(&names, ",")) && *name;) {
        int gpu = node_find_gpu(node, name, err);

        if (gpu < 0)
            return -1;
        if (!idset_has(&rank->gpus, gpu))
            rank->order[n++] = (short)gpu;
        idset_add(&rank->gpus, gpu);
    }
    return 0;
}

/* Reconstructs the plugin's plan from the ranks' facts. */
static int keep_planned(struct placement *placement, const struct facts *facts,
                        struct gpubind_error *err)
{
    struct job *job = &placement->job;
    int status = 0;

    for (int r = 0; r < job->nranks && status == 0; r++) {
        struct job_rank *rank = &job->ranks[r];
        char *names;

        if (!facts[r].planned)
            continue;
        rank->master = facts[r].planned_master;
        rank->kept = true;
        rank->dealt = false;
        free(rank->order);
        rank->order = malloc(NODE_MAX_GPUS * sizeof *rank->order);
        names = strdup(facts[r].planned_gpus);
        status = names && rank->order ? keep_gpus(&placement->node, names, rank, err)
                                      : error_set(err, "out of memory");
        free(names);
    }
    return status;
}

/* The plugin's plan is shown like any other. */
static void show_planned(struct placement *placement, const struct facts *facts, int n,
                         struct text *notes)
{
    struct plan *plan = &placement->plan;

    if (!facts[0].planned)
        return;
    plan->notes &= ~(unsigned)NOTE_KEPT;
    for (int r = 0; r < plan->nranks; r++)
        plan->ranks[r].kept = false;
    if (facts[0].planned_hash != plan->hash)
        text_add(notes,
                 "%s: the plugin's plan is %016llx, what its %d ranks here have is "
                 "%016llx\n",
                 placement->node.name, (unsigned long long)facts[0].planned_hash, n,
                 (unsigned long long)plan->hash);
}

static int make_job(struct placement *placement, const struct rules *rules,
                    const struct facts *facts, int n, struct text *notes, struct gpubind_error *err)
{
    struct job *job = &placement->job;

    if (job_make(job, n, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        job->ranks[i].rank = facts[i].rank;
        job->ranks[i].local = facts[i].local;
        job->ranks[i].cpus = facts[i].cpus;
        if (idset_empty(&facts[i].cpus))
            node_pus(&placement->node, &job->ranks[i].cpus);
    }
    if (placement->node.nvml_failure[0])
        text_add(notes, "%s: %s; UUIDs and links that it alone knows are missing\n",
                 placement->node.name, placement->node.nvml_failure);
    job_mark_masters(job, rules->masters, rules->nmasters);
    if (visible_gpus_apply(&placement->node, facts, job, &rules->policy, notes, err) < 0)
        return -1;
    count_taken(placement);
    return keep_planned(placement, facts, err);
}

/* Ranks with --nic none have no NIC, in tables either. */
static void drop_nics(struct plan *plan, const struct facts *facts, int n)
{
    for (int r = 0; r < plan->nranks; r++)
        for (int i = 0; i < n; i++)
            if (facts[i].local == plan->ranks[r].local && facts[i].prefs.nic == NIC_NONE)
                plan->ranks[r].nic = -1;
}

int placement_see(struct placement *placement, const struct facts *here, struct text *notes,
                  struct gpubind_error *err)
{
    const struct rules rules = {.nmasters = 0};
    struct facts facts = *here;

    if (placement->node.recorded)
        idset_clear(&facts.cpus);
    restore_allowed_cpus(&placement->node, &facts, 1);
    if (restrict_node(&placement->node, &facts, 1, err) < 0)
        return -1;
    return make_job(placement, &rules, &facts, 1, notes, err);
}

int placement_make(struct placement *placement, const struct rules *rules,
                   const struct facts *facts, int n, struct text *notes, struct gpubind_error *err)
{
    struct facts *sorted = malloc((size_t)n * sizeof *sorted);
    int status = sorted ? check_facts(facts, n, err) : error_set(err, "out of memory");

    if (status == 0) {
        memcpy(sorted, facts, (size_t)n * sizeof *sorted);
        qsort(sorted, (size_t)n, sizeof *sorted, by_local);
        if (rules->policy.bind != BIND_NONE)
            restore_allowed_cpus(&placement->node, sorted, n);
        status = restrict_node(&placement->node, sorted, n, err);
    }
    if (status == 0)
        status = make_job(placement, rules, sorted, n, notes, err);
    free(sorted);
    placement->policy = rules->policy;
    for (int i = 0; i < n; i++)
        placement->policy.membind &= !facts[i].has_memory_policy;
    if (rules->policy.membind && !placement->policy.membind)
        text_add(notes, "%s: a memory policy was set before gpubind ran; kept\n",
                 placement->node.name);
    if (status == 0 && rules->map)
        status = map_read(&placement->node, rules->map, &placement->policy, err);
    if (status == 0)
        status = plan_make(&placement->node, &placement->job, &placement->policy, &placement->plan,
                           err);
    if (status == 0)
        drop_nics(&placement->plan, facts, n);
    if (status == 0)
        show_planned(placement, facts, n, notes);
    if (status == 0)
        visible_gpus_note_modes(&placement->node, facts, n, notes);
    if (rules->policy.bind == BIND_NONE)
        placement->plan.notes &= ~(unsigned)(NOTE_CORES_SHARED | NOTE_NO_LEFTOVER);
    if (status == 0)
        render_notes(&placement->node, &placement->plan, notes);
    return status;
}
