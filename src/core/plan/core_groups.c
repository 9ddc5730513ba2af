/* Groups cores and ranks by what the assignment of cores can tell apart. */
#include "core/plan/core_groups.h"

#include <stdlib.h>
#include <string.h>

static bool same_kind(const struct plan_work *work, int a, int b)
{
    const struct plan_rank *x = &work->plan->ranks[a], *y = &work->plan->ranks[b];

    return work->class_of[a] == work->class_of[b] && x->ngpus == y->ngpus &&
           memcmp(x->gpus, y->gpus, (size_t)x->ngpus * sizeof *x->gpus) == 0;
}

/* first: a rank of each kind. */
static void find_kinds(struct cells *cells, int *first)
{
    for (int r = 0; r < cells->work->plan->nranks; r++) {
        int k = 0;

        while (k < cells->nkinds && !same_kind(cells->work, first[k], r))
            k++;
        if (k == cells->nkinds) {
            cells->has_gpu[k] = cells->work->plan->ranks[r].ngpus > 0;
            first[cells->nkinds++] = r;
        }
        cells->kind_of[r] = k;
    }
}

/* GPUs that are not on the map, and those that other jobs have, are not this job's. */
static void find_withheld(struct cells *cells)
{
    const struct plan_work *work = cells->work;
    const struct node *node = work->node;

    for (int c = 0; c < node->ncores; c++)
        cells->withheld[c] = node->cores[c].withheld;
    for (int g = 0; g < node->ngpus; g++) {
        bool listed = !work->policy->nmap;

        for (int i = 0; i < work->policy->nmap; i++)
            listed |= work->policy->map[i] == g;
        for (int c = 0; c < node->ncores && (!listed || work->job->busy[g]); c++)
            cells->withheld[c] |= node_distance(node, g, c) <= 1;
    }
}

static unsigned char core_look(const struct cells *cells, int r, int core)
{
    const struct plan_work *work = cells->work;
    const struct plan_rank *rank = &work->plan->ranks[r];
    int nearest = 3;

    if (!work->usable[work->class_of[r] * work->node->ncores + core])
        return CELL_FORBIDDEN;
    if (!rank->ngpus)
        return cells->withheld[core] ? CELL_WITHHELD : 0;
    for (int i = 0; i < rank->ngpus && nearest > 0; i++) {
        int distance = node_distance(work->node, rank->gpus[i], core);

        if (distance < nearest)
            nearest = distance;
    }
    return nearest > 1 && cells->withheld[core] ? CELL_WITHHELD : (unsigned char)nearest;
}

static void find_cells(struct cells *cells, const int *first)
{
    size_t row = (size_t)cells->nkinds;

    for (int c = 0; c < cells->work->node->ncores; c++) {
        /* The row behind the last cell is the candidate for the next one. */
        unsigned char *look = &cells->look[(size_t)cells->ncells * row];
        int cell = 0;

        for (int k = 0; k < cells->nkinds; k++)
            look[k] = core_look(cells, first[k], c);
        while (memcmp(&cells->look[(size_t)cell * row], look, row) != 0)
            cell++;
        cells->ncells += cell == cells->ncells;
        cells->cell_of[c] = cell;
        cells->size[cell]++;
    }
}

/* A rank first reaches the cores of its GPU's NUMA node; when it may use none of them,
 * the nearest that it may use. */
static void find_limits(struct cells *cells)
{
    for (int k = 0; k < cells->nkinds; k++) {
        int nearest = CELL_WITHHELD;

        for (int cell = 0; cell < cells->ncells; cell++)
            if (cells_look(cells, cell, k) < nearest)
                nearest = cells_look(cells, cell, k);
        cells->limit[k] = nearest > 1 ? nearest : 1;
    }
}

int cells_make(struct plan_work *work, struct cells *cells, struct gpubind_error *err)
{
    size_t nranks = (size_t)work->plan->nranks, ncores = (size_t)work->node->ncores;
    int *first = malloc(nranks * sizeof *first);

    memset(cells, 0, sizeof *cells);
    cells->work = work;
    cells->kind_of = malloc(nranks * sizeof *cells->kind_of);
    cells->has_gpu = malloc(nranks * sizeof *cells->has_gpu);
    cells->limit = malloc(nranks * sizeof *cells->limit);
    cells->withheld = malloc(ncores * sizeof *cells->withheld);
    cells->cell_of = malloc(ncores * sizeof *cells->cell_of);
    cells->size = calloc(ncores, sizeof *cells->size);
    if (first && cells->kind_of && cells->has_gpu && cells->limit && cells->withheld &&
        cells->cell_of && cells->size) {
        find_kinds(cells, first);
        cells->look = malloc((ncores + 1) * (size_t)cells->nkinds);
    }
    if (cells->look) {
        find_withheld(cells);
        find_cells(cells, first);
        find_limits(cells);
        cells->count = calloc(nranks * (size_t)cells->ncells, sizeof *cells->count);
        cells->taken = calloc((size_t)cells->ncells, sizeof *cells->taken);
        cells->total = calloc(nranks, sizeof *cells->total);
    }
    free(first);
    return cells->count && cells->taken && cells->total ? 0 : error_set(err, "out of memory");
}

void cells_clear(struct cells *cells)
{
    free(cells->kind_of);
    free(cells->has_gpu);
    free(cells->limit);
    free(cells->withheld);
    free(cells->cell_of);
    free(cells->size);
    free(cells->look);
    free(cells->count);
    free(cells->taken);
    free(cells->total);
    memset(cells, 0, sizeof *cells);
}
