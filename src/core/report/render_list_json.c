/* A node's GPUs, NICs and the links between them as JSON, on one line. */
#include "core/base/json.h"
#include "core/report/render_list.h"
#include "core/topo/link_matrix.h"

static void add_cpus(struct json *json, const struct node *node, const struct idset *cores)
{
    struct idset cpus;

    cores_pus(node, cores, &cpus);
    json_ids(json, "cpus", &cpus);
}

static void add_gpu(struct json *json, const struct node *node, int g)
{
    const struct gpu *gpu = &node->gpus[g];
    struct idset numas;

    gpu_numas(node, gpu, &numas);
    json_open(json, NULL, '{');
    json_value(json, "index", "%d", gpu->index);
    json_string(json, "vendor", vendor_name(gpu->vendor));
    json_string(json, "model", gpu->model);
    json_string(json, "pci", gpu->pci);
    json_string(json, "uuid", gpu->uuid);
    json_bool(json, "mig", gpu->mig);
    json_ids(json, "numa", &numas);
    add_cpus(json, node, &gpu->cores);
    json_open(json, "nics", '[');
    for (int n = 0; n < node->nnics; n++)
        if (is_nearest_nic(node, g, n))
            json_string(json, NULL, node->nics[n].name);
    json_close(json, ']');
    json_close(json, '}');
}

static void add_nic(struct json *json, const struct node *node, int n)
{
    json_open(json, NULL, '{');
    json_string(json, "name", node->nics[n].name);
    json_string(json, "pci", node->nics[n].pci);
    add_cpus(json, node, &node->nics[n].cores);
    json_close(json, '}');
}

enum matrix { GPU_PATHS, GPU_BANDWIDTH, NIC_PATHS };

static void add_element(struct json *json, const struct node *node, enum matrix matrix, int g,
                        int column)
{
    char code[16];

    if (matrix == GPU_BANDWIDTH) {
        json_value(json, NULL, "%u", node->link[g * node->ngpus + column]);
        return;
    }
    connection_code(matrix == NIC_PATHS ? connection_of_nic(node, g, column)
                                        : connection_of_gpus(node, g, column),
                    code);
    json_string(json, NULL, code);
}

/* One row a GPU. */
static void add_matrix(struct json *json, const char *key, const struct node *node,
                       enum matrix matrix)
{
    int ncolumns = matrix == NIC_PATHS ? node->nnics : node->ngpus;

    json_open(json, key, '[');
    for (int g = 0; g < node->ngpus; g++) {
        json_open(json, NULL, '[');
        for (int column = 0; column < ncolumns; column++)
            add_element(json, node, matrix, g, column);
        json_close(json, ']');
    }
    json_close(json, ']');
}

void render_list_json(const struct node *node, struct text *text)
{
    struct json json = {.text = text};

    json_open(&json, NULL, '{');
    json_string(&json, "node", node->name);
    json_bool(&json, "recorded", node->recorded);
    json_value(&json, "cores", "%d", node->ncores);
    json_open(&json, "gpus", '[');
    for (int g = 0; g < node->ngpus; g++)
        add_gpu(&json, node, g);
    json_close(&json, ']');
    json_open(&json, "nics", '[');
    for (int n = 0; n < node->nnics; n++)
        add_nic(&json, node, n);
    json_close(&json, ']');
    add_matrix(&json, "gpu_paths", node, GPU_PATHS);
    add_matrix(&json, "gpu_bandwidth", node, GPU_BANDWIDTH);
    add_matrix(&json, "nic_paths", node, NIC_PATHS);
    json_close(&json, '}');
    text_add(text, "\n");
}
