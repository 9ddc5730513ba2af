/* The driver: its module, its device files, its libraries. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/doctor/collect.h"
#include "host/sys/ld_search.h"
#include "host/sys/sysroot.h"

/* access(2) asks the device cgroup too, which refuses with EPERM, and does not wake a
 * GPU as open would. */
static enum doctor_file look(const char *root, const char *path)
{
    char full[2 * PATH_MAX];

    snprintf(full, sizeof full, "%s%s", root, path);
    if (access(full, R_OK | W_OK) == 0)
        return DOCTOR_FILE_USABLE;
    if (errno == ENOENT || errno == ENOTDIR)
        return DOCTOR_FILE_ABSENT;
    return errno == EPERM ? DOCTOR_FILE_HIDDEN : DOCTOR_FILE_DENIED;
}

/* "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release ...":
 * the first word of digits and dots that has a dot. */
static void read_version(const char *root, struct doctor_facts *facts)
{
    char line[512], *rest = NULL;

    if (!sysroot_line(root, "/proc/driver/nvidia/version", line, sizeof line))
        return;
    for (char *word = strtok_r(line, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest))
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
            snprintf(facts->driver_version, sizeof facts->driver_version, "%.31s", word);
            return;
        }
}

static size_t length_of_folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* libnvidia-ml.so.1 is a link to libnvidia-ml.so.580.159.03; with Debian's packages by way of /etc/alternatives. */
static void read_library_version(const char *root, struct doctor_facts *facts)
{
    char target[PATH_MAX], path[2 * PATH_MAX];
    const char *version;
    size_t folder;

    snprintf(path, sizeof path, "%s", facts->nvml_path);
    for (int links = 0; links < 8; links++) {
        if (!sysroot_link(root, path, target, sizeof target))
            return;
        version = strstr(target + length_of_folder(target), ".so.");
        if (version && strchr(version + 4, '.')) {
            snprintf(facts->nvml_version, sizeof facts->nvml_version, "%.31s", version + 4);
            return;
        }
        folder = target[0] == '/' ? 0 : length_of_folder(path);
        if (folder + strlen(target) >= sizeof path)
            return;
        memcpy(path + folder, target, strlen(target) + 1);
    }
}

void doctor_read_driver(const char *root, const char *library_path, struct doctor_facts *facts)
{
    facts->windows = sysroot_exists(root, "/dev/dxg");
    facts->driver_loaded = facts->windows || sysroot_exists(root, "/proc/driver/nvidia/version") ||
                           sysroot_exists(root, "/dev/nvidiactl");
    read_version(root, facts);
    facts->ctl = look(root, "/dev/nvidiactl");
    facts->uvm = look(root, "/dev/nvidia-uvm");
    for (int g = 0; g < facts->ngpus; g++) {
        char path[64];

        snprintf(path, sizeof path, "/dev/nvidia%d", facts->gpus[g].minor);
        if (facts->gpus[g].minor >= 0)
            facts->gpus[g].device = look(root, path);
        else if (facts->lists_gpus && !facts->gpus[g].in_driver)
            facts->gpus[g].device = DOCTOR_FILE_ABSENT;
    }
    ld_search(root, "libcuda.so.1", library_path, facts->cuda_path, sizeof facts->cuda_path);
    if (ld_search(root, "libnvidia-ml.so.1", library_path, facts->nvml_path,
                  sizeof facts->nvml_path))
        read_library_version(root, facts);
}
