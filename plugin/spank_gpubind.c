/* The relay: what gpubind's PMIx plugin must know of a Slurm step.
 *
 * Both run in slurmstepd, but PMIx shows the plugin neither the job's environment nor
 * the step's GPUs. SPANK shows them, and earlier. They are left in slurmstepd's own
 * environment, which tasks do not inherit:
 *
 *     GPUBIND_RELAY=1               it has run
 *     GPUBIND_RELAY_ENV_NAME=VALUE  a variable of the job's, as Slurm has it by now
 *     GPUBIND_RELAY_GPUS=0,1        the step's GPUs on this node, by Slurm's numbers
 *     GPUBIND_RELAY_PER_TASK=1      Slurm itself chooses among these for each task
 *
 * Nothing in here fails a job. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(gpubind, 1)

#define RELAYED "GPUBIND_RELAY_ENV_"
#define MAX_VARIABLES 256
#define MAX_NAME 128
#define MAX_VALUE 65536

static bool is_relayed; /* all of it; a task inherits the answer */

/* The value, if that is the entry's name. */
static const char *value_of(const char *entry, const char *name)
{
    size_t n = strlen(name);

    return strncmp(entry, name, n) == 0 && entry[n] == '=' ? entry + n + 1 : NULL;
}

static const char *find(char *const *env, const char *name)
{
    for (; *env; env++)
        if (value_of(*env, name))
            return value_of(*env, name);
    return NULL;
}

/* A value like "gres/gpu:single:1". */
static bool names_gpus(const char *value)
{
    return value && strstr(value, "gpu");
}

static bool concerns_gpubind(const char *entry)
{
    static const char *const others[] = {"GPUBIND",
                                         "CUDA_DEVICE_ORDER",
                                         "CUDA_VISIBLE_DEVICES",
                                         "HIP_VISIBLE_DEVICES",
                                         "ROCR_VISIBLE_DEVICES",
                                         "ZE_AFFINITY_MASK",
                                         "ZE_FLAT_DEVICE_HIERARCHY",
                                         "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
                                         "UCX_NET_DEVICES",
                                         "FI_CXI_DEVICE_NAME",
                                         "FI_VERBS_DEVICE_NAME"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (value_of(entry, others[i]))
            return true;
    return strncmp(entry, "GPUBIND_", 8) == 0;
}

/* Under which name it is relayed; false when that is too long. */
static bool relayed_name(const char *entry, char name[MAX_NAME])
{
    return snprintf(name, MAX_NAME, RELAYED "%.*s", (int)strcspn(entry, "="), entry) < MAX_NAME;
}

static bool relay_variables(char *const *env)
{
    int n = 0;

    for (; *env; env++) {
        const char *equals = strchr(*env, '=');
        char name[MAX_NAME];

        if (!equals || !concerns_gpubind(*env))
            continue;
        if (++n > MAX_VARIABLES || !relayed_name(*env, name) ||
            strnlen(equals + 1, MAX_VALUE) == MAX_VALUE || setenv(name, equals + 1, 1) != 0)
            return false;
    }
    return true;
}

/* As far as it shows so early: newer versions of Slurm say it in SLURM_TRES_*, older ones
 * in the others, and of sbatch's and salloc's options only. A shard of a GPU is chosen by
 * Slurm, too. */
static bool slurm_chooses(char *const *env)
{
    static const char *const words[] = {"SLURM_GPU_BIND", "SLURM_GPUS_PER_TASK",
                                        "SLURM_NTASKS_PER_TRES", "SLURM_SHARDS_ON_NODE"};

    if (names_gpus(find(env, "SLURM_TRES_BIND")) || names_gpus(find(env, "SLURM_TRES_PER_TASK")))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (find(env, words[i]))
            return true;
    return false;
}

int slurm_spank_init(spank_t spank, int argc, char **argv)
{
    char **env = NULL;
    const char *gpus;
    uint32_t step;

    (void)argc;
    (void)argv;
    /* Steps above these run no program of srun's: batch scripts and the like. */
    if (spank_context() != S_CTX_REMOTE ||
        spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS ||
        step > SLURM_MAX_NORMAL_STEP_ID ||
        spank_get_item(spank, S_JOB_ENV, &env) != ESPANK_SUCCESS || !env)
        return ESPANK_SUCCESS;
    is_relayed = relay_variables(env);
    if (!is_relayed) {
        /* An incomplete environment must not be used. */
        slurm_error("gpubind: too many variables, or too long ones; the job is left alone");
        setenv(RELAYED "GPUBIND", "off", 1);
    }
    gpus = find(env, "SLURM_STEP_GPUS");
    if (gpus)
        setenv("GPUBIND_RELAY_GPUS", gpus, 1);
    if (slurm_chooses(env))
        setenv("GPUBIND_RELAY_PER_TASK", "1", 1);
    setenv("GPUBIND_RELAY", "1", 1);
    return ESPANK_SUCCESS;
}

/* Whether Slurm has chosen for this task after the plugin did. */
static bool slurm_chose(char *const *env)
{
    const char *step = getenv("GPUBIND_RELAY_GPUS"), *task = find(env, "SLURM_STEP_GPUS");

    return names_gpus(find(env, "SLURMD_TRES_BIND")) ||
           (step && (!task || strcmp(step, task) != 0));
}

/* Makes one variable of gpubind's what it was in the job; false when all are. */
static bool restore_one(spank_t spank)
{
    char **env = NULL, name[MAX_NAME];

    if (spank_get_item(spank, S_JOB_ENV, &env) != ESPANK_SUCCESS || !env || !slurm_chose(env))
        return false;
    for (; *env; env++) {
        const char *before;

        if (strncmp(*env, "GPUBIND_", 8) != 0 || !strchr(*env, '=') || !relayed_name(*env, name))
            continue;
        before = getenv(name);
        if (!before)
            return spank_unsetenv(spank, name + strlen(RELAYED)) == ESPANK_SUCCESS;
        if (strcmp(before, strchr(*env, '=') + 1) != 0)
            return spank_setenv(spank, name + strlen(RELAYED), before, 1) == ESPANK_SUCCESS;
    }
    return false;
}

/* In the task, after all others. Where Slurm has replaced what the plugin made visible, what
 * the plugin says of it is wrong. */
int slurm_spank_task_init(spank_t spank, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    for (int n = 0; is_relayed && n < 2 * MAX_VARIABLES; n++)
        is_relayed = restore_one(spank);
    return ESPANK_SUCCESS;
}
