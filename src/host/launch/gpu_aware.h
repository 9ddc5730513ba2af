/* --gpu-aware: libgpubind-aware, which makes MPI take GPU memory, is put before a program. */
#ifndef GPUBIND_HOST_LAUNCH_GPU_AWARE_H
#define GPUBIND_HOST_LAUNCH_GPU_AWARE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/text.h"

enum gpu_aware { GPU_AWARE_NOT_GIVEN = -1, GPU_AWARE_OFF, GPU_AWARE_AUTO, GPU_AWARE_ON };

/* -1 with a sentence where gpu_aware_apply would fail. */
int gpu_aware_check(enum gpu_aware mode, const char *program, struct gpubind_error *err);

/* Sets LD_PRELOAD and GPUBIND_GPU_AWARE of this process, which is about to become the program at
 * that path ("": not known). Where the library cannot help (it is not installed, is built for
 * another MPI, the program loads no shared objects), GPU_AWARE_ON fails with a sentence, and
 * GPU_AWARE_AUTO leaves the program alone. What was done goes to outcome, one sentence as a line;
 * *aside: it was to leave the program alone. */
int gpu_aware_apply(enum gpu_aware mode, const char *program, struct text *outcome, bool *aside,
                    struct gpubind_error *err);

#endif
