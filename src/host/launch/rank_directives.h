/* What one rank is to do before it becomes the program, as one message. */
#ifndef GPUBIND_HOST_LAUNCH_RANK_DIRECTIVES_H
#define GPUBIND_HOST_LAUNCH_RANK_DIRECTIVES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/idset.h"
#include "core/base/text.h"
#include "core/env/render_env.h"
#include "core/plan/plan.h"

/* Renders the directives of a rank: "speaks" for the one that says what is alike in all ranks of its node that have
 * GPUs, then "cpus=LIST", "memory=LIST" (both only where something is to be bound), then "=NAME=VALUE" to set,
 * "?NAME=VALUE" to set unless the user did, "-NAME" to unset; each ends with a NUL. */
void directives_render(const struct plan *plan, const struct plan_rank *rank, bool bind,
                       const struct env_list *env, struct text *text);

/* Carries them out in this process. What could not be bound is added to notes,
 * one sentence a line; the environment is set in any case. */
int directives_apply(const char *directives, size_t size, struct text *notes,
                     struct gpubind_error *err);

/* Whether the rank speaks for its node: the first that has a GPU, or the first where none has. */
bool directives_speak(const char *directives, size_t size);

#endif
