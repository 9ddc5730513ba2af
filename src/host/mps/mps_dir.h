/* The folder of one MPS server: its pipe and log directories.
 *
 * It is new (mkdtemp), mode 0700 and the user's own, so nobody can have prepared it.
 * A lock on a file in it tells that somebody still looks after it: what is left of a
 * keeper that was killed is removed by the user's next server on this node. */
#ifndef GPUBIND_HOST_MPS_MPS_DIR_H
#define GPUBIND_HOST_MPS_MPS_DIR_H

#include "core/base/error.h"

/* A Unix socket's name has 108 bytes, of which the daemon needs some. */
#define MPS_FOLDER_MAX 82

struct mps_folder {
    char path[MPS_FOLDER_MAX];
    char pipe[MPS_FOLDER_MAX + 8], said[MPS_FOLDER_MAX + 8];
    char log[512]; /* the user's CUDA_MPS_LOG_DIRECTORY where it is set */
    int lock;      /* the descriptor that holds the lock */
};

/* Makes one in TMPDIR or, where that is not set or too long, in /tmp. */
int mps_folder_make(struct mps_folder *folder, struct gpubind_error *err);

/* Removes it with all that is in it. */
void mps_folder_remove(const struct mps_folder *folder);

#endif
