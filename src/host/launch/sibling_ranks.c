/* Counts the launcher's other children on this node. */
#include "host/launch/sibling_ranks.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "host/sys/process.h"

#define DEEPEST 8 /* processes below each other */

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

/* The list of what one thread has started; NULL: the kernel has none. */
static FILE *open_children(long pid, const char *thread)
{
    char path[128];

    snprintf(path, sizeof path, "/proc/%ld/task/%.32s/children", pid, thread);
    return fopen(path, "re");
}

/* It, or something that it has started, is a program of MPI's. Containers and profilers stay as the parents of what they
 * run. */
static bool has_begun(long pid, int depth)
{
    bool begun = maps_mpi(pid);
    char thread[24];
    long child;
    FILE *file;

    snprintf(thread, sizeof thread, "%ld", pid);
    file = !begun && depth < DEEPEST ? open_children(pid, thread) : NULL;
    while (file && !begun && fscanf(file, "%ld", &child) == 1)
        begun = has_begun(child, depth + 1);
    if (file)
        fclose(file);
    return begun;
}

/* By its file, as python3.11 is: a script that is executed by its first line has its own name as the command. */
static bool is_interpreter(const struct process *process)
{
    static const char *const interpreters[] = {"sh",  "bash", "dash",   "ksh",  "zsh",
                                               "csh", "tcsh", "python", "perl", "busybox"};
    char file[PATH_MAX];
    const char *name = process_program(process->pid, file) && strrchr(file, '/')
                           ? strrchr(file, '/') + 1
                           : process->command;

    for (size_t i = 0; i < sizeof interpreters / sizeof interpreters[0]; i++) {
        size_t same = strlen(interpreters[i]);

        if (strncmp(name, interpreters[i], same) == 0 &&
            !name[same + strspn(name + same, "0123456789.")])
            return true;
    }
    return false;
}

/* gpubind, or a command that may start it. */
static bool is_coming(long pid)
{
    static const char *const gpubind[] = {"gpubind", NULL};
    struct process process;

    return !is_zombie(pid) && process_read((pid_t)pid, &process) &&
           (process_is(&process, gpubind) || process_is(&process, process_wrappers) ||
            is_interpreter(&process)) &&
           !has_begun(pid, 0);
}

/* Children that one thread of the launcher started; -1 when the kernel does not
 * list them. */
static int count_children(long pid, const char *thread, bool strict)
{
    FILE *file = open_children(pid, thread);
    long child;
    int n = 0;

    if (!file)
        return -1;
    while (fscanf(file, "%ld", &child) == 1)
        n += strict ? is_coming(child) : !is_zombie(child) && !maps_mpi(child);
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
