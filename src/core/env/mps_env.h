/* What an MPS server is to do for a plan in which ranks share GPUs.
 *
 * The server numbers the GPUs that it was started with anew, for all its clients;
 * only UUIDs mean the same to it and to them (NVIDIA, Multi-Process Service,
 * CUDA_VISIBLE_DEVICES). So GPUs are always named by UUID here, and what would
 * leave a program with indices is refused. */
#ifndef GPUBIND_CORE_ENV_MPS_ENV_H
#define GPUBIND_CORE_ENV_MPS_ENV_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/env/render_env.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* How many ranks have the rank's GPU, it included; of several GPUs the most wanted
 * one. 0 for a rank without a GPU. */
int mps_sharers(const struct plan *plan, const struct plan_rank *rank);

/* Where a control daemon has its pipes, by the value of CUDA_MPS_PIPE_DIRECTORY; NULL
 * when that is not set. */
const char *mps_directory(const char *set);

bool mps_is_shared(const struct plan *plan);

/* Whether the GPUs of the ranks that want one are such as MPS can share. */
int mps_check_gpus(const struct node *node, const struct plan *plan, struct gpubind_error *err);

/* Whether the rank will see under the server what it is to see. left: the value of
 * CUDA_VISIBLE_DEVICES that it keeps, NULL where it is not set or written anew. */
int mps_check_visible(const struct plan_rank *rank, const struct prefs *prefs, const char *left,
                      struct gpubind_error *err);

/* The server's GPUs: those that ranks have or, with all, every one of the node. */
void mps_gpus(const struct node *node, const struct plan *plan, bool all, struct idset *gpus);

/* Adds the server's CUDA_VISIBLE_DEVICES. Fails where a GPU has no UUID. */
int mps_devices(const struct node *node, const struct idset *gpus, struct text *value,
                struct gpubind_error *err);

/* Adds to the environment of a rank, which stays as it is without a GPU. -1 when
 * there is no memory. */
int mps_render_env(const struct plan *plan, const struct plan_rank *rank, const char *pipe,
                   const char *log, struct env_list *list);

#endif
