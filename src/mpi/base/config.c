#include "mpi/base/config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "mpi/shm/segment.h"

#define BIT(kind) (1u << TRANSPORT_##kind)
#define EACH_ALONE (BIT(SELF) | BIT(MPI)) /* as if each rank were on a node of its own */
#define ON_NODES (EACH_ALONE | BIT(CMA) | BIT(SHM))

static const struct {
    const char *name;
    unsigned transports;
} paths[] = {
    {"any", (1u << TRANSPORTS) - 1},
    {"ipc", ON_NODES | BIT(IPC)},
    {"shared", ON_NODES},
    {"network", EACH_ALONE},
    {"mpi", EACH_ALONE | BIT(MPI_DIRECT)},
    {"direct", EACH_ALONE | BIT(MPI_DIRECT)}, /* its name until 0.2.0 */
    {"host", ON_NODES},
};

/* variable, where it goes, default, least, most */
static const struct row {
    const char *name;
    size_t at;
    int fallback, least, most;
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

static int read_path(struct settings *settings, struct gpubind_error *err)
{
    const char *value = getenv("GPUBIND_PATH");

    if (!value || !*value)
        value = paths[0].name;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (strcmp(value, paths[i].name) == 0) {
            settings->path = paths[i].name;
            settings->transports = paths[i].transports;
            return 0;
        }
    return error_set(err, "GPUBIND_PATH=%s: there is any, ipc, shared, network, mpi and host",
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

static int read_row(const struct row *row, struct settings *settings, struct gpubind_error *err)
{
    const char *value = getenv(row->name);
    long stored;
    int number = row->fallback;

    if (value && *value && !number_read(value, row->least, row->most, &number) &&
        (row->most != 1 || switch_parse(value, row->name, &number, err) < 0))
        return error_set(err, "%s=%s: not a number from %d to %d", row->name, value, row->least,
                         row->most);
    stored = number;
    memcpy((char *)settings + row->at, &stored, sizeof stored);
    return 0;
}

int settings_load(struct settings *settings, struct gpubind_error *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (read_row(&rows[i], settings, err) < 0)
            return -1;
    if (read_windows(&settings->windows_by_ipc, err) < 0)
        return -1;
    return read_path(settings, err);
}
