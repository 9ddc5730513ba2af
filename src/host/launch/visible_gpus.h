/* Which GPUs the ranks can see before gpubind does anything. */
#ifndef GPUBIND_HOST_LAUNCH_VISIBLE_GPUS_H
#define GPUBIND_HOST_LAUNCH_VISIBLE_GPUS_H

#include "host/launch/placement.h"

/* facts are in the order of the job's ranks. If all ranks see the same GPUs, the others are
 * removed from the node. If they differ, or the first ones of their lists do, something assigned
 * GPUs to ranks before: each rank of the job keeps those that it sees, or where other ranks have the same list,
 * its share of that, by the policy's gpus_per_rank, ranks_per_gpu and overflow. */
int visible_gpus_apply(struct node *node, const struct facts *facts, struct job *job,
                       const struct policy *policy, struct text *notes, struct gpubind_error *err);

/* Fails where a list of visible devices names a GPU by a UUID that may be that of one whose
 * UUID cannot be read. */
int visible_gpus_check(const struct node *node, const char *value, struct gpubind_error *err);

/* Sets seen to the positions that one rank sees, by its visibility variables and the
 * devices that it may open; the node has GPUs. */
int visible_gpus_of_rank(const struct node *node, const struct facts *facts, struct idset *seen,
                         struct gpubind_error *err);

/* Notes a --visible mode that does not work on this node. */
void visible_gpus_note_modes(const struct node *node, const struct facts *facts, int n,
                             struct text *notes);

#endif
