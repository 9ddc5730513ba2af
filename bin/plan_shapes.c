/* Plans of a large job's nodes: nodes with equal ranks on equal machines share one plan. */
#include <stdlib.h>
#include <string.h>

#include "bin/plan_job.h"

static const int *ranks_of(const struct shapes *shapes, int node)
{
    return &shapes->layout->listed[shapes->layout->first[node]];
}

static bool is_master(const struct shapes *shapes, int rank)
{
    const struct rules *rules = &shapes->options->rules;

    for (int m = 0; m < rules->nmasters; m++)
        if (rules->masters[m] == rank)
            return true;
    return false;
}

/* What a plan depends on: the machine, and its ranks with their CPUs and GPUs. */
static bool alike(const struct shapes *shapes, int a, int b)
{
    const struct layout *layout = shapes->layout;
    const int *x = ranks_of(shapes, a), *y = ranks_of(shapes, b);

    if (shapes->machines->of_node[a] != shapes->machines->of_node[b] ||
        layout->nodes[a].nranks != layout->nodes[b].nranks)
        return false;
    for (int r = 0; r < layout->nodes[a].nranks; r++) {
        const struct layout_rank *left = &layout->ranks[x[r]], *right = &layout->ranks[y[r]];

        if (left->bound != right->bound || (left->bound && !idset_equal(left->cpus, right->cpus)) ||
            is_master(shapes, x[r]) != is_master(shapes, y[r]))
            return false;
    }
    return true;
}

/* The facts that the ranks of a node would send. */
static int make_facts(const struct shapes *shapes, int node, struct facts *facts,
                      struct gpubind_error *err)
{
    const struct layout *layout = shapes->layout;
    const struct options *options = shapes->options;
    const struct node *machine = &shapes->machines->machine[shapes->machines->of_node[node]].node;
    const int *ranks = ranks_of(shapes, node);
    struct idset cpuset, have;

    idset_clear(&cpuset);
    if (options->cpuset && idlist_parse(options->cpuset, "--cpuset", &cpuset, err) < 0)
        return -1;
    node_pus(machine, &have);
    if (options->cpuset && !idset_intersects(&cpuset, &have))
        return error_set(err, "--cpuset: none of the CPUs %.200s exists on %s", options->cpuset,
                         *layout->nodes[node].name ? layout->nodes[node].name : machine->name);
    for (int r = 0; r < layout->nodes[node].nranks; r++) {
        const struct layout_rank *from = &layout->ranks[ranks[r]];

        facts[r] = *shapes->here;
        facts[r].prefs = options->prefs;
        if (machine->recorded)
            idset_clear(&facts[r].cpus);
        if (options->cpuset)
            facts[r].cpus = cpuset;
        if (from->bound)
            facts[r].cpus = *from->cpus;
        facts[r].rank = ranks[r];
        facts[r].local = r;
    }
    return 0;
}

static int make_placement(const struct shapes *shapes, int node, struct placement *placement,
                          struct text *notes, struct gpubind_error *err)
{
    const struct layout_node *from = &shapes->layout->nodes[node];
    struct facts *facts = malloc(((size_t)from->nranks + 1) * sizeof *facts);
    const struct machines *machines = shapes->machines;
    int status = facts ? make_facts(shapes, node, facts, err) : error_set(err, "out of memory");

    memset(placement, 0, sizeof *placement);
    if (status == 0)
        status = placement_copy(placement, &machines->machine[machines->of_node[node]].node, err);
    if (status == 0 && from->name[0])
        memcpy(placement->node.name, from->name, sizeof placement->node.name);
    if (status == 0 && from->nranks)
        status = placement_make(placement, &shapes->options->rules, facts, from->nranks, notes,
                                err);
    free(facts);
    if (status < 0)
        placement_clear(placement);
    return status;
}

/* Where the next shape goes: it replaces the oldest. */
static struct shape *make_room(struct shapes *shapes)
{
    struct shape *shape;

    if (shapes->n < SHAPES_KEPT)
        return &shapes->shape[shapes->n++];
    shape = &shapes->shape[shapes->oldest];
    shapes->oldest = (shapes->oldest + 1) % SHAPES_KEPT;
    placement_clear(&shape->placement);
    memset(shape, 0, sizeof *shape);
    return shape;
}

static const struct placement *make_shape(struct shapes *shapes, int node, struct text *notes,
                                          struct gpubind_error *err)
{
    struct shape *shape = make_room(shapes);
    struct placement *placement = &shape->placement;
    struct text messages = {0};
    int status = make_placement(shapes, node, placement, &messages, err);

    if (notes && messages.length)
        text_add(notes, "%s", messages.bytes);
    shape->node = node;
    shape->noted = messages.length > 0;
    text_clear(&messages);
    if (status < 0)
        return NULL;
    shape->shared = plan_renumber(&placement->node, &placement->plan, ranks_of(shapes, node));
    return placement;
}

static bool fits(const struct shapes *shapes, const struct shape *shape, int node, bool noting)
{
    if (shape->node == node)
        return true;
    return shape->shared && !(noting && shape->noted) && alike(shapes, shape->node, node);
}

const struct placement *shapes_plan(struct shapes *shapes, int node, struct text *notes,
                                    struct gpubind_error *err)
{
    const struct machines *machines = shapes->machines;
    const char *own = shapes->layout->nodes[node].name;
    int s = 0;

    while (s < shapes->n && !fits(shapes, &shapes->shape[s], node, notes != NULL))
        s++;
    if (s == shapes->n)
        return make_shape(shapes, node, notes, err);
    if (shapes->shape[s].node != node) {
        struct placement *placement = &shapes->shape[s].placement;
        const struct node *machine = &machines->machine[machines->of_node[node]].node;

        plan_renumber(&placement->node, &placement->plan, ranks_of(shapes, node));
        memcpy(placement->node.name, *own ? own : machine->name, sizeof placement->node.name);
        shapes->shape[s].node = node;
    }
    return &shapes->shape[s].placement;
}

void shapes_clear(struct shapes *shapes)
{
    for (int s = 0; s < shapes->n; s++)
        placement_clear(&shapes->shape[s].placement);
    shapes->n = 0;
}
