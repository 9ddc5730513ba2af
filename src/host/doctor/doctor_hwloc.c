/* hwloc's plugins, and whether NVIDIA's OpenCL driver is there for one of them. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "host/doctor/collect.h"
#include "host/sys/sysroot.h"

struct walk {
    const char *root, *folder;
    struct doctor_facts *facts;
};

static bool is_gpus(const char *component)
{
    static const char *const names[] = {"opencl", "cuda", "nvml"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(component, names[i]) == 0)
            return true;
    return false;
}

static void take_plugin(const char *name, void *context)
{
    const struct walk *walk = context;
    struct doctor_facts *facts = walk->facts;
    struct doctor_plugin *plugin = &facts->plugins[facts->nplugins];
    char component[16];
    int end = 0;

    if (facts->nplugins == (int)(sizeof facts->plugins / sizeof facts->plugins[0]) ||
        sscanf(name, "hwloc_%15[a-z0-9].so%n", component, &end) != 1 || !end || name[end] ||
        !is_gpus(component))
        return;
    snprintf(plugin->component, sizeof plugin->component, "%s", component);
    snprintf(plugin->path, sizeof plugin->path, "%.200s/%.50s", walk->folder, name);
    facts->nplugins++;
}

static void take_folder(const char *root, const char *folder, struct doctor_facts *facts)
{
    struct walk walk = {root, folder, facts};
    size_t length = strlen(facts->plugin_folders);

    if (sysroot_names(root, folder, take_plugin, &walk))
        snprintf(facts->plugin_folders + length, sizeof facts->plugin_folders - length, "%s%.200s",
                 length ? ":" : "", folder);
}

/* Debian's folders of libraries are named after the machine. */
static void take_library_folder(const char *name, void *context)
{
    const struct walk *walk = context;
    char folder[300];

    if (!strstr(name, "-linux-gnu"))
        return;
    snprintf(folder, sizeof folder, "%s/%.255s/hwloc", walk->folder, name);
    take_folder(walk->root, folder, walk->facts);
}

/* OpenCL ICD loader: files in /etc/OpenCL/vendors name drivers. */
static void take_icd(const char *name, void *context)
{
    const struct walk *walk = context;
    char path[PATH_MAX], line[256];

    snprintf(path, sizeof path, "/etc/OpenCL/vendors/%.255s", name);
    if (strstr(name, ".icd") && sysroot_line(walk->root, path, line, sizeof line) &&
        strstr(line, "nvidia"))
        snprintf(walk->facts->icd, sizeof walk->facts->icd, "%.250s", path);
}

void doctor_read_hwloc(const char *root, const char *plugins_path, struct doctor_facts *facts)
{
    static const char *const folders[] = {"/usr/lib64/hwloc", "/usr/lib/hwloc",
                                          "/usr/local/lib/hwloc", "/usr/local/lib64/hwloc"};
    struct walk walk = {root, "/usr/lib", facts};

    sysroot_names(root, "/etc/OpenCL/vendors", take_icd, &walk);
    if (plugins_path) {
        for (; *plugins_path; plugins_path += *plugins_path == ':') {
            char folder[256];
            size_t length = strcspn(plugins_path, ":");

            snprintf(folder, sizeof folder, "%.*s", (int)length, plugins_path);
            take_folder(root, folder, facts);
            plugins_path += length;
        }
        return;
    }
    sysroot_names(root, "/usr/lib", take_library_folder, &walk);
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        take_folder(root, folders[i], facts);
}
