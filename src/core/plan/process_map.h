/* Which rank of a job runs on which node, for plans of whole jobs. */
#ifndef GPUBIND_CORE_PLAN_PROCESS_MAP_H
#define GPUBIND_CORE_PLAN_PROCESS_MAP_H

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/idset.h"

#define LAYOUT_MAX_RANKS (1 << 20)
#define LAYOUT_MAX_NODES (1 << 16)

#define LAYOUT_CLOSED (-1)

struct layout_node {
    char name[256];
    char file[1024]; /* hwloc XML, "" for the plan's own topology */
    int slots;       /* 0: not said, LAYOUT_CLOSED: no rank goes there */
    int nranks;
};

struct layout_rank {
    int node;  /* position in nodes */
    int local; /* number on that node */
    bool bound;
    struct idset *cpus; /* owned; NULL unless bound */
};

struct layout {
    int nnodes;
    struct layout_node *nodes;
    int nranks;
    struct layout_rank *ranks;
    /* Once ranks are placed: those of node n, in local order, are listed[first[n]]
     * to listed[first[n + 1] - 1]. */
    int *first, *listed;
    /* Of the nodes' names: positions + 1 by hash, 0 where free. */
    int nbuckets, *place;
    int room; /* for nodes */
};

/* Reads "2" (n0, n1) or a list of NAME[:SLOTS][=FILE] and FILE.xml[:SLOTS]; the
 * latter have no name here. */
int layout_nodes(struct layout *layout, const char *text, struct gpubind_error *err);

/* Adds one node with this name, of any form. */
int layout_named(struct layout *layout, const char *name, struct gpubind_error *err);

/* Distributes nranks over the nodes: block fills each node's slots, or gives equal
 * shares where none are said; cyclic goes round. */
int layout_spread(struct layout *layout, int nranks, bool cyclic, struct gpubind_error *err);

/* Reads the lines "rank N=HOST [slot=CPUS]" of an Open MPI rankfile, or a host a line in order of
 * rank; '#' begins a comment. Hosts become nodes in order of appearance, unless nodes were given:
 * then each must be one of them. what names the file in sentences. */
int layout_rankfile(struct layout *layout, const char *text, const char *what,
                    struct gpubind_error *err);

void layout_clear(struct layout *layout);

#endif
