/* A plan as JSON: one object a node, on one line. */
#include "core/base/json.h"
#include "core/plan/job.h"
#include "core/report/render.h"

static void add_neighbor(struct json *json, const char *key, int rank)
{
    if (rank < 0)
        json_string(json, key, NULL);
    else
        json_value(json, key, "%d", rank);
}

static void add_rank(struct json *json, const struct node *node, const struct plan_rank *rank,
                     const struct gpu_ranks *peers)
{
    int north, south;

    json_open(json, NULL, '{');
    json_value(json, "rank", "%d", rank->rank);
    json_value(json, "local", "%d", rank->local);
    json_string(json, "role", role_name(rank->role));
    json_open(json, "gpus", '[');
    for (int i = 0; i < rank->ngpus; i++) {
        const struct gpu *gpu = &node->gpus[rank->gpus[i]];

        json_open(json, NULL, '{');
        json_value(json, "index", "%d", gpu->index);
        json_string(json, "pci", gpu->pci);
        json_string(json, "uuid", gpu->uuid);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_ids(json, "cpus", &rank->cpus);
    json_ids(json, "numa", &rank->numas);
    json_string(json, "nic", rank->nic < 0 ? NULL : node->nics[rank->nic].name);
    if (peers) {
        job_neighbors(peers->ranks, peers->n, rank->rank, &north, &south);
        add_neighbor(json, "north", north);
        add_neighbor(json, "south", south);
    }
    json_close(json, '}');
}

void render_json(const struct node *node, const struct plan *plan, const struct gpu_ranks *peers,
                 struct text *text)
{
    struct json json = {.text = text};

    json_open(&json, NULL, '{');
    json_string(&json, "node", node->name);
    json_value(&json, "plan", "\"%016llx\"", (unsigned long long)plan->hash);
    json_open(&json, "ranks", '[');
    for (int r = 0; r < plan->nranks; r++)
        add_rank(&json, node, &plan->ranks[r], peers);
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(text, "\n");
}
