/* --mps: decides whether the node needs an MPS server, and starts it. */
#include "host/mps/mps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/env/mps_env.h"
#include "host/discover/nvml.h"
#include "host/mps/mps_control.h"
#include "host/mps/mps_dir.h"
#include "host/mps/mps_supervisor.h"

/* What CUDA_VISIBLE_DEVICES is left at for the rank, NULL: it is not. */
static const char *left_visible(const struct plan_rank *rank, const struct facts *facts)
{
    bool is_left = rank->kept || facts->planned || facts->prefs.visible == VISIBLE_ALL;

    return is_left && facts->has_visible[GPU_NVIDIA] ? facts->visible[GPU_NVIDIA] : NULL;
}

static int check_ranks(const struct plan *plan, const struct facts *facts,
                       const struct rendezvous_message *messages, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++) {
        const struct plan_rank *rank = plan_find(plan, facts[i].local);

        if (messages[i].pid < 1)
            return error_set(err,
                             "--mps: local rank %d is in a PID namespace of its own, so nobody "
                             "could tell when it ends",
                             facts[i].local);
        if (mps_check_visible(rank, &facts[i].prefs, left_visible(rank, &facts[i]), err) < 0)
            return -1;
    }
    return 0;
}

/* Whether a rank may see more than its own GPUs. */
static bool sees_others(const struct plan *plan, const struct facts *facts, int n)
{
    for (int i = 0; i < n; i++) {
        const struct plan_rank *rank = plan_find(plan, facts[i].local);

        if (rank->ngpus &&
            (rank->kept || facts[i].planned || facts[i].prefs.visible == VISIBLE_ALL ||
             facts[i].prefs.visible == VISIBLE_FIRST))
            return true;
    }
    return false;
}

/* The leader's process is the one whose children the server will be. */
static int check_access(const struct node *node, const struct idset *gpus,
                        const struct facts *leader, struct gpubind_error *err)
{
    for (int g = idset_next(gpus, -1); g >= 0; g = idset_next(gpus, g)) {
        int minor = node->gpus[g].minor;

        if (minor >= 0 && !idset_has(&leader->minors, minor))
            return error_set(err,
                             "--mps: GPU %s may not be opened by local rank %d, which would start "
                             "the MPS server",
                             node->gpus[g].pci, leader->local);
    }
    return 0;
}

static int check_modes(const struct node *node, const struct idset *gpus, struct text *notes,
                       struct gpubind_error *err)
{
    struct nvml_gpu *list = calloc(NVML_MAX_GPUS, sizeof *list);
    struct gpubind_error why;
    int n = list ? nvml_ask(false, NVML_SECONDS, list, NVML_MAX_GPUS, &why) : 0, status = 0;

    if (n == NVML_FAILED)
        text_add(notes, "%s: --mps: %s, so the GPUs' compute modes are not known\n", node->name,
                 why.text);
    for (int g = idset_next(gpus, -1); g >= 0; g = idset_next(gpus, g))
        for (int i = 0; i < n && status == 0; i++)
            if (list[i].prohibited && strcasecmp(list[i].pci, node->gpus[g].pci) == 0)
                status = error_set(err,
                                   "--mps: GPU %s is in compute mode Prohibited (nvidia-smi -c "
                                   "changes it)",
                                   list[i].pci);
    free(list);
    return status;
}

/* A daemon under the user's settings that serves this user: the user's own, or
 * root's, which serves everybody. */
static bool find_daemon(struct mps *mps)
{
    const char *directory = mps_directory(getenv("CUDA_MPS_PIPE_DIRECTORY"));
    char control[sizeof mps->pipe + 16];
    struct stat about;
    int length = snprintf(mps->pipe, sizeof mps->pipe, "%s", directory);

    if (length >= (int)sizeof mps->pipe || !mps_is_served("", directory))
        return false;
    snprintf(control, sizeof control, "%s/control", mps->pipe);
    return lstat(control, &about) == 0 && (S_ISSOCK(about.st_mode) || S_ISFIFO(about.st_mode)) &&
           (about.st_uid == geteuid() || about.st_uid == 0) && mps_control_answers(mps->pipe);
}

static int start_own(const struct placement *placement, const char *devices,
                     const struct rendezvous_message *messages, int n, struct mps *mps,
                     struct gpubind_error *err)
{
    struct mps_dir folder;
    struct idset cpus;
    struct mps_watch watch = {.folder = &folder,
                              .devices = devices,
                              .npids = n,
                              .pids = malloc((size_t)n * sizeof *watch.pids)};
    int status = watch.pids ? mps_dir_make(&folder, err) : error_set(err, "out of memory");

    if (status < 0) {
        free(watch.pids);
        return -1;
    }
    for (int i = 0; i < n; i++)
        watch.pids[i] = messages[i].pid;
    node_pus(&placement->node, &cpus);
    if (!placement->node.recorded)
        watch.cpus = &cpus;
    status = mps_supervisor_start(&watch, err);
    if (status < 0)
        mps_dir_remove(&folder);
    close(folder.lock);
    free(watch.pids);
    snprintf(mps->pipe, sizeof mps->pipe, "%s", folder.pipe);
    snprintf(mps->log, sizeof mps->log, "%s", folder.log);
    return status;
}

/* If one rank asks for a server, all ranks that share a GPU use it. */
static bool is_asked_for(const struct facts *facts, int n)
{
    for (int i = 0; i < n; i++)
        if (facts[i].mps)
            return true;
    return false;
}

int mps_start(const struct placement *placement, const struct facts *facts,
              const struct rendezvous_message *messages, int n, struct mps *mps, struct text *notes,
              struct text *remarks, struct gpubind_error *err)
{
    const struct node *node = &placement->node;
    const struct plan *plan = &placement->plan;
    struct text devices = {0};
    struct idset gpus;
    int status;

    memset(mps, 0, sizeof *mps);
    if (!is_asked_for(facts, n))
        return 0;
    if (mps_check_gpus(node, plan, err) < 0)
        return -1;
    if (!mps_is_shared(plan)) {
        text_add(remarks, "%s: no GPU is shared, so --mps starts no MPS server\n", node->name);
        return 0;
    }
    mps_gpus(node, plan, sees_others(plan, facts, n), &gpus);
    status = check_ranks(plan, facts, messages, n, err);
    if (status == 0)
        status = mps_devices(node, &gpus, &devices, err);
    if (status == 0 && find_daemon(mps)) {
        text_add(notes, "%s: the MPS server of %s is used; --mps starts none\n", node->name,
                 mps->pipe);
    } else if (status == 0) {
        status = check_access(node, &gpus, &facts[0], err);
        if (status == 0)
            status = check_modes(node, &gpus, notes, err);
        if (status == 0)
            status = start_own(placement, devices.bytes, messages, n, mps, err);
        if (status == 0)
            text_add(remarks, "%s: an MPS server for this job has its pipes in %s\n", node->name,
                     mps->pipe);
    }
    text_clear(&devices);
    mps->runs = status == 0;
    return status;
}
