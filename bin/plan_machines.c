/* The machines of --plan --nodes: each topology file is loaded once. */
#include <stdlib.h>
#include <string.h>

#include "bin/plan_job.h"

static bool same_file(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static int find(const struct machines *machines, const char *file)
{
    /* Successive nodes mostly have the same topology. */
    for (int m = machines->n - 1; m >= 0; m--)
        if (same_file(machines->machine[m].file, file))
            return m;
    return -1;
}

static int load(struct machines *machines, const char *file, const struct rules *rules,
                struct gpubind_error *err)
{
    struct machine *wider = realloc(machines->machine, ((size_t)machines->n + 1) * sizeof *wider);
    struct placement placement;

    if (!wider)
        return error_set(err, "out of memory");
    machines->machine = wider;
    if (placement_load(&placement, rules, file, err) < 0)
        return -1;
    wider[machines->n] = (struct machine){.file = file, .node = placement.node};
    return machines->n++;
}

int machines_load(struct machines *machines, const struct layout *layout, const struct rules *rules,
                  struct gpubind_error *err)
{
    machines->of_node = malloc((size_t)layout->nnodes * sizeof *machines->of_node);
    if (!machines->of_node)
        return error_set(err, "out of memory");
    for (int n = 0; n < layout->nnodes; n++) {
        const char *own = layout->nodes[n].file, *file = own[0] ? own : rules->topology;
        int machine = find(machines, file);

        if (machine < 0)
            machine = load(machines, file, rules, err);
        if (machine < 0)
            return -1;
        machines->of_node[n] = machine;
    }
    return 0;
}

void machines_clear(struct machines *machines)
{
    for (int m = 0; m < machines->n; m++)
        node_clear(&machines->machine[m].node);
    free(machines->machine);
    free(machines->of_node);
    memset(machines, 0, sizeof *machines);
}
