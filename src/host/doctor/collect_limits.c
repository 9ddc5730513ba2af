/* What the kernel and the container grant this process. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "host/doctor/collect.h"
#include "host/sys/sysroot.h"

/* The kernel shows "65536k"; others, as gVisor, what was given. */
static long long read_size(const char *text)
{
    static const char units[] = "kmgt";
    char *end;
    long long size = strtoll(text, &end, 10);
    const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;

    if (*end == '%')
        return -1;
    return unit ? size << 10 * (unit - units + 1) : size;
}

/* proc(5): device, folder, type and options; the last line for a folder counts. */
static void take_mount(const char *line, struct doctor_facts *facts)
{
    char device[128], folder[256], type[24], options[512];
    const char *size;

    if (sscanf(line, "%127s %255s %23s %511s", device, folder, type, options) != 4 ||
        strcmp(folder, "/dev/shm") != 0)
        return;
    snprintf(facts->shm_type, sizeof facts->shm_type, "%s", type);
    snprintf(facts->shm_evidence, sizeof facts->shm_evidence,
             "/proc/self/mounts: /dev/shm %s %.200s", type, options);
    size = strstr(options, "size=");
    facts->shm_bytes = size ? read_size(size + 5) : -1;
    facts->shm_writable = strncmp(options, "ro,", 3) != 0 && strcmp(options, "ro") != 0;
}

/* A tmpfs without a size is half of the memory (kernel, tmpfs). */
static long long half_of_memory(const char *root)
{
    char text[512];
    const char *total;

    if (sysroot_read(root, "/proc/meminfo", text, sizeof text) <= 0)
        return -1;
    total = strstr(text, "MemTotal:");
    return total ? atoll(total + 9) * 512 : -1;
}

static void read_shm(const char *root, struct doctor_facts *facts)
{
    const size_t limit = 1 << 20;
    char *text = malloc(limit), *rest = NULL, path[4200];
    struct statvfs volume;

    if (text && sysroot_read(root, "/proc/self/mounts", text, limit) > 0)
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            take_mount(line, facts);
    free(text);
    if (facts->shm_type[0] && facts->shm_bytes < 0)
        facts->shm_bytes = half_of_memory(root);
    snprintf(path, sizeof path, "%.4000s/dev/shm", root);
    if (facts->shm_writable != 0 && access(path, F_OK) == 0)
        facts->shm_writable = access(path, W_OK | X_OK) == 0;
    /* With a system root of a test, statvfs would describe this machine. */
    if (*root || statvfs(path, &volume) < 0 || volume.f_blocks == 0)
        return;
    facts->shm_free = (long long)volume.f_bavail * (long long)volume.f_frsize;
    facts->shm_bytes = (long long)volume.f_blocks * (long long)volume.f_frsize;
}

static void read_memlock(const char *root, struct doctor_facts *facts)
{
    char text[4096];
    const char *line;

    if (sysroot_read(root, "/proc/self/limits", text, sizeof text) <= 0)
        return;
    line = strstr(text, "Max locked memory");
    if (line)
        sscanf(line + 17, "%23s %23s", facts->memlock_soft, facts->memlock_hard);
}

#define CAP_SYS_PTRACE_BIT 19

static void read_capabilities(const char *root, struct doctor_facts *facts)
{
    char text[4096];
    const char *line;

    if (sysroot_read(root, "/proc/self/status", text, sizeof text) <= 0)
        return;
    line = strstr(text, "\nCapEff:");
    facts->caps_known = line != NULL;
    if (line)
        facts->cap_ptrace = strtoull(line + 8, NULL, 16) >> CAP_SYS_PTRACE_BIT & 1;
}

static void read_ptrace_scope(const char *root, struct doctor_facts *facts)
{
    char line[16];

    if (sysroot_line(root, "/proc/sys/kernel/yama/ptrace_scope", line, sizeof line))
        facts->ptrace_scope = atoi(line);
    else if (sysroot_exists(root, "/proc/sys/kernel") &&
             !sysroot_exists(root, "/proc/sys/kernel/yama"))
        facts->ptrace_scope = -1;
}

/* "pid:[4026531836]" */
static unsigned long read_namespace(const char *root, const char *path)
{
    char target[64];
    const char *number;

    if (!sysroot_link(root, path, target, sizeof target))
        return 0;
    number = strstr(target, ":[");
    return number ? strtoul(number + 2, NULL, 10) : 0;
}

/* Some namespace is known not to be the machine's. */
static bool is_apart(const struct doctor_facts *facts)
{
    const unsigned long pid = facts->pid_namespace, ipc = facts->ipc_namespace;
    const unsigned long user = facts->user_namespace;

    return (pid && pid != DOCTOR_FIRST_PID) || (ipc && ipc != DOCTOR_FIRST_IPC) ||
           (user && user != DOCTOR_FIRST_USER);
}

/* The marks that container runtimes leave. Those of docker and podman are also in
 * machines that were made from their images, which have no layered root. A pod without an
 * account has Kubernetes's variables alone, which Apptainer inherits. Nodes without a disk have
 * a layered root, too, and are in the first namespaces. */
static void read_container(const char *root, struct doctor_facts *facts)
{
    char text[4096];
    bool layered = sysroot_read(root, "/proc/self/mounts", text, sizeof text) > 0 &&
                   (strstr(text, " / overlay ") || strstr(text, " / fuse.fuse-overlayfs "));
    const char *name = sysroot_exists(root, "/run/secrets/kubernetes.io")      ? "kubernetes"
                       : sysroot_exists(root, "/.singularity.d")               ? "apptainer"
                       : facts->in_pod                                         ? "kubernetes"
                       : layered && sysroot_exists(root, "/run/.containerenv") ? "podman"
                       : layered && sysroot_exists(root, "/.dockerenv")        ? "docker"
                       : layered && is_apart(facts)                            ? "container"
                                                                               : "";

    snprintf(facts->container, sizeof facts->container, "%s", name);
}

/* The first by name. */
static void take_rdma(const char *name, void *context)
{
    struct doctor_facts *facts = context;

    if (!facts->rdma[0] || strcmp(name, facts->rdma) < 0)
        snprintf(facts->rdma, sizeof facts->rdma, "%.63s", name);
}

void doctor_read_limits(const char *root, struct doctor_facts *facts)
{
    read_shm(root, facts);
    read_memlock(root, facts);
    read_capabilities(root, facts);
    read_ptrace_scope(root, facts);
    facts->pid_namespace = read_namespace(root, "/proc/self/ns/pid");
    facts->ipc_namespace = read_namespace(root, "/proc/self/ns/ipc");
    facts->user_namespace = read_namespace(root, "/proc/self/ns/user");
    read_container(root, facts);
    sysroot_names(root, "/sys/class/infiniband", take_rdma, facts);
}
