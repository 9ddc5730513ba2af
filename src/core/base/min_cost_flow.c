/* Minimum-cost flow by successive shortest paths. */
#include "core/base/min_cost_flow.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

flow_cost flow_cost_of(const long part[FLOW_PARTS])
{
    flow_cost cost = 0;

    for (int i = 0; i < FLOW_PARTS; i++)
        cost = cost * (1 << 24) + part[i];
    return cost;
}

int flow_make(struct flow *flow, int nnodes, int max_arcs, struct gpubind_error *err)
{
    size_t nodes = (size_t)nnodes, arcs = (size_t)max_arcs + 1;

    memset(flow, 0, sizeof *flow);
    flow->nnodes = nnodes;
    flow->max_arcs = max_arcs;
    flow->arcs = calloc(arcs, sizeof *flow->arcs);
    flow->first = malloc(nodes * sizeof *flow->first);
    flow->next = malloc(2 * arcs * sizeof *flow->next);
    flow->distance = calloc(nodes, sizeof *flow->distance);
    flow->seen = calloc(nodes, sizeof *flow->seen);
    flow->queue = malloc(nodes * sizeof *flow->queue);
    flow->queued = calloc(nodes, sizeof *flow->queued);
    if (!flow->arcs || !flow->first || !flow->next || !flow->distance || !flow->seen ||
        !flow->queue || !flow->queued) {
        flow_clear(flow);
        return error_set(err, "out of memory");
    }
    for (int n = 0; n < nnodes; n++)
        flow->first[n] = -1;
    return 0;
}

void flow_clear(struct flow *flow)
{
    free(flow->arcs);
    free(flow->first);
    free(flow->next);
    free(flow->distance);
    free(flow->seen);
    free(flow->queue);
    free(flow->queued);
    memset(flow, 0, sizeof *flow);
}

int flow_add(struct flow *flow, int from, int to, int capacity, flow_cost cost)
{
    int arc = flow->narcs++;

    flow->arcs[arc] = (struct flow_arc){.from = from, .to = to, .capacity = capacity, .cost = cost};
    flow->next[2 * arc] = flow->first[from];
    flow->first[from] = 2 * arc;
    flow->next[2 * arc + 1] = flow->first[to];
    flow->first[to] = 2 * arc + 1;
    return arc;
}

static int head(const struct flow *flow, int residual)
{
    const struct flow_arc *arc = &flow->arcs[residual / 2];

    return residual % 2 ? arc->from : arc->to;
}

static int room(const struct flow *flow, int residual)
{
    const struct flow_arc *arc = &flow->arcs[residual / 2];

    return residual % 2 ? arc->flow - arc->locked : arc->capacity - arc->flow;
}

static flow_cost cost_of(const struct flow *flow, int residual)
{
    const struct flow_arc *arc = &flow->arcs[residual / 2];

    return residual % 2 ? -arc->cost : arc->cost;
}

/* Bellman-Ford with a queue, from the nodes that are seen and queued already. */
static void relax(struct flow *flow, int nqueued)
{
    for (int at = 0; nqueued; at = (at + 1) % flow->nnodes, nqueued--) {
        int node = flow->queue[at];

        flow->queued[node] = false;
        for (int e = flow->first[node]; e >= 0; e = flow->next[e]) {
            int to = head(flow, e);
            flow_cost distance = flow->distance[node] + cost_of(flow, e);

            if (room(flow, e) < 1 || (flow->seen[to] && flow->distance[to] <= distance))
                continue;
            flow->distance[to] = distance;
            flow->seen[to] = true;
            if (!flow->queued[to]) {
                flow->queue[(at + nqueued) % flow->nnodes] = to;
                flow->queued[to] = true;
                nqueued++;
            }
        }
    }
}

static bool shortest(struct flow *flow, int source, int sink)
{
    memset(flow->seen, 0, (size_t)flow->nnodes * sizeof *flow->seen);
    flow->distance[source] = 0;
    flow->seen[source] = flow->queued[source] = true;
    flow->queue[0] = source;
    relax(flow, 1);
    return flow->seen[sink];
}

static bool on_shortest(const struct flow *flow, int node, int residual)
{
    return room(flow, residual) > 0 &&
           flow->distance[head(flow, residual)] == flow->distance[node] + cost_of(flow, residual);
}

/* Pushes at most `amount` from node to sink along shortest arcs and nodes that
 * are not seen yet; returns what went through. */
static int push(struct flow *flow, int node, int sink, int amount)
{
    if (node == sink)
        return amount;
    flow->seen[node] = true;
    for (int e = flow->first[node]; e >= 0; e = flow->next[e]) {
        int here, sent;

        if (!on_shortest(flow, node, e) || flow->seen[head(flow, e)])
            continue;
        here = room(flow, e) < amount ? room(flow, e) : amount;
        sent = push(flow, head(flow, e), sink, here);
        if (sent) {
            flow->arcs[e / 2].flow += e % 2 ? -sent : sent;
            return sent;
        }
    }
    return 0;
}

static int push_from(struct flow *flow, int node, int sink, int amount)
{
    memset(flow->seen, 0, (size_t)flow->nnodes * sizeof *flow->seen);
    return push(flow, node, sink, amount);
}

int flow_solve(struct flow *flow, int source, int sink)
{
    int total = 0;

    while (shortest(flow, source, sink)) {
        int sent;

        /* Nodes that shortest() did not reach are worth nothing here. */
        for (int n = 0; n < flow->nnodes; n++)
            if (!flow->seen[n])
                flow->distance[n] = (flow_cost)1 << 125;
        while ((sent = push_from(flow, source, sink, INT_MAX)) > 0)
            total += sent;
    }
    return total;
}

void flow_settle(struct flow *flow)
{
    for (int n = 0; n < flow->nnodes; n++) {
        flow->distance[n] = 0;
        flow->seen[n] = flow->queued[n] = true;
        flow->queue[n] = n;
    }
    relax(flow, flow->nnodes);
}

bool flow_prefer(struct flow *flow, int a)
{
    struct flow_arc *arc = &flow->arcs[a];

    if (arc->flow == arc->locked) {
        /* Sends a unit round a cycle of arcs whose total cost is zero. */
        if (!on_shortest(flow, arc->from, 2 * a) || !push_from(flow, arc->to, arc->from, 1))
            return false;
        arc->flow++;
    }
    arc->locked++;
    return true;
}
