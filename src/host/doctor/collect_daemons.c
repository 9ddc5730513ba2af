/* NVIDIA's daemons: persistence, MPS, fabric manager; from their files and from /proc. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/env/mps_env.h"
#include "host/doctor/collect.h"
#include "host/mps/mps_control.h"
#include "host/sys/sysroot.h"

/* The kernel's number of the first process namespace: in another one, daemons of the machine
 * are not in /proc. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

/* Commands as the kernel cuts them, to 15 bytes: nvidia-cuda-mps-control and -server. */
#define MPS_COMMAND "nvidia-cuda-mps"
#define FABRIC_COMMAND "nv-fabricmanage"

struct process_walk {
    const char *root;
    struct doctor_facts *facts;
    bool fabric_manager, control; /* some process is such */
    int nservers;
    struct {
        long pid, parent;
    } servers[64];
};

/* A server and its daemon have one name, since the kernel cuts it: the command line tells. */
static bool is_mps(const char *root, const char *pid, const char *end)
{
    char path[64], line[512];

    snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    if (!sysroot_line(root, path, line, sizeof line) || strcmp(line, MPS_COMMAND) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    return sysroot_read(root, path, line, sizeof line) > 0 && strstr(line, end);
}

static long parent_of(const char *root, const char *pid)
{
    char path[64], text[4096];
    const char *line;

    snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    if (sysroot_read(root, path, text, sizeof text) <= 0)
        return 0;
    line = strstr(text, "\nPPid:");
    return line ? atol(line + 6) : 0;
}

static void take_process(const char *name, void *context)
{
    struct process_walk *walk = context;
    char path[64], command[32];

    if (!isdigit((unsigned char)name[0]))
        return;
    snprintf(path, sizeof path, "/proc/%.20s/comm", name);
    if (!sysroot_line(walk->root, path, command, sizeof command))
        return;
    walk->fabric_manager |= strcmp(command, FABRIC_COMMAND) == 0;
    if (strcmp(command, MPS_COMMAND) != 0)
        return;
    walk->control |= is_mps(walk->root, name, "mps-control");
    if (walk->nservers == 64 || !is_mps(walk->root, name, "mps-server"))
        return;
    walk->servers[walk->nservers].pid = atol(name);
    walk->servers[walk->nservers++].parent = parent_of(walk->root, name);
}

static bool is_control(const char *root, long pid)
{
    char number[24];

    snprintf(number, sizeof number, "%ld", pid);
    return pid > 0 && is_mps(root, number, "mps-control");
}

/* A folder with the file of a daemon's number. A server of which another process is the parent
 * may be any daemon's. */
static void take_directory(struct process_walk *walk, const char *directory, bool gpubinds)
{
    struct doctor_facts *facts = walk->facts;
    struct doctor_mps *mps = &facts->mps[facts->nmps];
    char path[PATH_MAX], number[32];

    if (facts->nmps == (int)(sizeof facts->mps / sizeof facts->mps[0]))
        return;
    for (int m = 0; m < facts->nmps; m++)
        if (strcmp(facts->mps[m].directory, directory) == 0)
            return;
    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", directory);
    if (!sysroot_line(walk->root, path, number, sizeof number) || atol(number) < 1)
        return;
    snprintf(mps->directory, sizeof mps->directory, "%.255s", directory);
    mps->pid = atol(number);
    mps->runs = is_control(walk->root, mps->pid);
    mps->gpubinds = gpubinds;
    for (int s = 0; s < walk->nservers; s++)
        mps->servers += walk->servers[s].parent == mps->pid ||
                        !is_control(walk->root, walk->servers[s].parent);
    facts->nmps++;
}

/* Those of gpubind --mps: /tmp/gpubind-mps.USER.NODE.XXXXXX/pipe. */
static void take_temporary(const char *name, void *context)
{
    char path[300];

    if (strncmp(name, "gpubind-mps.", 12) != 0)
        return;
    snprintf(path, sizeof path, "/tmp/%.255s/pipe", name);
    take_directory(context, path, true);
}

static void read_fabric_manager(const char *root, bool in_sight, bool runs,
                                struct doctor_facts *facts)
{
    if (runs) {
        facts->fabric_manager = 1;
        snprintf(facts->fabric_evidence, sizeof facts->fabric_evidence,
                 "/proc: nv-fabricmanager runs");
    } else if (in_sight) {
        facts->fabric_manager = 0;
        snprintf(facts->fabric_evidence, sizeof facts->fabric_evidence,
                 "/proc: no process is nv-fabricmanager%s",
                 sysroot_exists(root, "/usr/bin/nv-fabricmanager") ? ""
                                                                   : ", nor is it in /usr/bin");
    }
}

/* The driver's own files; the bus was read before. */
static void count_switch(const char *name, void *context)
{
    unsigned number;
    int end = 0;

    if (sscanf(name, "nvidia-nvswitch%u%n", &number, &end) == 1 && !name[end])
        ++*(int *)context;
}

static void read_switches(const char *root, struct doctor_facts *facts)
{
    int n = 0;

    if (facts->nswitches || !sysroot_names(root, "/dev", count_switch, &n) || !n)
        return;
    facts->nswitches = n;
    snprintf(facts->switches, sizeof facts->switches, "/dev/nvidia-nvswitch*");
}

void doctor_read_daemons(const char *root, struct doctor_facts *facts)
{
    const char *set = facts->mps_directory.set ? facts->mps_directory.value : NULL;
    struct process_walk walk = {.root = root, .facts = facts};
    char namespace[64], first[64];
    /* The mount option hidepid keeps other users' processes from this one. */
    bool in_sight = sysroot_line(root, "/proc/1/comm", first, sizeof first) &&
                    sysroot_link(root, "/proc/self/ns/pid", namespace, sizeof namespace) &&
                    strcmp(namespace, FIRST_PID_NAMESPACE) == 0;

    facts->persistenced = sysroot_exists(root, "/run/nvidia-persistenced/socket") ||
                          sysroot_exists(root, "/var/run/nvidia-persistenced/socket");
    facts->mps_runs = mps_is_served(root, mps_directory(set));
    read_switches(root, facts);
    in_sight = sysroot_names(root, "/proc", take_process, &walk) && in_sight;
    read_fabric_manager(root, in_sight, walk.fabric_manager, facts);
    if (!in_sight)
        return;
    take_directory(&walk, mps_directory(set), false);
    take_directory(&walk, mps_directory(NULL), false);
    sysroot_names(root, "/tmp", take_temporary, &walk);
    for (int s = 0; s < walk.nservers; s++)
        if (!walk.control)
            facts->mps_orphan = walk.servers[s].pid;
}
