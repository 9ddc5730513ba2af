#include "host/process.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct process {
    pid_t pid, parent;
    char command[32];
    unsigned long long start; /* clock ticks after boot */
};

/* Reads /proc/PID/stat. The command may hold anything, so its end is the last
 * parenthesis. */
static bool read_process(pid_t pid, struct process *process)
{
    char path[64], line[1024];
    char *open, *close;
    size_t length = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    open = strchr(line, '(');
    close = strrchr(line, ')');
    if (!open || !close)
        return false;
    *close = '\0';
    snprintf(process->command, sizeof process->command, "%.31s", open + 1);
    process->pid = pid;
    /* state ppid, then 17 fields up to the start time (proc(5)) */
    return sscanf(close + 1,
                  " %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%*s %llu",
                  &process->parent, &process->start) == 2;
}

void process_name_ancestor(const char *command, char *text, size_t size)
{
    struct process parent = {.pid = getppid()}, at;
    bool known = read_process(getppid(), &parent);

    if (known)
        for (at = parent; command; ) {
            /* The kernel keeps 15 bytes of the name. */
            if (strncmp(at.command, command, 15) == 0) {
                parent = at;
                break;
            }
            if (at.parent < 1 || !read_process(at.parent, &at))
                break;
        }
    snprintf(text, size, ".%ld.%llu", (long)parent.pid, parent.start);
}

static int get_cpus(pid_t pid, struct idset *cpus)
{
    cpu_set_t *set = CPU_ALLOC(IDSET_MAX);
    size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
    int status = set ? sched_getaffinity(pid, size, set) : -1;

    idset_clear(cpus);
    for (int cpu = 0; status == 0 && cpu < IDSET_MAX; cpu++)
        if (CPU_ISSET_S((size_t)cpu, size, set))
            idset_add(cpus, cpu);
    CPU_FREE(set);
    return status;
}

int process_cpus(struct idset *cpus, struct gpubind_error *err)
{
    if (get_cpus(0, cpus) < 0)
        return error_set(err, "cannot tell which CPUs may be used: %s", strerror(errno));
    return 0;
}

/* The kernel keeps to the cgroup whatever is asked for. */
static int cpus_of_cgroup(const struct idset *mine, struct idset *cpus)
{
    size_t size = CPU_ALLOC_SIZE(IDSET_MAX);
    cpu_set_t *all = CPU_ALLOC(IDSET_MAX), *own = CPU_ALLOC(IDSET_MAX);
    int status = -1;

    if (all && own) {
        memset(all, 0xff, size);
        CPU_ZERO_S(size, own);
        for (int cpu = idset_next(mine, -1); cpu >= 0; cpu = idset_next(mine, cpu))
            CPU_SET_S((size_t)cpu, size, own);
        if (sched_setaffinity(0, size, all) == 0) {
            status = get_cpus(0, cpus);
            sched_setaffinity(0, size, own);
        }
    }
    CPU_FREE(all);
    CPU_FREE(own);
    return status;
}

static bool is_one_of(const char *command, const char *const *commands)
{
    for (; *commands; commands++)
        if (strcmp(command, *commands) == 0)
            return true;
    return false;
}

int process_cpus_before_binding(const char *const *daemons, struct idset *cpus,
                                struct gpubind_error *err)
{
    struct process at = {.parent = getppid()};
    struct idset mine;

    if (process_cpus(&mine, err) < 0)
        return -1;
    while (at.parent > 0 && read_process(at.parent, &at))
        if (is_one_of(at.command, daemons) && get_cpus(at.pid, cpus) == 0)
            return 0;
    if (cpus_of_cgroup(&mine, cpus) < 0)
        *cpus = mine;
    return 0;
}
