/* Finds the program to run as execvp would, before the node's ranks wait for it. */
#include "bin/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/launch/options.h"

/* 0, or the errno with which this path cannot be executed. */
static int try_path(const char *path)
{
    struct stat status;

    if (stat(path, &status) < 0)
        return errno;
    if (S_ISDIR(status.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* Launchers look for a program in the current folder, too, where PATH has none; execvp does not. */
static bool is_here(const char *command)
{
    return *command && !strchr(command, '/') && try_path(command) == 0;
}

/* "gpubind plan", in place of --plan. */
static bool is_action(const char *command)
{
    for (int i = 0; i < option_table.nrows; i++)
        if (option_table.rows[i].kind == OPTION_ACTION &&
            strcmp(option_table.rows[i].name, command) == 0)
            return true;
    return false;
}

int program_refusal(const char *command, int error, struct gpubind_error *err)
{
    if (!*command)
        error_set(err, "the command to run is an empty word");
    else if (error == ENOENT && is_here(command))
        error_set(err, "cannot run %s: %s; it is not in PATH: ./%s names the file of this folder",
                  command, strerror(error), command);
    else if (error == ENOENT && is_action(command))
        error_set(err, "cannot run %s: %s; the option is --%s", command, strerror(error), command);
    else
        error_set(err, "cannot run %s: %s", command, strerror(error));
    return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

bool program_is_launcher(const char *command)
{
    static const char *const launchers[] = {
        "mpirun",          "mpiexec",      "mpiexec.hydra", "mpirun.openmpi",
        "mpiexec.openmpi", "mpirun.mpich", "mpiexec.mpich", "orterun",
        "prterun",         "srun",         "jsrun"};
    const char *slash = strrchr(command, '/');

    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (strcmp(slash ? slash + 1 : command, launchers[i]) == 0)
            return true;
    return false;
}

/* As execvp looks: the first that can be run, and a refusal only when there is
 * none. */
static int search_path(const char *command, char path[PATH_MAX])
{
    const char *list = getenv("PATH");
    int refusal = ENOENT;

    *path = '\0';
    /* execvp then uses its default path. */
    if (!list)
        return 0;
    for (;;) {
        int length = (int)strcspn(list, ":");
        int error;

        snprintf(path, PATH_MAX, "%.*s%s%s", length, list, length ? "/" : "", command);
        error = try_path(path);
        if (!error)
            return 0;
        if (error == EACCES)
            refusal = error;
        if (!list[length])
            return refusal;
        list += length + 1;
    }
}

int program_find(const char *command, char path[PATH_MAX], struct gpubind_error *err)
{
    int error;

    snprintf(path, PATH_MAX, "%s", command);
    error = !*command              ? ENOENT
            : strchr(command, '/') ? try_path(command)
                                   : search_path(command, path);
    return error ? program_refusal(command, error, err) : 0;
}
