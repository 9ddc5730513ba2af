#include "mpi/core/config.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mpi/shm/segment.h"

static const char *const names[PATHS] = {"any", "ipc", "shared", "network", "direct", "host"};

/* variable, where it goes, default, least, most */
static const struct row {
    const char *name;
    size_t at;
    long fallback, least, most;
} rows[] = {
    {"GPUBIND_EAGER", offsetof(struct settings, eager), 8192, 0, EAGER_BYTES},
    {"GPUBIND_COPY_BLOCKS", offsetof(struct settings, copy_blocks), 8, 0, 1024},
    {"GPUBIND_MAPPINGS", offsetof(struct settings, mappings), 256, 1, 65536},
    {"GPUBIND_ORDER", offsetof(struct settings, order), 1, 0, 1},
    {"GPUBIND_PACK_MEMORY", offsetof(struct settings, pack_memory), 256, 0, 1048576},
    {"GPUBIND_PROGRESS_THREAD", offsetof(struct settings, progress_thread), 0, 0, 1},
    {"GPUBIND_UNEXPECTED", offsetof(struct settings, unexpected), 256, 0, 1048576},
    {"GPUBIND_VERBOSE", offsetof(struct settings, verbose), 0, 0, 1},
    {"GPUBIND_WAIT_NOTICE", offsetof(struct settings, wait_notice), 10, 0, 86400},
};

const char *path_name(enum path path)
{
    return names[path];
}

static int read_path(enum path *path, struct gpubind_error *err)
{
    const char *value = getenv("GPUBIND_PATH");

    *path = PATH_ANY;
    if (!value || !*value)
        return 0;
    for (int i = 0; i < PATHS; i++)
        if (strcmp(value, names[i]) == 0) {
            *path = (enum path)i;
            return 0;
        }
    return error_set(err, "GPUBIND_PATH=%s: there is any, ipc, shared, network, direct and host",
                     value);
}

static int read_windows(bool *by_ipc, struct gpubind_error *err)
{
    const char *value = getenv("GPUBIND_WINDOWS");

    *by_ipc = value && strcmp(value, "ipc") == 0;
    if (!value || !*value || *by_ipc || strcmp(value, "any") == 0)
        return 0;
    return error_set(err, "GPUBIND_WINDOWS=%s: there is any and ipc", value);
}

/* A switch knows the words of gpubind's own flags; -1: none of them. */
static int switch_value(const char *value)
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on"};

    for (int i = 0; i < 6; i++)
        if (strcasecmp(value, words[i]) == 0)
            return i % 2;
    return -1;
}

static int read_row(const struct row *row, struct settings *settings, struct gpubind_error *err)
{
    const char *value = getenv(row->name);
    long number = row->fallback;
    char *end = NULL;

    if (value && *value) {
        errno = 0;
        number = row->most == 1 ? switch_value(value) : -1;
        if (number < 0)
            number = strtol(value, &end, 10);
        if (errno || (end && *end) || number < row->least || number > row->most)
            return error_set(err, "%s=%s: not a number from %ld to %ld", row->name, value,
                             row->least, row->most);
    }
    memcpy((char *)settings + row->at, &number, sizeof number);
    return 0;
}

int settings_load(struct settings *settings, struct gpubind_error *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (read_row(&rows[i], settings, err) < 0)
            return -1;
    if (read_windows(&settings->windows_by_ipc, err) < 0)
        return -1;
    return read_path(&settings->path, err);
}
