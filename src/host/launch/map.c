#include "host/launch/map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/sys/file.h"

static int add_entry(const struct node *node, const char *entry, struct policy *policy,
                     struct gpubind_error *err)
{
    struct gpubind_error why;
    int gpu = node_find_gpu(node, entry, &why);

    if (gpu < 0)
        return error_set(err, "--map: %s", why.text);
    for (int i = 0; i < policy->nmap; i++)
        if (policy->map[i] == gpu)
            return error_set(err, "--map: '%s' names GPU %d a second time", entry,
                             node->gpus[gpu].index);
    policy->map[policy->nmap++] = gpu;
    return 0;
}

int map_read(const struct node *node, const char *text, struct policy *policy,
             struct gpubind_error *err)
{
    char *copy = *text == '@' ? file_read_list(text + 1, err) : strdup(text);
    char *rest = copy, *entry;
    int status = 0;

    if (!copy)
        return *text == '@' ? -1 : error_set(err, "out of memory");
    policy->nmap = 0;
    /* A node without GPU has nothing to map; what that means is the plan's. */
    while (node->ngpus && status == 0 && (entry = strsep(&rest, ", \t\r\n")))
        if (*entry)
            status = add_entry(node, entry, policy, err);
    if (status == 0 && node->ngpus && !policy->nmap)
        status = error_set(err, "--map %s names no GPU", text);
    free(copy);
    return status;
}
