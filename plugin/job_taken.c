/* Which GPUs a namespace finds taken: those of the ranks that spawned it; where the site
 * wants jobs apart, those of all others. */
#include <stdio.h>
#include <string.h>

#include "host/discover/nvidia.h"
#include "host/launch/visible_gpus.h"
#include "plugin/job.h"

/* Jobs that spawn jobs; a namespace that were its own ancestor must not hang us. */
#define MAX_GENERATIONS 64

struct space *space_find(struct space *spaces, const char *name)
{
    while (spaces && strcmp(spaces->info.name, name) != 0)
        spaces = spaces->next;
    return spaces;
}

/* The namespace that spawned this one, or the one that spawned that, as far as they
 * are here. */
static const char *family(const struct space *space, struct space *spaces)
{
    const char *name = space->info.name;

    for (int depth = 0; depth < MAX_GENERATIONS && space && *space->info.parent; depth++) {
        name = space->info.parent;
        space = space_find(spaces, name);
    }
    return name;
}

/* Whether the GPUs of the other namespace's ranks come last for this one's. Of two that
 * have not started yet, the older one goes first; it looks again when it starts. */
static bool gives_way(const struct space *space, const struct space *other, bool is_older,
                      struct space *spaces)
{
    if (!other->planned)
        return false;
    if (space->view.exclusive)
        return is_older || other->started;
    if (!space->info.spawned)
        return false;
    return !*space->info.parent || strcmp(family(space, spaces), family(other, spaces)) == 0;
}

/* What a rank that is left alone sees, if it has a list of its own: without one that is
 * all of the node, of which nobody knows what it uses. */
static void add_seen(const struct node *node, const struct idset *minors, const char *list,
                     struct taken *taken)
{
    enum gpu_vendor vendor = node->gpus[0].vendor;
    struct gpubind_error err;
    struct facts facts = {.minors = *minors};
    struct idset seen;

    if (!list || strlen(list) >= sizeof facts.visible[vendor])
        return;
    facts.has_visible[vendor] = true;
    snprintf(facts.visible[vendor], sizeof facts.visible[vendor], "%s", list);
    if (sight_look(node, &facts, &seen, &err) < 0)
        return;
    for (int g = idset_next(&seen, -1); g >= 0; g = idset_next(&seen, g))
        taken[g].ranks++;
}

/* The other namespace's node may have fewer GPUs: those that its job sees. */
static void add_planned(const struct node *node, const struct placement *other,
                        const struct plan_rank *rank, struct taken *taken)
{
    for (int i = 0; i < rank->ngpus; i++) {
        const struct gpu *gpu = &other->node.gpus[rank->gpus[i]];

        for (int g = 0; g < node->ngpus; g++)
            taken[g].ranks += strcmp(taken[g].pci, gpu->pci) == 0 &&
                              strcmp(taken[g].uuid, gpu->uuid) == 0 &&
                              taken[g].part == gpu->part;
    }
}

static void add_ranks(const struct node *node, const struct space *other, struct taken *taken)
{
    struct idset minors;
    bool has_minors = false;

    for (int r = 0; r < other->info.nranks; r++) {
        const struct space_rank *rank = &other->info.ranks[r];
        const struct plan_rank *planned = plan_find(&other->placement.plan, rank->local);

        if (rank->left_alone && !has_minors)
            nvidia_minors("", &minors);
        has_minors |= rank->left_alone;
        if (rank->left_alone)
            add_seen(node, &minors, rank->sees, taken);
        else if (planned)
            add_planned(node, &other->placement, planned, taken);
    }
}

void space_taken(const struct space *space, struct space *spaces, const struct node *node,
                 struct taken *taken)
{
    bool is_older = false;

    memset(taken, 0, (size_t)node->ngpus * sizeof *taken);
    for (int g = 0; g < node->ngpus; g++) {
        memcpy(taken[g].pci, node->gpus[g].pci, sizeof taken[g].pci);
        memcpy(taken[g].uuid, node->gpus[g].uuid, sizeof taken[g].uuid);
        taken[g].part = node->gpus[g].part;
    }
    /* The youngest one comes first. */
    for (const struct space *other = spaces; node->ngpus && other; other = other->next) {
        if (other != space && gives_way(space, other, is_older, spaces))
            add_ranks(node, other, taken);
        is_older |= other == space;
    }
}
