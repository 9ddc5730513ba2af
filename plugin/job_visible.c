/* The GPUs that a job's environment names, before it is planned: Slurm's numbers of a step's GPUs
 * are translated to what CUDA reads in this process, and UUIDs are to be known. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/discover/nvidia.h"
#include "host/launch/visible_gpus.h"
#include "host/sys/env_array.h"
#include "plugin/job.h"

/* A pretended machine has no device files: there the numbers are positions. */
static bool has_minors(const struct node *node)
{
    for (int g = 0; g < node->ngpus; g++)
        if (node->gpus[g].vendor == GPU_NVIDIA && node->gpus[g].minor >= 0)
            return true;
    return false;
}

/* The GPUs whose device files have these numbers and may be opened. All as UUIDs, or where one
 * cannot be read all as CUDA's indices, which count the GPUs that may be opened. */
static int name_gpus(const struct node *node, const struct idset *numbers, struct text *value)
{
    struct idset openable;
    bool uuids = true;
    int index = 0, n = 0;

    nvidia_minors("", &openable);
    for (int g = 0; g < node->ngpus; g++)
        uuids &= !idset_has(numbers, node->gpus[g].minor) || node->gpus[g].uuid[0];
    for (int g = 0; g < node->ngpus; g++) {
        const struct gpu *gpu = &node->gpus[g];

        if (gpu->minor >= 0 && !idset_has(&openable, gpu->minor))
            continue;
        if (idset_has(numbers, gpu->minor)) {
            text_add(value, "%s", n++ ? "," : "");
            if (uuids)
                text_add(value, "%s", gpu->uuid);
            else
                text_add(value, "%d", index);
        }
        index++;
    }
    return n;
}

/* In the job's environment, which slurm_env made with the variable in it, and in what was read
 * of it. */
static int replace_visible(struct plugin_job *job, const char *value)
{
    char *visible = strdup(value);

    if (!visible || env_array_replace(job->env, visible_variable(GPU_NVIDIA), value) < 0) {
        free(visible);
        return error_set(&job->why_not, "out of memory");
    }
    free(job->view.visible[GPU_NVIDIA]);
    job->view.visible[GPU_NVIDIA] = visible;
    return 0;
}

static int show_step_gpus(struct plugin_job *job)
{
    const struct node *node = &job->placement.node;
    const char *step = job->env ? getenv("GPUBIND_RELAY_GPUS") : NULL;
    struct text value = {0};
    struct idset numbers;
    int status = -1;

    if (!step || !*step || !has_minors(node))
        return 0;
    if (idlist_parse(step, "SLURM_STEP_GPUS", &numbers, &job->why_not) < 0)
        return -1;
    if (name_gpus(node, &numbers, &value) == 0)
        error_set(&job->why_not, "SLURM_STEP_GPUS=%s names no GPU that may be opened here", step);
    else if (value.failed)
        error_set(&job->why_not, "out of memory");
    else
        status = replace_visible(job, value.bytes);
    text_clear(&value);
    return status;
}

int plugin_job_see(struct plugin_job *job)
{
    if (show_step_gpus(job) < 0)
        return -1;
    return visible_gpus_check(&job->placement.node, job->view.visible[GPU_NVIDIA], &job->why_not);
}
