/* A job on nodes that need not be here: which machine each is, and what it gets. */
#ifndef GPUBIND_BIN_PLAN_JOB_H
#define GPUBIND_BIN_PLAN_JOB_H

#include "core/plan/process_map.h"
#include "host/launch/options.h"

/* Nodes of one topology are one machine, which is loaded once. */
struct machines {
    int n;
    struct machine {
        const char *file; /* of the layout or the options; NULL: this machine */
        struct node node;
    } *machine;
    int *of_node;
};

/* Loads what the layout's nodes are; the layout outlives machines. */
int machines_load(struct machines *machines, const struct layout *layout,
                  const struct rules *rules, struct gpubind_error *err);
void machines_clear(struct machines *machines);

/* Nodes that are alike in all but the numbers of their ranks have one plan. As many
 * are kept as a job may be expected to have. */
#define SHAPES_KEPT 16
struct shapes {
    const struct options *options;
    const struct layout *layout;
    const struct machines *machines;
    const struct facts *here; /* what this process sees and may use */
    int n, oldest;
    struct shape {
        int node;    /* one of those that look so; its ranks are numbered */
        bool shared; /* the plan is that of all of them ... */
        bool noted;  /* ... but there is something to say of each */
        struct placement placement;
    } shape[SHAPES_KEPT];
};

/* The placement of a node of the layout that has ranks, valid until the next call.
 * What is worth saying once a node is added to notes, unless that is NULL. */
const struct placement *shapes_plan(struct shapes *shapes, int node, struct text *notes,
                                    struct gpubind_error *err);
void shapes_clear(struct shapes *shapes);

#endif
