#include <stdlib.h>

#include "core/report/render.h"
#include "core/topo/gpu_neighbors.h"

static void add_ids(const struct idset *set, struct text *text)
{
    char *ids = idlist_text(set);

    text_add(text, "\"%s\"", ids ? ids : "");
    text->failed |= !ids;
    free(ids);
}

static void add_number(int number, struct text *text)
{
    if (number < 0)
        text_add(text, "null");
    else
        text_add(text, "%d", number);
}

static void add_gpus(const struct node *node, const struct plan_rank *rank, struct text *text)
{
    for (int i = 0; i < rank->ngpus; i++) {
        const struct gpu *gpu = &node->gpus[rank->gpus[i]];

        text_add(text, "%s{\"index\":%d,\"pci\":", i ? "," : "", gpu->index);
        text_add_json(text, gpu->pci);
        text_add(text, ",\"uuid\":");
        text_add_json(text, gpu->uuid);
        text_add(text, "}");
    }
}

static void add_rank(const struct node *node, const struct plan_rank *rank,
                     const struct gpu_ranks *peers, struct text *text)
{
    int north, south;

    peers_neighbors(peers->ranks, peers->n, rank->rank, &north, &south);
    text_add(text, "{\"rank\":%d,\"local\":%d,\"role\":\"%s\",\"gpus\":[", rank->rank, rank->local,
             role_name(rank->role));
    add_gpus(node, rank, text);
    text_add(text, "],\"cpus\":");
    add_ids(&rank->cpus, text);
    text_add(text, ",\"numa\":");
    add_ids(&rank->numas, text);
    text_add(text, ",\"nic\":");
    text_add_json(text, rank->nic < 0 ? NULL : node->nics[rank->nic].name);
    text_add(text, ",\"north\":");
    add_number(north, text);
    text_add(text, ",\"south\":");
    add_number(south, text);
    text_add(text, "}");
}

void render_json(const struct node *node, const struct plan *plan, const struct gpu_ranks *peers,
                 struct text *text)
{
    text_add(text, "{\"node\":");
    text_add_json(text, node->name);
    text_add(text, ",\"plan\":\"%016llx\",\"ranks\":[", (unsigned long long)plan->hash);
    for (int r = 0; r < plan->nranks; r++) {
        text_add(text, "%s", r ? "," : "");
        add_rank(node, &plan->ranks[r], peers, text);
    }
    text_add(text, "]}\n");
}
