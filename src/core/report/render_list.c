/* A node's GPUs, NICs and links as text. */
#include "core/report/render_list.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/text_table.h"
#include "core/topo/link_matrix.h"

enum { GPU, PCI, MODEL, UUID, NUMA, CPUS, NIC, COLUMNS };

const char *vendor_name(enum gpu_vendor vendor)
{
    static const char *const names[] = {"NVIDIA", "AMD", "Intel"};

    return names[vendor];
}

void gpu_numas(const struct node *node, const struct gpu *gpu, struct idset *numas)
{
    idset_clear(numas);
    for (int c = idset_next(&gpu->cores, -1); c >= 0; c = idset_next(&gpu->cores, c))
        idset_add(numas, node->cores[c].numa);
    /* Known also where all its cores are withheld. */
    if (gpu->numa >= 0)
        idset_add(numas, gpu->numa);
}

void cores_pus(const struct node *node, const struct idset *cores, struct idset *pus)
{
    idset_clear(pus);
    for (int c = idset_next(cores, -1); c >= 0; c = idset_next(cores, c))
        for (int p = 0; p < node->cores[c].npus; p++)
            idset_add(pus, node->cores[c].pu[p]);
}

bool is_nearest_nic(const struct node *node, int gpu, int nic)
{
    const unsigned *hops = &node->nic_hops[gpu * node->nnics];

    for (int n = 0; n < node->nnics; n++)
        if (hops[n] < hops[nic])
            return false;
    return true;
}

static void put_set(struct text *cell, const struct idset *set)
{
    char *ids = idlist_text(set);

    text_add(cell, "%s", ids && *ids ? ids : "-");
    cell->failed |= !ids;
    free(ids);
}

static void put_model(struct text *cell, const struct gpu *gpu)
{
    const char *vendor = vendor_name(gpu->vendor);

    if (strncmp(gpu->model, vendor, strlen(vendor)) != 0)
        text_add(cell, "%s%s", vendor, gpu->model[0] ? " " : "");
    text_add(cell, "%s%s", gpu->model, gpu->mig ? " (MIG)" : "");
}

static void put_gpu(const struct grid *grid, int row, const struct node *node, int g)
{
    const struct gpu *gpu = &node->gpus[g];
    struct text *nics = grid_at(grid, row, NIC);
    struct idset set;

    text_add(grid_at(grid, row, GPU), "%d", gpu->index);
    text_add(grid_at(grid, row, PCI), "%s", gpu->pci);
    put_model(grid_at(grid, row, MODEL), gpu);
    text_add(grid_at(grid, row, UUID), "%s", gpu->uuid[0] ? gpu->uuid : "?");
    gpu_numas(node, gpu, &set);
    put_set(grid_at(grid, row, NUMA), &set);
    cores_pus(node, &gpu->cores, &set);
    put_set(grid_at(grid, row, CPUS), &set);
    for (int n = 0; n < node->nnics; n++)
        if (is_nearest_nic(node, g, n))
            text_add(nics, "%s%s", nics->length ? "," : "", node->nics[n].name);
}

static void add_gpus(const struct node *node, struct text *text)
{
    static const char *const titles[COLUMNS] = {"GPU",  "PCI",  "model", "UUID",
                                                "NUMA", "CPUs", "NIC"};
    struct grid grid;

    if (grid_make(&grid, node->ngpus + 1, COLUMNS) < 0) {
        text->failed = true;
    } else {
        grid.right[GPU] = true;
        grid.hidden[NIC] = !node->nnics;
        for (int column = 0; column < COLUMNS; column++)
            text_add(grid_at(&grid, 0, column), "%s", titles[column]);
        for (int g = 0; g < node->ngpus; g++)
            put_gpu(&grid, g + 1, node, g);
        grid_draw(&grid, text);
    }
    grid_clear(&grid);
}

static bool are_instances(const struct node *node, int a, int b)
{
    return node->gpus[a].mig && strcmp(node->gpus[a].pci, node->gpus[b].pci) == 0;
}

/* Positions of the first of each GPU's instances: they have their paths in common. */
static int find_functions(const struct node *node, int at[NODE_MAX_GPUS])
{
    int n = 0;

    for (int g = 0; g < node->ngpus; g++)
        if (!g || !are_instances(node, g, g - 1))
            at[n++] = g;
    return n;
}

/* "GPU0", or "GPU0-6" for its instances. */
static void put_name(struct text *cell, const struct node *node, int g)
{
    int last = g;

    while (last + 1 < node->ngpus && are_instances(node, last + 1, g))
        last++;
    text_add(cell, "GPU%d", node->gpus[g].index);
    if (last > g)
        text_add(cell, "-%d", node->gpus[last].index);
}

static void put_connection(struct text *cell, struct connection connection, bool seen[CONNECTIONS])
{
    char code[16];

    connection_code(connection, code);
    text_add(cell, "%s", code);
    seen[connection.kind] = true;
}

static void put_connections(const struct grid *grid, const struct node *node, const int *at, int n,
                            bool seen[CONNECTIONS])
{
    for (int row = 0; row < n; row++) {
        put_name(grid_at(grid, row + 1, 0), node, at[row]);
        put_name(grid_at(grid, 0, row + 1), node, at[row]);
        for (int column = 0; column < n; column++)
            put_connection(grid_at(grid, row + 1, column + 1),
                           connection_of_gpus(node, at[row], at[column]), seen);
        for (int nic = 0; nic < node->nnics; nic++)
            put_connection(grid_at(grid, row + 1, n + 1 + nic),
                           connection_of_nic(node, at[row], nic), seen);
    }
    for (int nic = 0; nic < node->nnics; nic++)
        text_add(grid_at(grid, 0, n + 1 + nic), "%s", node->nics[nic].name);
}

static void add_matrix(const struct node *node, struct text *text)
{
    int at[NODE_MAX_GPUS], n = find_functions(node, at);
    bool seen[CONNECTIONS] = {false};
    struct grid grid;

    if (n + node->nnics < 2)
        return;
    if (grid_make(&grid, n + 1, 1 + n + node->nnics) < 0) {
        text->failed = true;
    } else {
        put_connections(&grid, node, at, n, seen);
        text_add(text, "\n");
        grid_draw(&grid, text);
        text_add(text, "\n");
    }
    for (int kind = 0; kind < CONNECTIONS; kind++)
        if (seen[kind])
            text_add(text, "  %-5s  %s\n", connection_letters((enum connection_kind)kind),
                     connection_meaning((enum connection_kind)kind));
    grid_clear(&grid);
}

static void add_title(const struct node *node, struct text *text)
{
    text_add(text, "node %s: %d GPU%s, %d core%s, %d NIC%s%s\n", node->name[0] ? node->name : "?",
             node->ngpus, node->ngpus == 1 ? "" : "s", node->ncores, node->ncores == 1 ? "" : "s",
             node->nnics, node->nnics == 1 ? "" : "s", node->recorded ? ", recorded" : "");
}

void render_list(const struct node *node, struct text *text)
{
    add_title(node, text);
    if (!node->ngpus)
        return;
    add_gpus(node, text);
    add_matrix(node, text);
}
