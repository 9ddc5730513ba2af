/* The process that stays behind: it starts a node's MPS server, waits for the last
 * of the ranks, and ends the server.
 *
 * The ranks become the program by exec, so none of them can do it. It watches their
 * processes (pidfd_open). A pipe that they inherit would not do: the program's own
 * children would keep it open, and programs close what they did not open. It is no
 * child of the launcher, has a session of its own, and holds none of the ranks'
 * descriptors, so the launcher does not wait for it and signals to the job do not reach it. */
#ifndef GPUBIND_HOST_MPS_MPS_SUPERVISOR_H
#define GPUBIND_HOST_MPS_MPS_SUPERVISOR_H

#include <sys/types.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "host/mps/mps_dir.h"

struct mps_watch {
    const struct mps_dir *folder;
    const char *devices;      /* the server's CUDA_VISIBLE_DEVICES */
    const struct idset *cpus; /* where the server may run, NULL: as this process */
    pid_t *pids;              /* of the ranks; the supervisor changes its copy */
    int npids;
};

/* Returns when the server is up, or never will be. On success the folder is the
 * supervisor's, else the caller's to remove. */
int mps_supervisor_start(const struct mps_watch *watch, struct gpubind_error *err);

#endif
