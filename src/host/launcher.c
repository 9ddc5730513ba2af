#include "host/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job.h"
#include "host/binding_policy.h"
#include "host/process.h"

/* The variables by which a launcher tells a process where it stands. Innermost
 * first: mpirun may run inside a Slurm step and inherits its variables. */
static const struct launcher {
    const char *name;
    const char *rank, *size, *local, *local_size;
    /* Slurm's list "4(x2),3" and the node's position in it, in place of local_size. */
    const char *tasks_per_node, *node;
    const char *job[3];  /* together they name job and step */
    const char *daemon;  /* starts the ranks; names the job where nothing else does */
    const char *outer;   /* a launcher whose variables are known to stay around */
} launchers[] = {
    {.name = "openmpi", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE",
     .local = "OMPI_COMM_WORLD_LOCAL_RANK", .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}, .daemon = "orted", .outer = "slurm"},
    {.name = "jsrun", .rank = "JSM_NAMESPACE_RANK", .size = "JSM_NAMESPACE_SIZE",
     .local = "JSM_NAMESPACE_LOCAL_RANK", .local_size = "JSM_NAMESPACE_LOCAL_SIZE",
     .job = {"LSB_JOBID", "JSM_NAMESPACE"}, .daemon = "jsmd"},
    {.name = "mvapich", .rank = "MV2_COMM_WORLD_RANK", .size = "MV2_COMM_WORLD_SIZE",
     .local = "MV2_COMM_WORLD_LOCAL_RANK", .local_size = "MV2_COMM_WORLD_LOCAL_SIZE",
     .daemon = "mpispawn", .outer = "slurm"},
    {.name = "pals", .rank = "PALS_RANKID", .size = "PALS_SIZE", .local = "PALS_LOCAL_RANKID",
     .local_size = "PALS_LOCAL_SIZE", .job = {"PALS_APID"}, .daemon = "palsd"},
    {.name = "hydra", .rank = "PMI_RANK", .size = "PMI_SIZE", .local = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS", .daemon = "hydra_pmi_proxy", .outer = "slurm"},
    {.name = "flux", .rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE",
     .local = "FLUX_TASK_LOCAL_ID", .job = {"FLUX_JOB_ID"}, .daemon = "flux-shell",
     .outer = "slurm"},
    {.name = "slurm", .rank = "SLURM_PROCID", .size = "SLURM_NTASKS", .local = "SLURM_LOCALID",
     .tasks_per_node = "SLURM_STEP_TASKS_PER_NODE", .node = "SLURM_NODEID",
     .job = {"SLURM_JOB_ID", "SLURM_STEP_ID"}, .daemon = "slurmstepd"},
    {.name = "torchrun", .rank = "RANK", .size = "WORLD_SIZE", .local = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE", .job = {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}},
    {.name = "pmix", .rank = "PMIX_RANK", .job = {"PMIX_NAMESPACE"}, .daemon = "prted",
     .outer = "slurm"},
};
#define NLAUNCHERS (sizeof launchers / sizeof launchers[0])

void launcher_names(struct text *text)
{
    for (size_t i = 0; i < NLAUNCHERS; i++)
        text_add(text, "%s%s", i ? "|" : "", launchers[i].name);
}

bool launcher_known(const char *name)
{
    for (size_t i = 0; i < NLAUNCHERS; i++)
        if (strcmp(launchers[i].name, name) == 0)
            return true;
    return strcmp(name, "auto") == 0 || strcmp(name, "none") == 0;
}

/* torchrun's names are everybody's names: all of them must be there. Others are
 * told by the rank. */
static bool is_present(const struct launcher *launcher)
{
    if (!getenv(launcher->rank))
        return false;
    if (strcmp(launcher->name, "torchrun") == 0)
        return getenv(launcher->local) && getenv(launcher->local_size);
    /* PMI_RANK alone is any PMI-1 launcher's. */
    return strcmp(launcher->name, "hydra") != 0 || getenv(launcher->local);
}

/* A number from the environment; untouched when the variable is not set. */
static int read_variable(const char *name, int low, int *number, struct gpubind_error *err)
{
    const char *text = name ? getenv(name) : NULL;
    char *end;
    long value;

    if (!text)
        return 0;
    errno = 0;
    value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < low || value > INT_MAX)
        return error_set(err, "%s=%s in the environment is not a number from %d on", name, text,
                         low);
    *number = (int)value;
    return 0;
}

/* The count of node `node` in "4(x2),3"; 0 when the list does not say. */
static int tasks_on_node(const char *list, int node)
{
    while (*list) {
        char *end;
        long tasks = strtol(list, &end, 10), times = 1;

        if (end == list || tasks < 1 || tasks > JOB_MAX_LOCAL)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            times = strtol(end + 2, &end, 10);
        if (node < times)
            return (int)tasks;
        node -= (int)times;
        list = end + strcspn(end, ",");
        list += *list == ',';
    }
    return 0;
}

static int read_local_size(const struct launcher *launcher, struct world *world,
                           struct gpubind_error *err)
{
    const char *list = launcher->tasks_per_node ? getenv(launcher->tasks_per_node) : NULL;
    int node = 0;

    if (!launcher->tasks_per_node)
        return read_variable(launcher->local_size, 1, &world->local_size, err);
    if (read_variable(launcher->node, 0, &node, err) < 0)
        return -1;
    if (list)
        world->local_size = tasks_on_node(list, node);
    return 0;
}

static int check_world(const struct launcher *launcher, const struct world *world,
                       struct gpubind_error *err)
{
    if (world->local_size > JOB_MAX_LOCAL)
        return error_set(err, "%d ranks on this node are more than gpubind can place (%d)",
                         world->local_size, JOB_MAX_LOCAL);
    if (world->size && world->rank >= world->size)
        return error_set(err, "%s=%d contradicts %s=%d", launcher->rank, world->rank,
                         launcher->size, world->size);
    if (world->local_size && world->local >= world->local_size)
        return error_set(err, "%s=%d contradicts %d ranks on this node%s%s", launcher->local,
                         world->local, world->local_size,
                         launcher->local_size ? " in " : "",
                         launcher->local_size ? launcher->local_size : "");
    return 0;
}

/* Names the job: the launcher's own words for it, else its daemon on this node. */
static void name_job(const struct launcher *launcher, struct world *world)
{
    size_t used = (size_t)snprintf(world->job, sizeof world->job, "%s", launcher->name);
    bool named = false;

    for (int i = 0; i < 3 && launcher->job[i]; i++) {
        const char *value = getenv(launcher->job[i]);

        if (value && used < sizeof world->job)
            used += (size_t)snprintf(world->job + used, sizeof world->job - used, ".%s", value);
        named |= value != NULL;
    }
    if (!named && used < sizeof world->job)
        process_name_ancestor(launcher->daemon, world->job + used, sizeof world->job - used);
}

static const struct launcher *choose(const char *forced, struct text *notes)
{
    const struct launcher *chosen = NULL;

    for (size_t i = 0; i < NLAUNCHERS; i++) {
        const struct launcher *launcher = &launchers[i];

        if (strcmp(forced, "auto") != 0) {
            if (strcmp(forced, launcher->name) == 0)
                return launcher;
        } else if (is_present(launcher)) {
            if (!chosen)
                chosen = launcher;
            else if (strcmp(launcher->name, "pmix") != 0 &&
                     (!chosen->outer || strcmp(chosen->outer, launcher->name) != 0))
                text_add(notes,
                         "the environment is that of two launchers, %s and %s: taking %s's "
                         "(--launcher chooses)\n",
                         chosen->name, launcher->name, chosen->name);
        }
    }
    return chosen;
}

int launcher_read(const char *forced, struct world *world, struct text *remarks,
                  struct text *notes, struct gpubind_error *err)
{
    const struct launcher *launcher = strcmp(forced, "none") == 0 ? NULL : choose(forced, notes);
    const char *applications = getenv("OMPI_NUM_APP_CTX");

    memset(world, 0, sizeof *world);
    world->launcher = "none";
    world->size = world->local_size = 1;
    if (!launcher) {
        if (strcmp(forced, "none") != 0)
            text_add(remarks, "no launcher is recognised: this is a job of one rank\n");
        return 0;
    }
    world->launcher = launcher->name;
    world->size = world->local_size = 0;
    if (strcmp(forced, "auto") != 0 && !getenv(launcher->rank))
        return error_set(err, "--launcher %s: %s is not set", launcher->name, launcher->rank);
    if (read_variable(launcher->rank, 0, &world->rank, err) < 0 ||
        read_variable(launcher->size, 1, &world->size, err) < 0 ||
        read_variable(launcher->local, 0, &world->local, err) < 0 ||
        read_local_size(launcher, world, err) < 0 || check_world(launcher, world, err) < 0)
        return -1;
    if (launcher->local && !getenv(launcher->local))
        return error_set(err, "%s is set, but %s is not", launcher->rank, launcher->local);
    name_job(launcher, world);
    world->mixed = applications && strcmp(applications, "1") != 0;
    world->default_binding =
        strcmp(launcher->name, "openmpi") == 0 && binding_policy_is_default();
    return 0;
}
