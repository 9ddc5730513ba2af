/* Slurm: recognises slurmstepd and rebuilds the job's environment from the SPANK relay. */
#include "plugin/slurm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/env/render_env.h"
#include "host/sys/env_array.h"

#define RELAYED "GPUBIND_RELAY_ENV_"
#define MAX_INCLUDES 8 /* deep */

/* slurmstepd writes a title over its arguments, and threads may have names of their own. */
bool slurm_is_here(void)
{
    char name[17] = "";
    FILE *file = fopen("/proc/self/comm", "re");
    bool here = file && fgets(name, sizeof name, file) && strcmp(name, "slurmstepd\n") == 0;

    if (file)
        fclose(file);
    return here;
}

/* "gpu" as a word of a comma-separated list. A quoted list, or one that goes on in the
 * next line, is taken to have it. */
static bool has_gpu(const char *list)
{
    if (strpbrk(list, "\"\\"))
        return true;
    for (; *list; list += strcspn(list, ","), list += *list == ',') {
        list += strspn(list, " \t");
        if (strcspn(list, ", \t\r\n#") == 3 && strncasecmp(list, "gpu", 3) == 0)
            return true;
    }
    return false;
}

static bool conf_has_gpus(const char *path, int depth);

/* "include FILE", relative to the file's own folder. */
static bool included_has_gpus(const char *path, const char *name, int depth)
{
    char full[4096];
    const char *slash = strrchr(path, '/');
    int folder = *name == '/' || !slash ? 0 : (int)(slash - path) + 1;

    snprintf(full, sizeof full, "%.*s%.*s", folder, path, (int)strcspn(name, " \t\r\n#"), name);
    return conf_has_gpus(full, depth + 1);
}

static bool conf_has_gpus(const char *path, int depth)
{
    FILE *file = depth < MAX_INCLUDES ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t size = 0;
    bool found = false;

    if (!file)
        return true;
    while (!found && getline(&line, &size, file) >= 0) {
        char *at = line + strspn(line, " \t");

        if (strncasecmp(at, "include", 7) == 0 && (at[7] == ' ' || at[7] == '\t'))
            found = included_has_gpus(path, at + 7 + strspn(at + 7, " \t"), depth);
        if (strncasecmp(at, "GresTypes", 9) != 0)
            continue;
        at += 9 + strspn(at + 9, " \t");
        found = *at == '=' && has_gpu(at + 1);
    }
    free(line);
    fclose(file);
    return found;
}

bool slurm_conf_has_gpus(const char *path)
{
    return conf_has_gpus(path, 0);
}

/* The relayed variables, under the names that they have in the job. */
static char **read_relayed(void)
{
    size_t room = 1, n = 0;
    char **env;

    for (char **at = environ; *at; at++)
        room += strncmp(*at, RELAYED, sizeof RELAYED - 1) == 0;
    env = calloc(room, sizeof *env);
    for (char **at = environ; env && *at; at++)
        if (strncmp(*at, RELAYED, sizeof RELAYED - 1) == 0) {
            env[n] = strdup(*at + sizeof RELAYED - 1);
            if (!env[n++]) {
                env_array_free(env);
                return NULL;
            }
        }
    return env;
}

/* The step's GPUs by the numbers of their device files, or none, whatever the user exported. */
static int show_step_gpus(char ***env)
{
    const char *gpus = getenv("GPUBIND_RELAY_GPUS");
    struct env_list list = {0};
    int status;

    for (int vendor = 0; vendor < 3; vendor++)
        list.item[list.n++] = (struct env_item){ENV_SET, visible_variable((enum gpu_vendor)vendor),
                                                strdup(gpus ? gpus : "")};
    status = list.item[0].value && list.item[1].value && list.item[2].value
                 ? env_array_apply(env, &list)
                 : -1;
    env_list_clear(&list);
    return status;
}

char **slurm_env(struct gpubind_error *why)
{
    const char *conf = getenv("SLURM_CONF");
    bool managed = getenv("GPUBIND_RELAY_GPUS") ||
                   slurm_conf_has_gpus(conf ? conf : "/etc/slurm/slurm.conf");
    char **env;

    if (managed && !getenv("GPUBIND_RELAY")) {
        error_set(why, "Slurm deals out GPUs, and there is no spank_gpubind.so to tell which");
        return NULL;
    }
    if (managed && getenv("GPUBIND_RELAY_PER_TASK")) {
        error_set(why, "Slurm gives each task its GPUs");
        return NULL;
    }
    env = read_relayed();
    if (env && managed && show_step_gpus(&env) < 0) {
        env_array_free(env);
        env = NULL;
    }
    if (!env)
        error_set(why, "out of memory");
    return env;
}
