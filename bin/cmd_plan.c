/* Who would get what, on nodes that need not be here. */
#include <stdlib.h>
#include <string.h>

#include "bin/cmds.h"
#include "bin/plan_job.h"
#include "bin/plan_xml.h"
#include "core/report/render.h"
#include "host/launch/placement.h"
#include "host/sys/file.h"

/* The text is printed when it has reached this size. */
#define CHUNK (1 << 20)

struct planning {
    const struct options *options;
    struct layout layout;
    struct machines machines;
    struct shapes shapes;
    struct facts here;  /* what this process sees and may use */
    bool *has_gpu;      /* of each rank */
    int *peers, npeers; /* the job's ranks with a GPU */
};

/* --nodes @FILE, since ten thousand names do not fit into one argument. */
static int name_nodes_from(struct planning *planning, const char *path, struct gpubind_error *err)
{
    char *list = file_read_list(path, err);
    int status = -1;

    if (list && !*list)
        error_set(err, "%s names no node", path);
    else if (list)
        status = layout_nodes(&planning->layout, list, err);
    free(list);
    return status;
}

/* Without --nodes there is one, which keeps its own name. */
static int name_nodes(struct planning *planning, struct gpubind_error *err)
{
    const char *nodes = planning->options->nodes;

    if (nodes && (*nodes == '@' ? name_nodes_from(planning, nodes + 1, err)
                                : layout_nodes(&planning->layout, nodes, err)) < 0)
        return error_of(err, "--nodes");
    if (nodes)
        return 0;
    if (planning->options->ranks_file)
        return 0;
    return layout_named(&planning->layout, "", err);
}

/* The default number of ranks of a machine: one for each GPU, or set of GPUs. */
static int count_sets(const struct planning *planning, const struct node *node,
                      struct gpubind_error *err)
{
    const struct rules *rules = &planning->options->rules;
    struct policy policy = {.nmap = node->ngpus};

    if (rules->map && map_read(node, rules->map, &policy, err) < 0)
        return -1;
    return policy.nmap / rules->policy.gpus_per_rank;
}

static int default_ranks(struct planning *planning, struct gpubind_error *err)
{
    const struct machines *machines = &planning->machines;
    int *sets = malloc((size_t)machines->n * sizeof *sets);
    int ranks = 0;

    if (!sets)
        return error_set(err, "out of memory");
    for (int m = 0; m < machines->n && ranks == 0; m++) {
        sets[m] = count_sets(planning, &machines->machine[m].node, err);
        ranks = sets[m] < 0 ? -1 : 0;
    }
    for (int n = 0; n < planning->layout.nnodes && ranks >= 0; n++) {
        struct layout_node *node = &planning->layout.nodes[n];
        int here = sets[machines->of_node[n]];

        if (node->slots && node->slots < here)
            here = node->slots;
        ranks += here;
        if (!node->slots)
            node->slots = here;
    }
    /* Where some nodes have GPUs, those without get no rank. */
    for (int n = 0; n < planning->layout.nnodes && ranks > 0; n++)
        if (!planning->layout.nodes[n].slots)
            planning->layout.nodes[n].slots = LAYOUT_CLOSED;
    free(sets);
    return ranks ? ranks : 1;
}

static int place_ranks(struct planning *planning, struct gpubind_error *err)
{
    const struct options *options = planning->options;
    int ranks = options->ranks;
    char *text;
    int status;

    if (options->ranks_file) {
        text = file_read(options->ranks_file, err);
        status = text ? layout_rankfile(&planning->layout, text, options->ranks_file, err)
                      : error_of(err, "--ranks-file");
        free(text);
        return status;
    }
    if (!ranks)
        ranks = default_ranks(planning, err);
    return ranks < 0 ? -1 : layout_spread(&planning->layout, ranks, options->cyclic, err);
}

/* What each node gets, only to learn which ranks have a GPU, and whether all can be
 * planned for: a plan takes far more room than what is printed of it. */
static int find_peers(struct planning *planning, struct gpubind_error *err)
{
    const struct layout *layout = &planning->layout;

    planning->has_gpu = calloc((size_t)layout->nranks, sizeof *planning->has_gpu);
    planning->peers = malloc((size_t)layout->nranks * sizeof *planning->peers);
    if (!planning->has_gpu || !planning->peers)
        return error_set(err, "out of memory");
    for (int n = 0; n < layout->nnodes; n++) {
        struct text notes = {0};
        const struct placement *at = shapes_plan(&planning->shapes, n, &notes, err);

        if (!planning->options->quiet)
            say_lines(notes.bytes);
        text_clear(&notes);
        if (!at)
            return -1;
        for (int r = 0; r < at->plan.nranks; r++)
            planning->has_gpu[at->plan.ranks[r].rank] = at->plan.ranks[r].role == ROLE_GPU;
    }
    for (int rank = 0; rank < layout->nranks; rank++)
        if (planning->has_gpu[rank])
            planning->peers[planning->npeers++] = rank;
    return 0;
}

static int load_nodes(struct planning *planning, struct gpubind_error *err)
{
    return machines_load(&planning->machines, &planning->layout, &planning->options->rules, err);
}

static int make(struct planning *planning, struct gpubind_error *err)
{
    const struct world alone = {.launcher = "none", .size = 1, .local_size = 1};

    if (facts_read(&alone, &planning->here, err) < 0)
        return -1;
    if (name_nodes(planning, err) < 0)
        return -1;
    if (planning->options->ranks_file) {
        if (place_ranks(planning, err) < 0 || load_nodes(planning, err) < 0)
            return -1;
    } else if (load_nodes(planning, err) < 0 || place_ranks(planning, err) < 0) {
        return -1;
    }
    if (rules_check_masters(&planning->options->rules, planning->layout.nranks, err) < 0)
        return -1;
    return find_peers(planning, err);
}

static void render(const struct planning *planning, const struct placement *at, struct text *text,
                   struct text *why)
{
    const struct gpu_ranks peers = {planning->npeers, planning->peers};

    if (planning->options->json || (planning->options->report & REPORT_JSON))
        render_json(&at->node, &at->plan, &peers, text);
    else
        render_table(&at->node, &at->plan, &peers, text);
    if (planning->options->verbose && at->plan.nranks)
        render_why(&at->node, &at->plan, &at->policy, why);
}

static int print_plans(struct planning *planning)
{
    struct text text = {0}, why = {0};
    struct gpubind_error err;
    int status = 0;

    for (int n = 0; n < planning->layout.nnodes && status == 0; n++) {
        const struct placement *at = shapes_plan(&planning->shapes, n, NULL, &err);

        if (!at)
            status = fail(&err);
        else
            render(planning, at, &text, &why);
        if (at && text.length < CHUNK && n + 1 < planning->layout.nnodes)
            continue;
        say_lines(why.bytes);
        status = status ? status : print(&text);
        text_clear(&text);
        text_clear(&why);
    }
    return status;
}

static int draw_plans(struct planning *planning, struct gpubind_error *err)
{
    const char *path = planning->options->xml;

    return path ? plan_write_xml(path, &planning->shapes, err) : 0;
}

int cmd_plan(const struct options *options)
{
    struct planning planning = {.options = options};
    struct gpubind_error err;
    int status;

    planning.shapes = (struct shapes){.options = options,
                                      .layout = &planning.layout,
                                      .machines = &planning.machines,
                                      .here = &planning.here};
    status = make(&planning, &err) < 0 || draw_plans(&planning, &err) < 0 ? fail(&err)
                                                                          : print_plans(&planning);
    shapes_clear(&planning.shapes);
    machines_clear(&planning.machines);
    free(planning.has_gpu);
    free(planning.peers);
    layout_clear(&planning.layout);
    return status;
}
