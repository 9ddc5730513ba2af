#include "host/topology.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/discover.h"
#include "host/nvidia.h"

/* Of a node's ranks one discovers; the others need not load hwloc and what it
 * needs, which would be a third of their start-up. So discovery is in a shared
 * object of its own. It is looked for in the build tree, where it was installed,
 * and where the whole installation was moved. */
static void *open_discover(struct gpubind_error *err)
{
    static const char *const beside[] = {"/../src/host/.libs/discover.so", NULL,
                                         "/../lib/gpubind/discover.so"};
    char folder[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    void *library = NULL;

    folder[length > 0 ? length : 0] = '\0';
    if (strrchr(folder, '/'))
        *strrchr(folder, '/') = '\0';
    for (int i = 0; i < 3 && !library; i++) {
        if (beside[i])
            snprintf(path, sizeof path, "%s%s", folder, beside[i]);
        else
            snprintf(path, sizeof path, "%s/discover.so", PKGLIBDIR);
        if (access(path, R_OK) == 0) {
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (!library)
                error_set(err, "%s cannot be loaded: %s", path, dlerror());
            return library;
        }
    }
    error_set(err, "discover.so, a part of gpubind, is neither in %s nor beside the program",
              PKGLIBDIR);
    return NULL;
}

int topology_load(const char *file, bool want_links, struct node *node,
                  struct gpubind_error *err)
{
    int (*discover)(const char *, const char *, struct node *, struct gpubind_error *);
    void *library = open_discover(err);
    int status;

    memset(node, 0, sizeof *node);
    if (!library)
        return -1;
    /* POSIX lets dlsym's result stand for a function. */
    *(void **)&discover = dlsym(library, "gpubind_discover");
    if (!discover)
        return error_set(err, "discover.so is not gpubind's");
    status = discover(PACKAGE_VERSION, file, node, err);
    if (status == 0 && !node->recorded)
        status = nvidia_refine("", want_links, node, err);
    if (status < 0)
        node_clear(node);
    return status;
}
