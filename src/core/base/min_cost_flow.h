/* Minimum-cost flow on small graphs, by the primal-dual method (Ahuja, Magnanti,
 * Orlin: Network Flows, section 9.8). Among all optima the caller can choose one
 * by stating preferences, arc by arc. */
#ifndef GPUBIND_CORE_BASE_MIN_COST_FLOW_H
#define GPUBIND_CORE_BASE_MIN_COST_FLOW_H

#include <stdbool.h>

#include "core/base/error.h"

/* Costs are lexicographic: five parts of 24 bits, the most important first. No
 * sum of a part along a path or a cycle may reach 2^23. */
__extension__ typedef __int128 flow_cost;
#define FLOW_PARTS 5
flow_cost flow_cost_of(const long part[FLOW_PARTS]);

struct flow_arc {
    int from, to;
    int capacity, flow;
    int locked; /* units of the flow that may not move any more */
    flow_cost cost;
};

struct flow {
    int nnodes, narcs, max_arcs;
    struct flow_arc *arcs;
    int *first, *next; /* lists of the residual arcs that leave a node: 2a is arc
                          a, 2a+1 its reverse */
    flow_cost *distance;
    bool *seen;
    int *queue;
    bool *queued;
};

/* A graph without arcs. The caller clears it. */
int flow_make(struct flow *flow, int nnodes, int max_arcs, struct gpubind_error *err);
void flow_clear(struct flow *flow);

/* Returns the arc's number. At most max_arcs are added; no cycle of arcs may have
 * a negative cost. */
int flow_add(struct flow *flow, int from, int to, int capacity, flow_cost cost);

/* Sends as much as possible from source to sink, at the least cost; returns the
 * amount. */
int flow_solve(struct flow *flow, int source, int sink);

/* Afterwards: makes ready for preferences. */
void flow_settle(struct flow *flow);
/* Moves one unit that is not locked onto the arc if that changes neither amount
 * nor cost nor locked units, and locks it; false when it cannot be. */
bool flow_prefer(struct flow *flow, int arc);

#endif
