/* Processes that the application starts get this library where it was preloaded here: MPI gives them the
 * environment of mpirun, not of their parents. So env(1) starts them, with what is missing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aware/calls.h"
#include "aware/start.h"

static const char env_path[] = "/usr/bin/env";

enum { NADDED = 3 }; /* arguments before the application's */

struct added {
    char preload[4096], mode[64];
};

/* false: the library is linked, or another program's matter. */
static bool find_added(struct added *added)
{
    const char *preload = getenv("LD_PRELOAD"), *mode = getenv("GPUBIND_GPU_AWARE");
    Dl_info own;

    if (is_behind || !preload || !dladdr(env_path, &own) || !strstr(preload, own.dli_fname) ||
        !aware_is_on() || access(env_path, X_OK) != 0)
        return false;
    return snprintf(added->preload, sizeof added->preload, "LD_PRELOAD=%s", preload) <
               (int)sizeof added->preload &&
           snprintf(added->mode, sizeof added->mode, "GPUBIND_GPU_AWARE=%s", mode ? mode : "auto") <
               (int)sizeof added->mode;
}

/* ---- whether the command is there: else MPI is to say that it is not */

static bool is_program(const char *folder, size_t length, const char *command)
{
    char path[4096];

    return snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder, length ? "/" : "",
                    command) < (int)sizeof path &&
           access(path, X_OK) == 0;
}

static bool is_in_path(const char *command)
{
    const char *path = getenv("PATH");

    while (path) {
        const size_t length = strcspn(path, ":");

        if (is_program(length ? path : ".", length ? length : 1, command))
            return true;
        path = path[length] ? path + length + 1 : NULL;
    }
    return false;
}

static bool get(MPI_Info info, const char *key, char value[MPI_MAX_INFO_VAL + 1])
{
    int found = 0;

#ifdef AWARE_MPI_4
    int size = MPI_MAX_INFO_VAL + 1;

    if (info != MPI_INFO_NULL)
        PMPI_Info_get_string(info, key, &size, value, &found);
#else
    if (info != MPI_INFO_NULL)
        PMPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
#endif
    return found;
}

/* What MPI does with the command itself, which is not to be env's. */
static bool names_command(MPI_Info info)
{
    static const char *const keys[] = {"path", "preload_binary", "ompi_preload_binary"};
    char value[MPI_MAX_INFO_VAL + 1];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (get(info, keys[i], value))
            return true;
    return false;
}

static bool is_there(const char *command, MPI_Info info)
{
    char folder[MPI_MAX_INFO_VAL + 1];

    if (names_command(info))
        return false;
    if (!strchr(command, '/'))
        return is_in_path(command);
    return command[0] != '/' && get(info, "wdir", folder)
               ? is_program(folder, strlen(folder), command)
               : is_program("", 0, command);
}

/* ---- commands */

/* A list that the caller frees, of strings that it does not; NULL: the command is to stay as it is. */
static char **arguments_of_env(struct added *added, const char *command, char *const *argv,
                               MPI_Info info)
{
    char **all;
    size_t n = 0;

    if (!is_there(command, info))
        return NULL;
    while (argv && argv[n])
        n++;
    all = calloc(NADDED + n + 1, sizeof *all);
    if (!all)
        return NULL;
    all[0] = added->preload;
    all[1] = added->mode;
    all[2] = (char *)(uintptr_t)command;
    if (n > 0)
        memcpy(all + NADDED, argv, n * sizeof *argv);
    return all;
}

/* The root's arguments alone have a meaning. */
static bool is_root(int root, MPI_Comm comm)
{
    int rank = -1;

    return comm != MPI_COMM_NULL && PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

NEXT(MPI_Comm_spawn)
AWARE_PUBLIC int MPI_Comm_spawn(const char *command, char **argv, int n, MPI_Info info, int root,
                                MPI_Comm comm, MPI_Comm *children, int *errors)
{
    struct added added;
    char **all = is_root(root, comm) && command && find_added(&added)
                     ? arguments_of_env(&added, command, argv, info)
                     : NULL;
    const int result = BEHIND(MPI_Comm_spawn, all ? env_path : command, all ? all : argv, n, info,
                              root, comm, children, errors);

    free(all);
    return result;
}

/* ---- several */

struct commands {
    int n;
    char **names, ***argvs;
    bool *made; /* argvs that are to be freed */
};

static void end(struct commands *all)
{
    for (int i = 0; all->made && i < all->n; i++)
        if (all->made[i])
            free(all->argvs[i]);
    free(all->names);
    free(all->argvs);
    free(all->made);
}

static void set(struct commands *all, int i, struct added *added, char *command, char **argv,
                MPI_Info info)
{
    static char *nothing[] = {NULL};
    char **made = arguments_of_env(added, command, argv, info);

    all->made[i] = made;
    all->names[i] = made ? (char *)(uintptr_t)env_path : command;
    all->argvs[i] = made ? made : argv ? argv : nothing;
}

/* false: out of memory. */
static bool begin(struct commands *all, struct added *added, char **commands, char ***argvs,
                  const MPI_Info *infos)
{
    const size_t n = (size_t)all->n;

    all->names = calloc(n, sizeof *all->names);
    all->argvs = calloc(n, sizeof *all->argvs);
    all->made = calloc(n, sizeof *all->made);
    if (!all->names || !all->argvs || !all->made)
        return false;
    for (int i = 0; i < all->n; i++)
        set(all, i, added, commands[i], argvs ? argvs[i] : NULL, infos[i]);
    return true;
}

NEXT(MPI_Comm_spawn_multiple)
AWARE_PUBLIC int MPI_Comm_spawn_multiple(int n, char *commands[], char **argvs[],
                                         const int counts[], const MPI_Info infos[], int root,
                                         MPI_Comm comm, MPI_Comm *children, int errors[])
{
    struct commands all = {.n = n};
    struct added added;
    bool changed;
    int result;

    changed = n > 0 && commands && infos && is_root(root, comm) && find_added(&added) &&
              begin(&all, &added, commands, argvs, infos);
    result = BEHIND(MPI_Comm_spawn_multiple, n, changed ? all.names : commands,
                    changed ? all.argvs : argvs, counts, infos, root, comm, children, errors);
    end(&all);
    return result;
}
