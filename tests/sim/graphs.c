/* Graphs: what was captured is done again at each launch, as often as it is launched; work of several captured streams
 * comes in the order that their events gave it, and else in any. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

struct node {
    struct operation *op; /* never done itself; its places are kept */
    int branch;           /* of the captured stream */
    struct nodes after;
    bool followed; /* by another node, or by the end of the capture */
};

struct CUuserObject_st {
    struct CUuserObject_st *next; /* of a graph */
    void (*destroy)(void *);
    void *what;
    unsigned users;
};

struct CUgraph_st {
    struct node *nodes;
    int n, branches;
    int users; /* the application, executable ones, and launches under way */
    unsigned long long id;
    struct CUuserObject_st *objects;
};

struct CUgraphExec_st {
    struct CUgraph_st *graph;
    struct CUstream_st **streams; /* one for each branch */
    struct dependency last; /* the end of the launch before: they are done one after the other */
};

static void *grow(void *array, size_t nbytes)
{
    array = realloc(array, nbytes);
    if (!array)
        sim_die("no memory");
    return array;
}

void nodes_add(struct nodes *nodes, const struct nodes *more)
{
    for (int i = 0; i < more->n; i++) {
        int at = 0;

        while (at < nodes->n && nodes->numbers[at] != more->numbers[i])
            at++;
        if (at < nodes->n)
            continue;
        nodes->numbers = grow(nodes->numbers, (size_t)(nodes->n + 1) * sizeof *nodes->numbers);
        nodes->numbers[nodes->n++] = more->numbers[i];
    }
}

void nodes_clear(struct nodes *nodes)
{
    free(nodes->numbers);
    *nodes = (struct nodes){NULL, 0};
}

/* ---- captured */

void graph_begin(struct CUstream_st *stream)
{
    static unsigned long long last_id;
    struct CUgraph_st *graph = sim_new(sizeof *graph);

    graph->users = 1;
    graph->id = ++last_id;
    graph_join(stream, graph);
}

void graph_join(struct CUstream_st *stream, struct CUgraph_st *graph)
{
    stream->graph = graph;
    stream->branch = graph->branches++;
    nodes_clear(&stream->tail);
}

static void follow(struct CUgraph_st *graph, const struct nodes *nodes)
{
    for (int i = 0; i < nodes->n; i++)
        graph->nodes[nodes->numbers[i]].followed = true;
}

void graph_add(struct CUstream_st *stream, struct operation *op)
{
    struct CUgraph_st *graph = stream->graph;
    const struct nodes self = {&graph->n, 1};

    graph->nodes = grow(graph->nodes, (size_t)(graph->n + 1) * sizeof *graph->nodes);
    op->stream = stream;
    graph->nodes[graph->n] = (struct node){
        .op = op, .branch = stream->branch, .after = stream->tail};
    follow(graph, &stream->tail);
    stream->tail = (struct nodes){NULL, 0};
    nodes_add(&stream->tail, &self);
    graph->n++;
}

bool graph_is_joined(const struct CUstream_st *origin)
{
    follow(origin->graph, &origin->tail);
    for (int i = 0; i < origin->graph->n; i++)
        if (!origin->graph->nodes[i].followed)
            return false;
    return true;
}

/* The destroyer must call nothing of the driver. */
static void leave_object(struct CUuserObject_st *object, unsigned n)
{
    object->users -= n;
    if (object->users > 0)
        return;
    object->destroy(object->what);
}

void graph_leave(struct CUgraph_st *graph)
{
    if (--graph->users > 0)
        return;
    for (int i = 0; i < graph->n; i++) {
        operation_free(graph->nodes[i].op);
        nodes_clear(&graph->nodes[i].after);
    }
    free(graph->nodes);
    graph->nodes = NULL;
    graph->n = 0;
    while (graph->objects) {
        struct CUuserObject_st *object = graph->objects;

        graph->objects = object->next;
        leave_object(object, 1);
    }
}

/* ---- launched */

int cuGraphDestroy(struct CUgraph_st *graph)
{
    int result = sim_enter(CALL_cuGraphDestroy);

    if (result)
        return result;
    if (!graph)
        return sim_leave(CUDA_INVALID_VALUE);
    graph_leave(graph);
    return sim_leave(CUDA_OK);
}

int cuGraphInstantiateWithFlags(struct CUgraphExec_st **made, struct CUgraph_st *graph,
                                unsigned long long flags)
{
    int result = sim_enter(CALL_cuGraphInstantiateWithFlags);
    struct CUctx_st *context;
    struct CUgraphExec_st *exec;

    if (result)
        return result;
    result = context_current(&context);
    if (!result && (!graph || flags))
        result = CUDA_INVALID_VALUE;
    if (result)
        return sim_leave(result);
    exec = sim_new(sizeof *exec);
    exec->graph = graph;
    graph->users++;
    exec->streams = sim_new((size_t)(graph->branches + 1) * sizeof *exec->streams);
    for (int i = 0; i < graph->branches; i++)
        exec->streams[i] = stream_new(context, false, false);
    *made = exec;
    return sim_leave(CUDA_OK);
}

/* Its work goes on. */
int cuGraphExecDestroy(struct CUgraphExec_st *exec)
{
    int result = sim_enter(CALL_cuGraphExecDestroy);

    if (result)
        return result;
    if (!exec)
        return sim_leave(CUDA_INVALID_VALUE);
    for (int i = 0; i < exec->graph->branches; i++)
        exec->streams[i]->destroyed = true;
    graph_leave(exec->graph);
    return sim_leave(CUDA_OK);
}

static void launch_nodes(const struct CUgraphExec_st *exec, const struct dependency *begin)
{
    const struct CUgraph_st *graph = exec->graph;
    struct dependency *done = grow(NULL, (size_t)(graph->n + 1) * sizeof *done);

    for (int i = 0; i < graph->n; i++) {
        const struct node *node = &graph->nodes[i];
        struct operation *op = operation_clone(node->op);

        operation_need(op, begin->stream, begin->ticket);
        for (int k = 0; k < node->after.n; k++) {
            const struct dependency *need = &done[node->after.numbers[k]];

            operation_need(op, need->stream, need->ticket);
        }
        done[i].stream = exec->streams[node->branch];
        done[i].ticket = stream_submit(done[i].stream, op);
    }
    free(done);
}

int cuGraphLaunch(struct CUgraphExec_st *exec, struct CUstream_st *handle)
{
    int result = sim_enter(CALL_cuGraphLaunch);
    struct CUstream_st *stream;
    struct operation *op;
    struct dependency begin;

    if (result)
        return result;
    result = exec ? stream_use(handle, &stream) : CUDA_INVALID_VALUE;
    if (!result && stream->capture)
        result = SIM_NOT_SUPPORTED; /* a graph in a graph */
    if (result)
        return sim_leave(result);
    op = operation_new(CALL_cuGraphLaunch, 0);
    if (exec->last.stream)
        operation_need(op, exec->last.stream, exec->last.ticket);
    begin = (struct dependency){stream, stream_submit(stream, op)};
    for (int i = 0; i < exec->graph->branches; i++)
        exec->streams[i]->told = stream;
    launch_nodes(exec, &begin);
    op = operation_new(CALL_cuGraphLaunch, 0);
    for (int i = 0; i < exec->graph->branches; i++)
        operation_need(op, exec->streams[i], exec->streams[i]->submitted);
    op->graph = exec->graph;
    exec->graph->users++;
    exec->last = (struct dependency){stream, stream_submit(stream, op)};
    return sim_leave(CUDA_OK);
}

/* ---- what graphs keep */

int cuStreamGetCaptureInfo_v3(struct CUstream_st *handle, int *status, unsigned long long *id,
                              struct CUgraph_st **graph, struct CUgraphNode_st *const **nodes,
                              const struct CUgraphEdgeData_st **edges, size_t *n)
{
    int result = sim_enter(CALL_cuStreamGetCaptureInfo_v3);
    struct CUstream_st *stream;

    if (result)
        return result;
    result = nodes || edges || n ? SIM_NOT_SUPPORTED : stream_find(handle, &stream);
    if (!result && stream->legacy)
        result = capture_blocks_legacy(stream->context, false);
    if (result)
        return sim_leave(result);
    *status = (int)stream->capture;
    if (stream->capture != CAPTURE_ACTIVE)
        return sim_leave(CUDA_OK);
    if (id)
        *id = stream->graph->id;
    if (graph)
        *graph = stream->graph;
    return sim_leave(CUDA_OK);
}

int cuUserObjectCreate(struct CUuserObject_st **object, void *what, void (*destroy)(void *),
                       unsigned users, unsigned flags)
{
    int result = sim_enter(CALL_cuUserObjectCreate);

    if (result)
        return result;
    if (!object || !destroy || !users || flags != 1)
        return sim_leave(CUDA_INVALID_VALUE);
    *object = sim_new(sizeof **object);
    **object = (struct CUuserObject_st){.destroy = destroy, .what = what, .users = users};
    return sim_leave(CUDA_OK);
}

int cuUserObjectRelease(struct CUuserObject_st *object, unsigned n)
{
    int result = sim_enter(CALL_cuUserObjectRelease);

    if (result)
        return result;
    if (!object || !n || n > object->users)
        return sim_leave(CUDA_INVALID_VALUE);
    leave_object(object, n);
    return sim_leave(CUDA_OK);
}

/* One reference, which the graph takes over: all that is simulated. */
int cuGraphRetainUserObject(struct CUgraph_st *graph, struct CUuserObject_st *object, unsigned n,
                            unsigned flags)
{
    int result = sim_enter(CALL_cuGraphRetainUserObject);

    if (result)
        return result;
    if (!graph || !object || n != 1 || flags != 1 || object->next)
        return sim_leave(CUDA_INVALID_VALUE);
    object->next = graph->objects;
    graph->objects = object;
    return sim_leave(CUDA_OK);
}
