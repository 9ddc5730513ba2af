/* What the environment asks of the library; gpubind(7) lists it. */
#ifndef GPUBIND_MPI_BASE_CONFIG_H
#define GPUBIND_MPI_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"

/* Ways of data between two ranks, in the order of preference: see transport.h. */
enum transport_kind {
    TRANSPORT_SELF,       /* one copy inside the process */
    TRANSPORT_IPC,        /* one copy: the other rank's allocation is mapped */
    TRANSPORT_CMA,        /* host memory of a process on the node, read by process_vm_readv */
    TRANSPORT_SHM,        /* through shared memory of the node */
    TRANSPORT_MPI_DIRECT, /* MPI gets the pointers to GPU memory */
    TRANSPORT_MPI,        /* MPI messages, GPU memory through page-locked memory */
    TRANSPORTS
};

struct settings {
    const char *path;     /* GPUBIND_PATH, a word; */
    unsigned transports;  /* those that it leaves for GPU memory, by 1 << enum transport_kind */
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

/* 0, or -1 with a sentence that names the variable and its value. */
int settings_load(struct settings *settings, struct gpubind_error *err);

#endif
