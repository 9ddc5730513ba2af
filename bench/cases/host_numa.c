/* Copies from and to the memory of each NUMA node. */
#include <stdlib.h>

#include "bench/cases/host.h"
#include "bench/lib/sysfs.h"
#include "bench/output/output.h"
#include "core/base/idset.h"

/* The NUMA node of the GPU, or -1 if unknown. */
static int near_node(const struct bench_gpu *gpu)
{
    char line[32];

    sysfs_read_pci(gpu->pci, "numa_node", line, sizeof line);
    return *line ? atoi(line) : -1;
}

static int measure_node(struct host *host, int node, struct gpubind_error *err)
{
    int near = near_node(&host->gpu);
    struct host_memory memory;
    struct gpubind_error why;
    struct host_result result;

    if (host_memory_make(host, node, true, &memory, &why) < 0) {
        text_add(&host->table->notes, "NUMA node %d was left out: %s\n", node, why.text);
        return 0;
    }
    for (int direction = 0; direction <= HOST_DOWN; direction++) {
        output_progress(host->options, "copies %s, NUMA node %d", host_direction_word(direction),
                        node);
        if (host_measure(host, (enum host_direction)direction, &memory, &memory, &result, err) <
            0) {
            host_memory_clear(&memory);
            return -1;
        }
        host_add(host, "numa", (enum host_direction)direction, &result);
        table_set_word(host->table, HOST_MEMORY, "page-locked");
        table_set_number(host->table, HOST_NODE, node);
        if (near >= 0)
            table_set_word(host->table, HOST_NEAR, node == near ? "near" : "far");
    }
    host_memory_clear(&memory);
    return 0;
}

int host_measure_numa(struct host *host, struct gpubind_error *err)
{
    struct idset nodes;
    char line[256];

    sysfs_read("/sys/devices/system/node/has_memory", line, sizeof line);
    if (!*line || idlist_parse(line, "NUMA nodes", &nodes, NULL) < 0 || idset_count(&nodes) < 2) {
        text_add(&host->table->notes, "the machine has one NUMA node: all of its memory is near\n");
        return 0;
    }
    if (near_node(&host->gpu) < 0)
        text_add(&host->table->notes, "the machine does not say which NUMA node is near the GPU\n");
    for (int node = idset_next(&nodes, -1); node >= 0; node = idset_next(&nodes, node))
        if (measure_node(host, node, err) < 0)
            return -1;
    return 0;
}
