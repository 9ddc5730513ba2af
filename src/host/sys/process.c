/* Processes from /proc: parents, commands, CPU sets. */
#include "host/sys/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* By the kernel's names. */
const char *const process_wrappers[] = {
    "env",          "nice",   "numactl",       "taskset",   "time",           "timeout",
    "unshare",      "nsys",   "nsys-launcher", "apptainer", "singularity",    "starter",
    "starter-suid", "podman", "conmon",        "enroot",    "enroot-nsenter", NULL};

void process_close_others(int a, int b)
{
    DIR *open_files = opendir("/proc/self/fd");
    struct dirent *entry;

    while (open_files && (entry = readdir(open_files))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);

        if (fd > STDERR_FILENO && fd != dirfd(open_files) && fd != a && fd != b)
            close(fd);
    }
    if (open_files)
        closedir(open_files);
}

/* Opens /proc/PID/NAME and reads its beginning; the length, or -1. */
static long read_entry(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    ssize_t length;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    length = read(fd, text, size - 1);
    close(fd);
    if (length >= 0)
        text[length] = '\0';
    return length;
}

/* What stands in /proc/PID/stat behind the command, which may hold anything and
 * ends at the last parenthesis: state, parent, and so on (proc(5)). */
static const char *read_stat(pid_t pid, char line[1024])
{
    const char *close;

    if (read_entry(pid, "stat", line, 1024) < 0)
        return NULL;
    close = strrchr(line, ')');
    return close ? close + 1 : NULL;
}

static pid_t parent_of(pid_t pid)
{
    char line[1024];
    const char *rest = read_stat(pid, line);
    int parent = 0;

    return rest && sscanf(rest, " %*c %d", &parent) == 1 ? parent : 0;
}

unsigned long long process_start(pid_t pid)
{
    char line[1024];
    const char *rest = read_stat(pid, line);
    unsigned long long start = 0;

    if (!rest || sscanf(rest,
                        " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %llu",
                        &start) != 1)
        return 0;
    return start;
}

/* The name alone: stat adds up the times of all threads, which costs more. */
bool process_read(pid_t pid, struct process *process)
{
    process->pid = pid;
    if (pid < 1 || read_entry(pid, "comm", process->command, sizeof process->command) < 0)
        return false;
    process->command[strcspn(process->command, "\n")] = '\0';
    return true;
}

bool process_is(const struct process *process, const char *const *commands)
{
    for (; *commands; commands++)
        if (strcmp(process->command, *commands) == 0)
            return true;
    return false;
}

bool process_parent(struct process *parent)
{
    return process_read(getppid(), parent);
}

bool process_ancestor(const char *const *commands, struct process *found)
{
    bool known = *commands && process_parent(found);

    while (known && !process_is(found, commands))
        known = process_read(parent_of(found->pid), found);
    return known;
}

bool process_ancestor_but(const char *const *commands, struct process *found)
{
    bool known = process_parent(found);

    while (known && process_is(found, commands))
        known = process_read(parent_of(found->pid), found);
    return known;
}

pid_t process_below(pid_t ancestor)
{
    pid_t pid = getpid(), parent;

    while ((parent = parent_of(pid)) > 0 && parent != ancestor)
        pid = parent;
    return parent > 0 ? pid : 0;
}

bool process_began_with(pid_t pid, const char *name, const char *value)
{
    const size_t length = strlen(name);
    char path[64], *entry = NULL;
    bool found = false;
    size_t size = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    file = fopen(path, "re");
    while (file && !found && getdelim(&entry, &size, '\0', file) > 0)
        found = strncmp(entry, name, length) == 0 && entry[length] == '=' &&
                strcmp(entry + length + 1, value) == 0;
    if (file)
        fclose(file);
    free(entry);
    return found;
}

static char *read_words(pid_t pid, const char *name, size_t *size)
{
    const size_t limit = 65536;
    char path[64], *words = malloc(limit);
    FILE *file;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    file = fopen(path, "re");
    if (!file || !words) {
        free(words);
        if (file)
            fclose(file);
        return NULL;
    }
    *size = fread(words, 1, limit - 1, file);
    words[*size] = '\0';
    fclose(file);
    return words;
}

char *process_command_line(pid_t pid, size_t *size)
{
    return read_words(pid, "cmdline", size);
}

char *process_environment(pid_t pid, size_t *size)
{
    return read_words(pid, "environ", size);
}

bool process_program(pid_t pid, char path[PATH_MAX])
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
    length = readlink(link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

bool process_prefix(pid_t pid, char prefix[PATH_MAX])
{
    const bool known = process_program(pid, prefix);

    for (int i = 0; i < 2; i++)
        if (strrchr(prefix, '/'))
            *strrchr(prefix, '/') = '\0';
    return known;
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

/* The kernel restricts the result to the cgroup. */
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

int process_cpus_before_binding(const struct process *ancestor, struct idset *cpus,
                                struct gpubind_error *err)
{
    struct idset mine;

    if (process_cpus(&mine, err) < 0)
        return -1;
    if (ancestor && get_cpus(ancestor->pid, cpus) == 0)
        return 0;
    if (cpus_of_cgroup(&mine, cpus) < 0)
        *cpus = mine;
    return 0;
}
