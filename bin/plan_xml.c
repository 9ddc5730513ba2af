/* --xml: writes each node's topology with its plan, for lstopo. */
#include "bin/plan_xml.h"

#include <stdlib.h>
#include <string.h>

#include "core/report/lstopo_style.h"
#include "host/sys/file.h"

/* The node's name before the suffix, if any. */
static void name_file(const char *path, const char *node, struct text *name)
{
    const char *base = strrchr(path, '/');
    const char *dot = strrchr(base ? base : path, '.');
    int stem = dot ? (int)(dot - path) : (int)strlen(path);

    text_add(name, "%.*s.%s%s", stem, path, node, path + stem);
}

static int write_one(const char *path, const char *file, const struct placement *placement,
                     struct gpubind_error *err)
{
    struct picture picture;
    char *xml = NULL;
    int status = lstopo_style_make(&picture, &placement->node, &placement->plan, err);

    if (status == 0)
        status = topology_annotate(file, &placement->node, &picture, &xml, err);
    if (status == 0)
        status = file_write(path, xml, strlen(xml), err);
    free(xml);
    lstopo_style_clear(&picture);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Each node of several has a file with its name in it. */
static int check_names(struct shapes *shapes, struct gpubind_error *err)
{
    const int n = shapes->layout->nnodes;
    char(*names)[NODE_NAME_SIZE] = malloc((size_t)n * sizeof *names);
    int status = names ? 0 : error_set(err, "out of memory");

    for (int i = 0; i < n && status == 0; i++) {
        const struct placement *at = shapes_plan(shapes, i, NULL, err);

        if (at)
            memcpy(names[i], at->node.name, sizeof names[i]);
        else
            status = -1;
    }
    if (status == 0)
        qsort(names, (size_t)n, sizeof *names, compare_names);
    for (int i = 0; i < n && status == 0; i++)
        if (strchr(names[i], '/'))
            status = error_set(err, "--xml: node '%s' cannot be part of a file's name", names[i]);
    for (int i = 1; i < n && status == 0; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status = error_set(err, "--xml: two nodes are called '%s', and each has its own file",
                               names[i]);
    free(names);
    return status;
}

int plan_write_xml(const char *path, struct shapes *shapes, struct gpubind_error *err)
{
    const struct machines *machines = shapes->machines;
    const int n = shapes->layout->nnodes;
    int status = n > 1 ? check_names(shapes, err) : 0;

    if (path[strlen(path) - 1] == '/')
        return error_set(err, "--xml: %s names no file", path);
    for (int i = 0; i < n && status == 0; i++) {
        const struct placement *at = shapes_plan(shapes, i, NULL, err);
        struct text name = {0};

        if (at && n > 1)
            name_file(path, at->node.name, &name);
        else
            text_add(&name, "%s", path);
        if (!at)
            status = -1;
        else if (name.failed)
            status = error_set(err, "out of memory");
        else
            status = write_one(name.bytes, machines->machine[machines->of_node[i]].file, at, err);
        text_clear(&name);
    }
    return status;
}
