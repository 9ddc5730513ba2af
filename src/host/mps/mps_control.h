/* The program nvidia-cuda-mps-control, which starts an MPS control daemon and talks
 * to it. Every call is over within the time it is given. */
#ifndef GPUBIND_HOST_MPS_MPS_CONTROL_H
#define GPUBIND_HOST_MPS_MPS_CONTROL_H

#include <stdbool.h>

#include "core/base/error.h"

/* Whether a daemon answers at this pipe directory. */
bool mps_control_answers(const char *pipe);

/* Starts the daemon, for these GPUs (a value of CUDA_VISIBLE_DEVICES), and returns
 * once it answers. The program's output goes to the file output_path. */
int mps_control_start(const char *pipe, const char *log, const char *devices,
                      const char *output_path, struct gpubind_error *err);

/* Asks the daemon to end, which it does when its clients have. */
void mps_control_quit(const char *pipe);

/* Kills this user's MPS processes that belong to the pipe directory; whether there
 * were any. */
bool mps_control_kill(const char *pipe);

/* The control daemon's pipe is in the directory, and it is not known that the daemon
 * has died. root: see sysroot.h. */
bool mps_is_served(const char *root, const char *directory);

#endif
