/* The model of a node: made, copied, checked, restricted. */
#include "core/topo/node.h"

#include <stdlib.h>
#include <string.h>

int node_make(struct node *node, int ncores, int ngpus, int nnics, struct gpubind_error *err)
{
    memset(node, 0, sizeof *node);
    if (ncores < 1 || ncores > IDSET_MAX)
        return error_set(err, "a node with %d cores cannot be planned for: 1 to %d", ncores,
                         IDSET_MAX);
    if (ngpus < 0 || ngpus > NODE_MAX_GPUS)
        return error_set(err, "a node with %d GPUs cannot be planned for: at most %d", ngpus,
                         NODE_MAX_GPUS);
    if (nnics < 0 || nnics > NODE_MAX_NICS)
        return error_set(err, "a node with %d NICs cannot be planned for: at most %d", nnics,
                         NODE_MAX_NICS);
    node->ncores = ncores;
    node->ngpus = ngpus;
    node->nnics = nnics;
    node->cores = calloc((size_t)ncores, sizeof *node->cores);
    node->gpus = calloc((size_t)ngpus + 1, sizeof *node->gpus);
    node->nics = calloc((size_t)nnics + 1, sizeof *node->nics);
    node->link = calloc((size_t)ngpus * ngpus + 1, sizeof *node->link);
    node->gpu_hops = calloc((size_t)ngpus * ngpus + 1, sizeof *node->gpu_hops);
    node->nic_hops = calloc((size_t)ngpus * nnics + 1, sizeof *node->nic_hops);
    if (!node->cores || !node->gpus || !node->nics || !node->link || !node->gpu_hops ||
        !node->nic_hops) {
        node_clear(node);
        return error_set(err, "out of memory");
    }
    for (int g = 0; g < ngpus; g++) {
        node->gpus[g].part = -1;
        node->gpus[g].ze[0] = node->gpus[g].ze[1] = (struct ze_number){-1, -1};
    }
    return 0;
}

void node_clear(struct node *node)
{
    free(node->cores);
    free(node->gpus);
    free(node->nics);
    free(node->link);
    free(node->gpu_hops);
    free(node->nic_hops);
    memset(node, 0, sizeof *node);
}

static void locate_gpu(const struct node *node, struct gpu *gpu)
{
    int core = idset_next(&gpu->cores, -1);

    gpu->numa = core < 0 ? -1 : node->cores[core].numa;
    gpu->numa_domain = core < 0 ? -1 : node->cores[core].numa_domain;
    gpu->package = core < 0 ? -1 : node->cores[core].package;
    for (; core >= 0; core = idset_next(&gpu->cores, core)) {
        if (node->cores[core].numa != gpu->numa)
            gpu->numa = -1;
        if (node->cores[core].numa_domain != gpu->numa_domain)
            gpu->numa_domain = -1;
        if (node->cores[core].package != gpu->package)
            gpu->package = -1;
    }
}

void node_locate(struct node *node)
{
    for (int g = 0; g < node->ngpus; g++)
        locate_gpu(node, &node->gpus[g]);
}

void node_number(struct node *node)
{
    for (int g = 0; g < node->ngpus; g++) {
        struct gpu *gpu = &node->gpus[g];

        gpu->index = g;
        gpu->card = g == 0 ? 0 : gpu[-1].card + (strcmp(gpu[-1].pci, gpu->pci) != 0);
    }
}

int node_distance(const struct node *node, int gpu, int core)
{
    const struct gpu *g = &node->gpus[gpu];
    const struct core *c = &node->cores[core];

    if (idset_has(&g->cores, core))
        return 0;
    if (g->numa_domain >= 0 && g->numa_domain == c->numa_domain)
        return 1;
    if (g->package >= 0 && g->package == c->package)
        return 2;
    return 3;
}

void node_pus(const struct node *node, struct idset *pus)
{
    idset_clear(pus);
    for (int c = 0; c < node->ncores; c++)
        for (int p = 0; p < node->cores[c].npus; p++)
            idset_add(pus, node->cores[c].pu[p]);
}

static int restrict_core(struct core *core, const struct idset *allowed)
{
    int kept = 0;

    for (int p = 0; p < core->npus; p++)
        if (idset_has(allowed, core->pu[p]))
            core->pu[kept++] = core->pu[p];
    core->npus = kept;
    return kept;
}

/* Renames the members of set by the table; -1 drops a member. */
static void renumber(struct idset *set, const int *to)
{
    struct idset result;

    idset_clear(&result);
    for (int i = idset_next(set, -1); i >= 0; i = idset_next(set, i))
        idset_add(&result, to[i]);
    *set = result;
}

int node_restrict(struct node *node, const struct idset *allowed, struct gpubind_error *err)
{
    struct idset have;
    int *to;
    int kept = 0;

    node_pus(node, &have);
    if (!idset_intersects(&have, allowed)) {
        char *cpus = idlist_text(allowed);

        error_set(err, "none of the CPUs that may be used, %.200s, exists on this node",
                  cpus ? cpus : "");
        free(cpus);
        return -1;
    }
    to = malloc((size_t)node->ncores * sizeof *to);
    if (!to)
        return error_set(err, "out of memory");
    for (int c = 0; c < node->ncores; c++) {
        struct core core = node->cores[c];

        to[c] = restrict_core(&core, allowed) ? kept++ : -1;
        if (to[c] >= 0)
            node->cores[to[c]] = core;
    }
    node->ncores = kept;
    /* A GPU keeps its place in the machine when its own cores are withheld:
     * numa, numa_domain and package still say where it is. */
    for (int g = 0; g < node->ngpus; g++)
        renumber(&node->gpus[g].cores, to);
    for (int n = 0; n < node->nnics; n++)
        renumber(&node->nics[n].cores, to);
    free(to);
    return 0;
}

void node_withhold(struct node *node, const bool *flags)
{
    for (int g = 0; g < node->ngpus; g++)
        for (int c = 0; c < node->ncores && !flags[g]; c++)
            node->cores[c].withheld |= node_distance(node, g, c) <= 1;
}

void node_keep_gpus(struct node *node, const bool *flags)
{
    int old = node->ngpus, kept = 0;
    int from[NODE_MAX_GPUS];

    for (int g = 0; g < old; g++)
        if (flags[g])
            from[kept++] = g;
    /* Targets never lie behind their sources, so one pass forward is enough. */
    for (int a = 0; a < kept; a++) {
        node->gpus[a] = node->gpus[from[a]];
        for (int b = 0; b < kept; b++) {
            node->link[a * kept + b] = node->link[from[a] * old + from[b]];
            node->gpu_hops[a * kept + b] = node->gpu_hops[from[a] * old + from[b]];
        }
        for (int n = 0; n < node->nnics; n++)
            node->nic_hops[a * node->nnics + n] = node->nic_hops[from[a] * node->nnics + n];
    }
    node->ngpus = kept;
}
