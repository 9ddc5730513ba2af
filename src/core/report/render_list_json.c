#include <stdlib.h>

#include "core/report/render_list.h"
#include "core/topo/link_matrix.h"

static void add_ids(const char *key, const struct idset *set, struct text *text)
{
    char *ids = idlist_text(set);

    text_add(text, ",\"%s\":\"%s\"", key, ids ? ids : "");
    text->failed |= !ids;
    free(ids);
}

static void add_string(const char *key, const char *value, struct text *text)
{
    text_add(text, ",\"%s\":", key);
    text_add_json(text, value);
}

static void add_gpu(const struct node *node, int g, struct text *text)
{
    const struct gpu *gpu = &node->gpus[g];
    const char *comma = "";
    struct idset set;

    text_add(text, "%s{\"index\":%d", g ? "," : "", gpu->index);
    add_string("vendor", vendor_name(gpu->vendor), text);
    add_string("model", gpu->model, text);
    add_string("pci", gpu->pci, text);
    add_string("uuid", gpu->uuid, text);
    text_add(text, ",\"mig\":%s", gpu->mig ? "true" : "false");
    gpu_numas(node, gpu, &set);
    add_ids("numa", &set, text);
    cores_pus(node, &gpu->cores, &set);
    add_ids("cpus", &set, text);
    text_add(text, ",\"nics\":[");
    for (int n = 0; n < node->nnics; n++)
        if (is_nearest_nic(node, g, n)) {
            text_add(text, "%s", comma);
            text_add_json(text, node->nics[n].name);
            comma = ",";
        }
    text_add(text, "]}");
}

static void add_nic(const struct node *node, int n, struct text *text)
{
    struct idset pus;

    text_add(text, "%s{\"name\":", n ? "," : "");
    text_add_json(text, node->nics[n].name);
    add_string("pci", node->nics[n].pci, text);
    cores_pus(node, &node->nics[n].cores, &pus);
    add_ids("cpus", &pus, text);
    text_add(text, "}");
}

static void add_connection(struct connection connection, int column, struct text *text)
{
    char code[16];

    connection_code(connection, code);
    text_add(text, "%s\"%s\"", column ? "," : "", code);
}

enum matrix { GPU_PATHS, GPU_BANDWIDTH, NIC_PATHS };

static void add_matrix(const char *key, const struct node *node, enum matrix matrix,
                       struct text *text)
{
    int ncolumns = matrix == NIC_PATHS ? node->nnics : node->ngpus;

    text_add(text, ",\"%s\":[", key);
    for (int g = 0; g < node->ngpus; g++) {
        text_add(text, "%s[", g ? "," : "");
        for (int column = 0; column < ncolumns; column++)
            if (matrix == GPU_BANDWIDTH)
                text_add(text, "%s%u", column ? "," : "", node->link[g * node->ngpus + column]);
            else
                add_connection(matrix == NIC_PATHS ? connection_of_nic(node, g, column)
                                             : connection_of_gpus(node, g, column),
                         column, text);
        text_add(text, "]");
    }
    text_add(text, "]");
}

void render_list_json(const struct node *node, struct text *text)
{
    text_add(text, "{\"node\":");
    text_add_json(text, node->name);
    text_add(text, ",\"recorded\":%s,\"cores\":%d,\"gpus\":[", node->recorded ? "true" : "false",
             node->ncores);
    for (int g = 0; g < node->ngpus; g++)
        add_gpu(node, g, text);
    text_add(text, "],\"nics\":[");
    for (int n = 0; n < node->nnics; n++)
        add_nic(node, n, text);
    text_add(text, "]");
    add_matrix("gpu_paths", node, GPU_PATHS, text);
    add_matrix("gpu_bandwidth", node, GPU_BANDWIDTH, text);
    add_matrix("nic_paths", node, NIC_PATHS, text);
    text_add(text, "}\n");
}
