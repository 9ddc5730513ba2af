/* Discovery and --xml in the hwloc subprocess. */
#include "host/discover/discover_subprocess.h"

#include <stdlib.h>
#include <string.h>

#include "core/topo/node_serialize.h"
#include "host/discover/hwloc_subprocess.h"

/* A picture adds a few objects to a file of at most 16 MiB. */
#define XML_MAX ((size_t)64 << 20)

struct discovery {
    discover_function *discover;
    const char *file;
};

static int discover_and_pack(void *context, const char *xml, char **bytes, size_t *size,
                             struct gpubind_error *err)
{
    const struct discovery *discovery = context;
    struct node node = {.ncores = 0};

    if (discovery->discover(PACKAGE_VERSION, discovery->file, xml, &node, err) < 0)
        return -1;
    *bytes = node_pack(&node, size);
    return *bytes ? 0 : error_set(err, "out of memory");
}

int discover_in_subprocess(discover_function *discover, const char *file, const char *what,
                           struct node *node, struct gpubind_error *err)
{
    struct discovery discovery = {discover, file};
    const struct hwloc_work work = {.run = discover_and_pack,
                                    .context = &discovery,
                                    .file = file,
                                    .what = what,
                                    .most = NODE_PACK_MAX};
    char *bytes;
    size_t size;
    int status;

    if (hwloc_subprocess_run(&work, &bytes, &size, err) < 0)
        return -1;
    status = node_unpack(bytes, size, node, NULL);
    free(bytes);
    return status < 0 ? error_set(err, "%s describes no node that can be planned for", what) : 0;
}

struct annotation {
    annotate_function *annotate;
    const char *file;
    const struct node *node;
    const struct picture *picture;
};

static int annotate_as_bytes(void *context, const char *xml, char **bytes, size_t *size,
                             struct gpubind_error *err)
{
    const struct annotation *annotation = context;

    if (annotation->annotate(PACKAGE_VERSION, annotation->file, xml, annotation->node,
                             annotation->picture, bytes, err) < 0)
        return -1;
    *size = strlen(*bytes) + 1;
    return 0;
}

int annotate_in_subprocess(annotate_function *annotate, const char *file, const char *what,
                           const struct node *node, const struct picture *picture, char **xml,
                           struct gpubind_error *err)
{
    struct annotation annotation = {annotate, file, node, picture};
    const struct hwloc_work work = {.run = annotate_as_bytes,
                                    .context = &annotation,
                                    .file = file,
                                    .what = what,
                                    .most = XML_MAX};
    size_t size;

    if (hwloc_subprocess_run(&work, xml, &size, err) < 0)
        return -1;
    if (size && !(*xml)[size - 1])
        return 0;
    free(*xml);
    return error_set(err, "%s is nothing that hwloc can write", what);
}
