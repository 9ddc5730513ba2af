/* A plan as a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text_table.h"
#include "core/plan/job.h"
#include "core/report/render.h"

enum { RANK, LOCAL, ROLE, GPU, PCI, UUID, CPUS, NUMA, NIC, NORTH, SOUTH, COLUMNS };

static const char *const titles[COLUMNS] = {"rank", "local", "role", "GPU",   "PCI",  "UUID",
                                            "CPUs", "NUMA",  "NIC",  "north", "south"};

static void put_number(const struct grid *grid, int row, int column, int number)
{
    if (number < 0)
        text_add(grid_at(grid, row, column), "-");
    else
        text_add(grid_at(grid, row, column), "%d", number);
}

static void put_set(const struct grid *grid, int row, int column, const struct idset *set)
{
    char *ids = idlist_text(set);

    text_add(grid_at(grid, row, column), "%s", ids && *ids ? ids : "-");
    free(ids);
}

/* A UUID is told from others by its first block; that of a part needs it all. */
static void put_gpus(const struct grid *grid, int row, const struct node *node,
                     const struct plan_rank *rank)
{
    for (int i = 0; i < rank->ngpus; i++) {
        const struct gpu *gpu = &node->gpus[rank->gpus[i]];
        int length = gpu->part >= 0 ? (int)sizeof gpu->uuid : 12;

        text_add(grid_at(grid, row, GPU), "%s%d", i ? "," : "", gpu->index);
        text_add(grid_at(grid, row, PCI), "%s%s", i ? "," : "", gpu->pci);
        text_add(grid_at(grid, row, UUID), "%s%.*s", i ? "," : "", length,
                 gpu->uuid[0] ? gpu->uuid : "?");
    }
    for (int column = GPU; column <= UUID && !rank->ngpus; column++)
        text_add(grid_at(grid, row, column), "-");
}

static void put_rank(const struct grid *grid, int row, const struct node *node,
                     const struct plan_rank *rank, const struct gpu_ranks *peers)
{
    int north, south;

    job_neighbors(peers->ranks, peers->n, rank->rank, &north, &south);
    put_number(grid, row, RANK, rank->rank);
    put_number(grid, row, LOCAL, rank->local);
    text_add(grid_at(grid, row, ROLE), "%s%s", role_name(rank->role), rank->kept ? " (kept)" : "");
    put_gpus(grid, row, node, rank);
    put_set(grid, row, CPUS, &rank->cpus);
    put_set(grid, row, NUMA, &rank->numas);
    text_add(grid_at(grid, row, NIC), "%s", rank->nic < 0 ? "-" : node->nics[rank->nic].name);
    put_number(grid, row, NORTH, north);
    put_number(grid, row, SOUTH, south);
}

static void add_title(const struct node *node, const struct plan *plan, struct text *text)
{
    text_add(text, "node %s: %d rank%s, %d GPU%s", node->name[0] ? node->name : "?", plan->nranks,
             plan->nranks == 1 ? "" : "s", node->ngpus, node->ngpus == 1 ? "" : "s");
    if (node->ngpus && node->gpus[0].model[0])
        text_add(text, " (%s)", node->gpus[0].model);
    if (node->recorded)
        text_add(text, ", recorded");
    text_add(text, ", plan %016llx\n", (unsigned long long)plan->hash);
}

void render_table(const struct node *node, const struct plan *plan, const struct gpu_ranks *peers,
                  struct text *text)
{
    struct grid grid;

    add_title(node, plan, text);
    if (!plan->nranks)
        return;
    if (grid_make(&grid, plan->nranks + 1, COLUMNS) < 0) {
        text->failed = true;
        grid_clear(&grid);
        return;
    }
    for (int column = 0; column < COLUMNS; column++)
        text_add(grid_at(&grid, 0, column), "%s", titles[column]);
    grid.right[RANK] = grid.right[LOCAL] = grid.right[NORTH] = grid.right[SOUTH] = true;
    grid.hidden[NIC] = !node->nnics;
    grid.hidden[NORTH] = grid.hidden[SOUTH] = !peers->n;
    for (int r = 0; r < plan->nranks; r++)
        put_rank(&grid, r + 1, node, &plan->ranks[r], peers);
    grid_draw(&grid, text);
    grid_clear(&grid);
}
