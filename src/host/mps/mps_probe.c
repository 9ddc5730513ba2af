#include "host/mps/mps_probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/sys/sysroot.h"

/* The machine's own PID namespace (the kernel's PROC_PID_INIT_INO). In another one
 * nobody can tell whether the host's daemon lives. */
#define FIRST_PID_SPACE "pid:[4026531836]"

/* A daemon that was killed leaves its pipe and its number behind. */
static bool has_died(const char *root, const char *directory)
{
    char space[64], path[PATH_MAX], number[32];
    long pid;

    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", directory);
    if (!sysroot_link(root, "/proc/self/ns/pid", space, sizeof space) ||
        strcmp(space, FIRST_PID_SPACE) != 0 || !sysroot_line(root, path, number, sizeof number))
        return false;
    pid = strtol(number, NULL, 10);
    return pid > 0 && !sysroot_exists(root, "/proc/%ld", pid);
}

bool mps_is_served(const char *root, const char *directory)
{
    return sysroot_exists(root, "%s/control", directory) && !has_died(root, directory);
}
