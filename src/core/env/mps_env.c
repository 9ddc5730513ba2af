/* What MPS needs in a rank's environment. */
#include "core/env/mps_env.h"

#include <stdio.h>
#include <string.h>

static bool has_gpu(const struct plan_rank *rank, int gpu)
{
    for (int i = 0; i < rank->ngpus; i++)
        if (rank->gpus[i] == gpu)
            return true;
    return false;
}

int mps_sharers(const struct plan *plan, const struct plan_rank *rank)
{
    int most = 0;

    for (int i = 0; i < rank->ngpus; i++) {
        int sharers = 0;

        for (int r = 0; r < plan->nranks; r++)
            sharers += has_gpu(&plan->ranks[r], rank->gpus[i]);
        if (sharers > most)
            most = sharers;
    }
    return most;
}

const char *mps_directory(const char *set)
{
    return set && *set ? set : "/tmp/nvidia-mps";
}

bool mps_is_shared(const struct plan *plan)
{
    for (int r = 0; r < plan->nranks; r++)
        if (mps_sharers(plan, &plan->ranks[r]) > 1)
            return true;
    return false;
}

static bool has_workers(const struct plan *plan)
{
    for (int r = 0; r < plan->nranks; r++)
        if (plan->ranks[r].role != ROLE_MASTER)
            return true;
    return false;
}

int mps_check_gpus(const struct node *node, const struct plan *plan, struct gpubind_error *err)
{
    struct idset used;
    bool has_instance = false;

    if (!has_workers(plan))
        return 0;
    if (node->ngpus == 0 || node->gpus[0].vendor != GPU_NVIDIA)
        return error_set(err, "--mps: %s has no NVIDIA GPU that ranks could share", node->name);
    mps_gpus(node, plan, false, &used);
    for (int g = idset_next(&used, -1); g >= 0; g = idset_next(&used, g))
        has_instance |= node->gpus[g].mig;
    if (has_instance && idset_count(&used) > 1 && mps_is_shared(plan))
        return error_set(err,
                         "--mps: %s has %d GPUs in use, of which some are MIG instances; an MPS "
                         "server can have one instance and nothing else",
                         node->name, idset_count(&used));
    return 0;
}

/* The driver looks for UUIDs where the first entry is one. */
static bool is_by_uuid(const char *value)
{
    value += strspn(value, " \t");
    return strncmp(value, "GPU-", 4) == 0 || strncmp(value, "MIG-", 4) == 0;
}

int mps_check_visible(const struct plan_rank *rank, const struct prefs *prefs, const char *left,
                      struct gpubind_error *err)
{
    bool written = !rank->kept && prefs->visible != VISIBLE_ALL && !left;

    if (!rank->ngpus)
        return 0;
    if (written && prefs->ids == IDS_INDEX)
        return error_set(err, "--mps and --ids index exclude each other: an MPS server numbers "
                              "its GPUs anew");
    if (left && !is_by_uuid(left))
        return error_set(err,
                         "--mps: local rank %d is left with CUDA_VISIBLE_DEVICES=%s, but an MPS "
                         "server numbers its GPUs anew; name them by UUID",
                         rank->local, left);
    return 0;
}

void mps_gpus(const struct node *node, const struct plan *plan, bool all, struct idset *gpus)
{
    idset_clear(gpus);
    for (int r = 0; r < plan->nranks; r++)
        for (int i = 0; i < plan->ranks[r].ngpus; i++) {
            idset_add(gpus, plan->ranks[r].gpus[i]);
            /* A process that uses an instance can use nothing else. */
            all = all && !node->gpus[plan->ranks[r].gpus[i]].mig;
        }
    for (int g = 0; all && g < node->ngpus; g++)
        if (!node->gpus[g].mig)
            idset_add(gpus, g);
}

int mps_devices(const struct node *node, const struct idset *gpus, struct text *value,
                struct gpubind_error *err)
{
    for (int g = idset_next(gpus, -1), n = 0; g >= 0; g = idset_next(gpus, g), n++) {
        if (!node->gpus[g].uuid[0])
            return error_set(err,
                             "--mps: the UUID of GPU %s cannot be read, and an MPS server "
                             "numbers its GPUs anew",
                             node->gpus[g].pci);
        text_add(value, "%s%s", n ? "," : "", node->gpus[g].uuid);
    }
    return value->failed ? error_set(err, "out of memory") : 0;
}

static void add(struct env_list *list, enum env_how how, const char *name, const char *value)
{
    list->item[list->n++] = (struct env_item){how, name, strdup(value)};
}

/* A server's clients share its channels (NVIDIA, Multi-Process Service, CUDA_DEVICE_MAX_CONNECTIONS), of which an H200
 * with driver 580 has 120, and gives each client 2 in place of the 8 that a process has without MPS. The server may be
 * that of several GPUs, and other processes of the job may be clients, too. */
#define CHANNELS 64 /* that ranks share */
#define CHANNELS_MOST 8

/* Of a rank; 0: as many as the server gives it. */
static int channels(const struct plan *plan)
{
    int clients = 0, part;

    for (int r = 0; r < plan->nranks; r++)
        clients += plan->ranks[r].ngpus > 0;
    part = CHANNELS / (clients > 0 ? clients : 1);
    return part > CHANNELS_MOST ? CHANNELS_MOST : part > 2 ? part : 0;
}

int mps_render_env(const struct plan *plan, const struct plan_rank *rank, const char *pipe,
                   const char *log, struct env_list *list)
{
    int first = list->n, sharers = mps_sharers(plan, rank);
    char percentage[16], connections[16];

    if (!sharers)
        return 0;
    add(list, ENV_SET, "CUDA_MPS_PIPE_DIRECTORY", pipe);
    if (*log)
        add(list, ENV_SET, "CUDA_MPS_LOG_DIRECTORY", log);
    if (sharers > 1) {
        snprintf(percentage, sizeof percentage, "%d", sharers < 100 ? 100 / sharers : 1);
        add(list, ENV_DEFAULT, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", percentage);
    }
    snprintf(connections, sizeof connections, "%d", channels(plan));
    if (channels(plan) > 0)
        add(list, ENV_DEFAULT, "CUDA_DEVICE_MAX_CONNECTIONS", connections);
    for (int i = first; i < list->n; i++)
        if (!list->item[i].value)
            return -1;
    return 0;
}
