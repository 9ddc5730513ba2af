/* A job on nodes that need not be here: which machine each is, and what it gets. */
#ifndef GPUBIND_BIN_PLAN_JOB_H
#define GPUBIND_BIN_PLAN_JOB_H

#include "core/plan/process_map.h"
#include "host/launch/options.h"

/* Nodes with the same topology share a machine, which is loaded once. */
struct machines {
    int n;
    struct machine {
        const char *file; /* of the layout or the options; NULL: this machine */
        struct node node;
    } * machine;
    int *of_node;
};

/* Loads the topologies of the layout's nodes; the layout outlives machines. */
int machines_load(struct machines *machines, const struct layout *layout, const struct rules *rules,
                  struct gpubind_error *err);
void machines_clear(struct machines *machines);

/* Nodes that are alike in all but the numbers of their ranks have one plan. As many
 * are kept as a job may be expected to have. */
#define SHAPES_KEPT 16
struct shapes {
    const struct options *options;
    const struct layout *layout;
    const struct machines *machines;
    const struct facts *here; /* of this process */
    int n, oldest;
    struct shape {
        int node;    /* one of the nodes with this shape; the plan has its ranks' numbers */
        bool shared; /* the plan serves all of them ... */
        bool noted;  /* ... but each has notes of its own */
        struct placement placement;
    } shape[SHAPES_KEPT];
};

/* The placement of a node of the layout that has ranks, valid until the next call.
 * What is worth saying once a node is added to notes, unless that is NULL. */
const struct placement *shapes_plan(struct shapes *shapes, int node, struct text *notes,
                                    struct gpubind_error *err);
void shapes_clear(struct shapes *shapes);

#endif
