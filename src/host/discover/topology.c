/* Loads discover.so and decides whether hwloc runs in a subprocess. */
#include "host/discover/topology.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/discover/discover_subprocess.h"
#include "host/discover/lstopo_export.h"
#include "host/discover/nvidia.h"
#include "host/sys/installed.h"

/* Of a node's ranks one discovers; the others need not load hwloc and what it
 * needs, which would be a third of their start-up. So discovery is in a shared
 * object of its own. */
static void *open_discover(struct gpubind_error *err)
{
    static const struct installed_file discover = {"src/host/.libs/discover.so",
                                                   "gpubind/discover.so"};
    char path[PATH_MAX];
    void *library;

    if (!installed_find(&discover, path)) {
        error_set(err, "discover.so, a part of gpubind, is neither in %s nor beside the program",
                  PKGLIBDIR);
        return NULL;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        error_set(err, "%s cannot be loaded: %s", path, dlerror());
    return library;
}

/* By which hwloc takes something else for this machine; NULL when it does not. */
static const char *pretended(char *what, size_t size)
{
    static const char *const names[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT",
                                        "HWLOC_CPUID_PATH"};

    for (int i = 0; i < 4; i++)
        if (getenv(names[i])) {
            snprintf(what, size, "%s=%s", names[i], getenv(names[i]));
            return what;
        }
    return NULL;
}

/* Settings with which hwloc (2.9) may crash, fail silently or print; NULL: none. */
static const char *strange(const char *file, char *what, size_t size)
{
    if (!file)
        return pretended(what, size);
    snprintf(what, size, "topology file %s", file);
    return what;
}

static int discover(discover_function *function, const char *file, struct node *node,
                    struct gpubind_error *err)
{
    char room[300];
    const char *what = strange(file, room, sizeof room);

    if (what)
        return discover_in_subprocess(function, file, what, node, err);
    return function(PACKAGE_VERSION, NULL, NULL, node, err);
}

int topology_load(const char *file, bool want_links, struct node *node, struct gpubind_error *err)
{
    discover_function *function;
    void *library = open_discover(err);
    int status;

    memset(node, 0, sizeof *node);
    if (!library)
        return -1;
    /* POSIX lets dlsym's result stand for a function. */
    *(void **)&function = dlsym(library, "gpubind_discover");
    if (!function)
        return error_set(err, "discover.so is not gpubind's");
    status = discover(function, file, node, err);
    if (status == 0 && nvidia_tells_of(node))
        status = nvidia_refine("", want_links ? NVML_FOR_LINKS : NVML_IF_NEEDED, node, err);
    if (status < 0)
        node_clear(node);
    return status;
}

int topology_annotate(const char *file, const struct node *node, const struct picture *picture,
                      char **xml, struct gpubind_error *err)
{
    annotate_function *annotate;
    void *library = open_discover(err);
    char room[300];
    const char *what = strange(file, room, sizeof room);

    if (!library)
        return -1;
    *(void **)&annotate = dlsym(library, "gpubind_annotate");
    if (!annotate)
        return error_set(err, "discover.so is not gpubind's");
    if (what)
        return annotate_in_subprocess(annotate, file, what, node, picture, xml, err);
    return annotate(PACKAGE_VERSION, NULL, NULL, node, picture, xml, err);
}
