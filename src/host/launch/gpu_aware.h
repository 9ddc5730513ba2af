/* --gpu-aware: libgpubind-aware, which makes MPI take GPU memory, is put before a program. */
#ifndef GPUBIND_HOST_LAUNCH_GPU_AWARE_H
#define GPUBIND_HOST_LAUNCH_GPU_AWARE_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/env/render_env.h"

enum gpu_aware { GPU_AWARE_NOT_GIVEN = -1, GPU_AWARE_OFF, GPU_AWARE_AUTO, GPU_AWARE_ON };

/* -1 with a sentence where gpu_aware_environment would fail. env is the program's, with "" for a
 * program that is not known. */
int gpu_aware_check(enum gpu_aware mode, const char *program, char *const *env,
                    struct gpubind_error *err);

/* Adds to list LD_PRELOAD and GPUBIND_GPU_AWARE for the program at that path ("": not known), which is
 * to start with env (may be NULL). Where the library cannot help (it is not installed, is built for
 * another MPI, the program loads no shared objects), GPU_AWARE_ON fails with a sentence, and
 * GPU_AWARE_AUTO leaves the program alone. What was done goes to outcome, one sentence as a line;
 * *aside: it was to leave the program alone. The caller clears the list, also after a failure. */
int gpu_aware_environment(enum gpu_aware mode, const char *program, char *const *env,
                          struct env_list *list, struct text *outcome, bool *aside,
                          struct gpubind_error *err);

/* Notes a program that is linked to the MPI of another family than the launcher's, which is called as in struct
 * world. Reads the program's headers alone. */
void gpu_aware_note_launcher(const char *launcher, const char *program, struct text *notes);

/* Whether env says of which MPI the launcher is: the MPI of a program that is not known. */
bool gpu_aware_knows_launcher(char *const *env);

#endif
