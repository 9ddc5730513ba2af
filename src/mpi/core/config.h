/* What the environment asks of the library; gpubind(7) lists it. */
#ifndef GPUBIND_MPI_CORE_CONFIG_H
#define GPUBIND_MPI_CORE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

enum path { PATH_ANY, PATH_IPC, PATH_SHARED, PATH_NETWORK, PATH_DIRECT, PATH_HOST, PATHS };

struct settings {
    enum path path;       /* GPUBIND_PATH: the only one for GPU memory */
    long eager;           /* GPUBIND_EAGER: bytes of GPU memory, at most EAGER_BYTES */
    long copy_blocks;     /* GPUBIND_COPY_BLOCKS */
    long mappings;        /* GPUBIND_MAPPINGS */
    long order;           /* GPUBIND_ORDER: blocking calls come after legacy streams */
    long pack_memory;     /* GPUBIND_PACK_MEMORY: MiB that are kept for strided data */
    long progress_thread; /* GPUBIND_PROGRESS_THREAD */
    long unexpected;      /* GPUBIND_UNEXPECTED: MiB of small messages without a receive */
    long wait_notice;     /* GPUBIND_WAIT_NOTICE: seconds; 0: never */
    long verbose;         /* GPUBIND_VERBOSE */
    bool windows_by_ipc;  /* GPUBIND_WINDOWS=ipc */
};

const char *path_name(enum path path);
/* 0, or -1 with a sentence that names the variable and its value. */
int settings_load(struct settings *settings, struct gpubind_error *err);

#endif
