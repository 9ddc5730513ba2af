/* The directory of one MPS server, with its pipe and log directories.
 *
 * It is new (mkdtemp), mode 0700 and owned by the user, so no other process has prepared it.
 * The supervisor holds a lock on a file in it. Directories without a lock were left by a
 * supervisor that was killed; the user's next server on this node removes them. */
#ifndef GPUBIND_HOST_MPS_MPS_DIR_H
#define GPUBIND_HOST_MPS_MPS_DIR_H

#include "core/base/error.h"

/* A Unix socket's name has 108 bytes, of which the daemon needs some. */
#define MPS_DIR_MAX 82

struct mps_dir {
    char path[MPS_DIR_MAX];
    char pipe[MPS_DIR_MAX + 8], output_path[MPS_DIR_MAX + 8];
    char log[512]; /* the user's CUDA_MPS_LOG_DIRECTORY where it is set */
    int lock;      /* the descriptor that holds the lock */
};

/* Makes one in TMPDIR or, where that is not set or too long, in /tmp. */
int mps_dir_make(struct mps_dir *folder, struct gpubind_error *err);

/* Removes it with all that is in it. */
void mps_dir_remove(const struct mps_dir *folder);

#endif
