/* How a plan is shown on a picture of its node: which cores and GPUs get which colour
 * and label. Ranks that share GPUs share a colour. */
#ifndef GPUBIND_CORE_REPORT_LSTOPO_STYLE_H
#define GPUBIND_CORE_REPORT_LSTOPO_STYLE_H

#include "core/base/text.h"
#include "core/plan/plan.h"
#include "core/topo/node.h"

/* Cores on which the same ranks run. */
struct seat {
    struct idset cores; /* positions in the node */
    struct idset pus;   /* of these, those that the ranks run on */
    struct text label;  /* "rank 3", "ranks 4-5 (idle)" */
    const char *style;  /* in the words of lstopo, static */
};

/* The label of a GPU, or of an instance of one. */
struct tag {
    struct text label; /* "GPU 0: rank 3" */
    const char *style; /* NULL: no rank has it */
};

struct picture {
    int nseats;
    struct seat *seats;
    struct tag *tags;   /* one a GPU, by position */
    struct text legend; /* one line */
};

/* The caller clears, also after -1 (no memory). */
int lstopo_style_make(struct picture *picture, const struct node *node, const struct plan *plan,
                      struct gpubind_error *err);
void lstopo_style_clear(struct picture *picture);

#endif
