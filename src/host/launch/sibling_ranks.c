/* Counts the launcher's other children on this node. */
#include "host/launch/sibling_ranks.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "host/sys/process.h"

static bool maps_mpi(long pid)
{
    char path[64], line[4096];
    bool found = false;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/maps", pid);
    file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, "/libmpi") != NULL;
    if (file)
        fclose(file);
    return found;
}

static bool is_zombie(long pid)
{
    char path[64], line[512] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (!file)
        return true;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    state = strrchr(line, ')');
    return !state || state[1] == '\0' || state[2] == 'Z' || state[2] == 'X';
}

/* Commands that start others. */
static bool is_wrapper(long pid)
{
    static const char *const others[] = {"gpubind", "sh",   "bash",    "dash", "ksh", "zsh",
                                         "csh",     "tcsh", "python3", "perl", NULL};
    struct process process;

    return process_read((pid_t)pid, &process) &&
           (process_is(&process, others) || process_is(&process, process_wrappers));
}

/* Children that one thread of the launcher started; -1 when the kernel does not
 * list them. */
static int count_children(long pid, const char *thread, bool strict)
{
    char path[128];
    long child;
    int n = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/task/%.32s/children", pid, thread);
    file = fopen(path, "re");
    if (!file)
        return -1;
    while (fscanf(file, "%ld", &child) == 1)
        n += !is_zombie(child) && !maps_mpi(child) && (!strict || is_wrapper(child));
    fclose(file);
    return n;
}

int sibling_ranks_coming(const char *const *daemons, bool strict)
{
    struct process daemon;
    struct dirent *entry;
    char path[64];
    int n = 0;
    DIR *tasks;

    if (!process_ancestor(daemons, &daemon))
        return -1;
    snprintf(path, sizeof path, "/proc/%ld/task", (long)daemon.pid);
    tasks = opendir(path);
    if (!tasks)
        return -1;
    while (n >= 0 && (entry = readdir(tasks))) {
        int children = entry->d_name[0] == '.' ? 0
                                               : count_children(daemon.pid, entry->d_name, strict);

        n = children < 0 ? -1 : n + children;
    }
    closedir(tasks);
    return n;
}
