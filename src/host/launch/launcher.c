/* Reads job, rank and local rank from the launcher's environment. */
#include "host/launch/launcher.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/idset.h"
#include "core/base/number.h"
#include "core/plan/job.h"
#include "host/sys/process.h"

#define MAX_JOB_PARTS 4
#define MAX_DAEMONS 16 /* and a NULL */

/* The variables in which launchers pass rank and job to a process. A job in a
 * job has those of both; then the nearest daemon above decides, then this order,
 * in which those come first whose variables others are known to set too. */
/* clang-format off */
static const struct launcher {
    const char *name;
    const char *sign;        /* set beside rank by this launcher only; NULL: rank will do */
    const char *rank, *size, *local, *local_size;
    const char *other_size, *other_local_size; /* where the former are not set */
    const char *local_ranks; /* a list of the node's ranks, in place of local_size */
    const char *nodes;       /* number of nodes, likewise */
    const char *counts, *node; /* "4(x2),3" and this node's place in it, likewise */
    const char *job[MAX_JOB_PARTS]; /* together they name job and step */
    const char *daemons[MAX_DAEMONS + 1]; /* the commands that start ranks, for naming a job and
                                             for telling inner from outer; ended by NULL */
    const char *parts;       /* how many commands the job consists of */
} launchers[] = {
    {.name = "torchrun", .sign = "TORCHELASTIC_RUN_ID", .rank = "RANK", .size = "WORLD_SIZE",
     .local = "LOCAL_RANK", .local_size = "LOCAL_WORLD_SIZE",
     .job = {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_PORT", "GROUP_RANK"}},
    {.name = "openmpi", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE",
     .local = "OMPI_COMM_WORLD_LOCAL_RANK", .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"},
     .daemons = {"orted", "mpirun", "mpiexec", "orterun", "mpirun.openmpi", "mpiexec.openmpi",
                 "orterun_wrapper", "prted", "prterun", "prte"},
     .parts = "OMPI_NUM_APP_CTX"},
    {.name = "jsrun", .rank = "JSM_NAMESPACE_RANK", .size = "JSM_NAMESPACE_SIZE",
     .local = "JSM_NAMESPACE_LOCAL_RANK", .local_size = "JSM_NAMESPACE_LOCAL_SIZE",
     .job = {"LSB_JOBID", "PMIX_NAMESPACE"}, .daemons = {"jsmd"}},
    {.name = "flux", .rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE",
     .local = "FLUX_TASK_LOCAL_ID", .nodes = "FLUX_JOB_NNODES", .job = {"FLUX_JOB_ID"},
     .daemons = {"flux-shell"}},
    {.name = "hydra", .sign = "MPI_LOCALRANKID", .rank = "PMI_RANK", .size = "PMI_SIZE",
     .local = "MPI_LOCALRANKID", .local_size = "MPI_LOCALNRANKS",
     .job = {"I_MPI_HYDRA_UUID", "HYDRA_BSTRAP_PGID"}, .daemons = {"hydra_pmi_proxy"}},
    {.name = "mvapich", .rank = "MV2_COMM_WORLD_RANK", .size = "MV2_COMM_WORLD_SIZE",
     .local = "MV2_COMM_WORLD_LOCAL_RANK", .local_size = "MV2_COMM_WORLD_LOCAL_SIZE",
     .job = {"MPIRUN_ID"}, .daemons = {"mpispawn"}},
    {.name = "mvapich", .rank = "MVP_COMM_WORLD_RANK", .size = "MVP_COMM_WORLD_SIZE",
     .local = "MVP_COMM_WORLD_LOCAL_RANK", .local_size = "MVP_COMM_WORLD_LOCAL_SIZE",
     .job = {"MPIRUN_ID"}, .daemons = {"mpispawn"}},
    /* A batch script has all variables except the step's. */
    {.name = "slurm", .sign = "SLURM_STEP_ID", .rank = "SLURM_PROCID",
     .size = "SLURM_STEP_NUM_TASKS", .other_size = "SLURM_NTASKS", .local = "SLURM_LOCALID",
     .local_ranks = "SLURM_GTIDS", .counts = "SLURM_STEP_TASKS_PER_NODE", .node = "SLURM_NODEID",
     .job = {"SLURM_JOB_ID", "SLURM_STEP_ID"}, .daemons = {"slurmstepd"},
     .parts = "SLURM_HET_SIZE"},
    {.name = "pals", .rank = "PALS_RANKID", .size = "PMI_SIZE", .local = "PALS_LOCAL_RANKID",
     .local_size = "PALS_LOCAL_SIZE", .other_local_size = "PMI_LOCAL_SIZE",
     .job = {"PALS_APID"}, .daemons = {"palsd"}},
    {.name = "pmix", .sign = "PMIX_NAMESPACE", .rank = "PMIX_RANK", .job = {"PMIX_NAMESPACE"},
     .daemons = {"prted", "prterun", "prte"}},
};
/* clang-format on */
#define NLAUNCHERS (sizeof launchers / sizeof launchers[0])

void launcher_names(struct text *text)
{
    for (size_t i = 0; i < NLAUNCHERS; i++)
        if (i == 0 || strcmp(launchers[i].name, launchers[i - 1].name) != 0)
            text_add(text, "%s%s", i ? "|" : "", launchers[i].name);
}

bool launcher_known(const char *name)
{
    for (size_t i = 0; i < NLAUNCHERS; i++)
        if (strcmp(launchers[i].name, name) == 0)
            return true;
    return strcmp(name, "auto") == 0 || strcmp(name, "none") == 0;
}

static bool is_present(const struct launcher *launcher)
{
    return getenv(launcher->rank) && (!launcher->sign || getenv(launcher->sign));
}

/* A number from the environment; untouched when the variable is not set. */
static int read_variable(const char *name, int low, int *number, struct gpubind_error *err)
{
    const char *text = name ? getenv(name) : NULL;

    if (text && !number_read(text, low, INT_MAX, number))
        return error_set(err, "%s=%s in the environment is not a number from %d on", name, text,
                         low);
    return 0;
}

/* The count of a node in "4(x2),3"; 0 when the list does not say. */
static int count_at(const char *list, int node)
{
    while (*list) {
        char *end;
        long count = strtol(list, &end, 10), times = 1;

        if (end == list || count < 1 || count > INT_MAX)
            return 0;
        if (strncmp(end, "(x", 2) == 0)
            times = strtol(end + 2, &end, 10);
        if (times < 1)
            return 0;
        if (node < times)
            return (int)count;
        node -= (int)times;
        list = end + strcspn(end, ",");
        list += *list == ',';
    }
    return 0;
}

/* Leaves it 0 when the launcher does not set it. */
static int read_local_size(const struct launcher *launcher, struct world *world,
                           struct gpubind_error *err)
{
    const char *ranks = launcher->local_ranks ? getenv(launcher->local_ranks) : NULL;
    const char *counts = launcher->counts ? getenv(launcher->counts) : NULL;
    int nodes = 0, node = 0;

    if (read_variable(launcher->node, 0, &node, err) < 0 ||
        read_variable(launcher->nodes, 1, &nodes, err) < 0)
        return -1;
    if (ranks)
        world->local_size = idlist_entries(ranks);
    else if (counts)
        world->local_size = count_at(counts, node);
    /* Nodes need not have equal shares. */
    if (nodes == 1 || (nodes && nodes == world->size))
        world->local_size = world->size / nodes;
    if (read_variable(launcher->other_local_size, 1, &world->local_size, err) < 0)
        return -1;
    return read_variable(launcher->local_size, 1, &world->local_size, err);
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
    if (world->size && world->local_size > world->size)
        return error_set(err, "%d ranks on this node contradict %s=%d", world->local_size,
                         launcher->size, world->size);
    if (world->local_size && world->local >= world->local_size)
        return error_set(err, "%s=%d contradicts the %d ranks on this node%s%s", launcher->local,
                         world->local, world->local_size, launcher->local_size ? " of " : "",
                         launcher->local_size ? launcher->local_size : "");
    return 0;
}

/* Names the job: by the launcher's own variables, else by its daemon on this node. */
static void name_job(const struct launcher *launcher, struct world *world)
{
    size_t used = (size_t)snprintf(world->job, sizeof world->job, "%s", launcher->name);
    struct process daemon;
    bool named = false;

    for (int i = 0; i < MAX_JOB_PARTS && launcher->job[i]; i++) {
        const char *value = getenv(launcher->job[i]);

        if (value && used < sizeof world->job)
            used += (size_t)snprintf(world->job + used, sizeof world->job - used, ".%s", value);
        named |= value != NULL;
    }
    if (named || (!process_ancestor(launcher->daemons, &daemon) && !process_parent(&daemon)))
        return;
    snprintf(world->job + used, sizeof world->job - used, ".%ld.%llu", (long)daemon.pid,
             process_start(daemon.pid));
}

/* Whether a launcher without daemons was there before this daemon: what the daemon started began with
 * the launcher's sign. */
static bool is_outside(const struct launcher *launcher, const struct process *daemon)
{
    const char *sign = launcher->sign ? launcher->sign : launcher->rank;

    return process_began_with(process_below(daemon->pid), sign, getenv(sign));
}

/* Which of two launchers in the environment is the inner one: that of the nearest daemon, but for one
 * without daemons, whose ranks have the other's daemon above them in any case. */
static const struct launcher *inner(const struct launcher *a, const struct launcher *b,
                                    struct text *notes)
{
    const char *all[2 * MAX_DAEMONS + 1] = {NULL};
    struct process daemon;
    int n = 0;

    for (int i = 0; i < MAX_DAEMONS; i++) {
        if (a->daemons[i])
            all[n++] = a->daemons[i];
        if (b->daemons[i])
            all[n++] = b->daemons[i];
    }
    if (process_ancestor(all, &daemon)) {
        const struct launcher *nearest = process_is(&daemon, a->daemons) ? a : b;
        const struct launcher *other = nearest == a ? b : a;

        return other->daemons[0] || is_outside(other, &daemon) ? nearest : other;
    }
    text_add(notes,
             "the environment is that of two launchers, %s and %s: taking %s's (--launcher "
             "chooses)\n",
             a->name, b->name, a->name);
    return a;
}

static const struct launcher *choose(const char *forced, struct text *notes)
{
    const struct launcher *chosen = NULL;

    for (size_t i = 0; i < NLAUNCHERS; i++) {
        const struct launcher *launcher = &launchers[i];
        /* Many launchers have a PMIx server; its variables add nothing. */
        bool adds = !chosen || strcmp(launcher->name, "pmix") != 0;

        if (strcmp(forced, "auto") != 0 && strcmp(forced, launcher->name) != 0)
            continue;
        if (is_present(launcher) && adds)
            chosen = chosen ? inner(chosen, launcher, notes) : launcher;
    }
    return chosen;
}

static int read_world(const struct launcher *launcher, struct world *world,
                      struct gpubind_error *err)
{
    int parts = 1;

    if (launcher->local && !getenv(launcher->local))
        return error_set(err, "%s is set, but %s is not", launcher->rank, launcher->local);
    if (read_variable(launcher->rank, 0, &world->rank, err) < 0 ||
        read_variable(launcher->other_size, 1, &world->size, err) < 0 ||
        read_variable(launcher->size, 1, &world->size, err) < 0 ||
        read_variable(launcher->local, 0, &world->local, err) < 0 ||
        read_local_size(launcher, world, err) < 0 || check_world(launcher, world, err) < 0 ||
        read_variable(launcher->parts, 1, &parts, err) < 0)
        return -1;
    world->unnumbered = !launcher->local;
    world->mixed = parts > 1;
    world->daemons = launcher->daemons;
    name_job(launcher, world);
    return 0;
}

int launcher_read(const char *forced, struct world *world, struct text *remarks, struct text *notes,
                  struct gpubind_error *err)
{
    const struct launcher *launcher = strcmp(forced, "none") == 0 ? NULL : choose(forced, notes);

    memset(world, 0, sizeof *world);
    world->launcher = launcher ? launcher->name : "none";
    if (launcher)
        return read_world(launcher, world, err);
    if (strcmp(forced, "auto") != 0 && strcmp(forced, "none") != 0)
        return error_set(err, "--launcher %s: its variables are not in the environment", forced);
    world->size = world->local_size = 1;
    if (strcmp(forced, "auto") == 0)
        text_add(remarks, "no launcher is recognised: this is a job of one rank\n");
    return 0;
}
