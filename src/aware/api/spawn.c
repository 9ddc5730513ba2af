/* Processes that the application starts get this library where it was preloaded here: MPI gives them the
 * environment of mpirun, not of their parents. So env(1) starts them, with what is missing. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aware/base/creations.h"
#include "aware/base/info.h"
#include "aware/base/start.h"
#include "aware/request/calls.h"

static const char env_path[] = "/usr/bin/env";

enum { NADDED = 6 }; /* arguments before the application's, at most */

struct added {
    char preload[4096], mode[64];
};

/* LD_PRELOAD with this library's path where it has the name alone, which the child may not find. false: it
 * is not preloaded, or the room is too short. */
static bool preload_of(const char *preload, char *text, size_t room)
{
    const char *name, *found;
    Dl_info own;

    if (!preload || !dladdr(env_path, &own))
        return false;
    name = strrchr(own.dli_fname, '/');
    name = name ? name + 1 : own.dli_fname;
    found = strstr(preload, name);
    if (!found)
        return false;
    if (found > preload && found[-1] == '/')
        return snprintf(text, room, "LD_PRELOAD=%s", preload) < (int)room;
    return snprintf(text, room, "LD_PRELOAD=%.*s%s%s", (int)(found - preload), preload,
                    own.dli_fname, found + strlen(name)) < (int)room;
}

/* false: the library is linked, or another program's matter. */
static bool find_added(struct added *added)
{
    const char *mode = getenv("GPUBIND_GPU_AWARE");

    return !is_behind && aware_is_on() && access(env_path, X_OK) == 0 &&
           preload_of(getenv("LD_PRELOAD"), added->preload, sizeof added->preload) &&
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

/* What MPI does with the command itself, which is not to be env's. */
static bool names_command(MPI_Info info)
{
    static const char *const keys[] = {"path", "preload_binary", "ompi_preload_binary"};
    char value[MPI_MAX_INFO_VAL + 1];

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (info_get(info, keys[i], value))
            return true;
    return false;
}

enum place { NOWHERE, IN_PATH, IN_FOLDER };

static enum place find(const char *command, MPI_Info info)
{
    char folder[MPI_MAX_INFO_VAL + 1];
    bool there;

    if (names_command(info))
        return NOWHERE;
    if (!strchr(command, '/') && is_in_path(command))
        return IN_PATH;
#ifndef OPEN_MPI
    if (!strchr(command, '/'))
        return NOWHERE; /* Open MPI alone looks in the folder, too */
#endif
    there = command[0] != '/' && info_get(info, "wdir", folder)
                ? is_program(folder, strlen(folder), command)
                : is_program("", 0, command);
    return there ? IN_FOLDER : NOWHERE;
}

/* ---- commands */

static char shell[] = "/bin/sh", from_text[] = "-c", run[] = "exec \"$0\" \"$@\"",
            run_here[] = "exec ./\"$0\" \"$@\"";

/* A list that the caller frees, of strings that it does not; NULL: the command is to stay as it is. */
static char **arguments_of_env(struct added *added, const char *command, char *const *argv,
                               MPI_Info info)
{
    const enum place place = find(command, info);
    const bool is_here = place == IN_FOLDER && !strchr(command, '/');
    size_t n = 0, nadded = 0;
    char **all;

    while (argv && argv[n])
        n++;
    all = place == NOWHERE ? NULL : calloc(NADDED + n + 1, sizeof *all);
    if (!all)
        return NULL;
    all[nadded++] = added->preload;
    all[nadded++] = added->mode;
    if (is_here || strchr(command, '=')) { /* env takes it for a variable */
        all[nadded++] = shell;
        all[nadded++] = from_text;
        all[nadded++] = is_here ? run_here : run;
    }
    all[nadded++] = (char *)(uintptr_t)command;
    if (n > 0)
        memcpy(all + nadded, argv, n * sizeof *argv);
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
    MAKES_COMMUNICATOR;
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
    MAKES_COMMUNICATOR;
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
