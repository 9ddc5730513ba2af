#include "mpi/core/request.h"

#include "mpi/base/trace.h"
#include "mpi/core/domain.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static _Atomic int nserved;
static const struct request_ops *usual;
static struct gpubind_operation *spare; /* kept, so that calls do not allocate */
bool requests_used;
static _Atomic int live;
static _Atomic unsigned moves;
static uint32_t numbers;

double clock_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void request_default_ops(const struct request_ops *ops)
{
    usual = ops;
}

struct gpubind_operation *request_make(enum request_kind kind)
{
    struct gpubind_operation *operation = spare;

    if (operation)
        spare = operation->next;
    else
        operation = malloc(sizeof *operation);
    if (!operation)
        return NULL;
    operation->error.text[0] = '\0';
    memset(operation, 0, offsetof(struct gpubind_operation, error));
    memset((char *)operation + offsetof(struct gpubind_operation, started), 0,
           sizeof *operation - offsetof(struct gpubind_operation, started));
    operation->kind = kind;
    operation->ops = usual;
    operation->number = ++numbers;
    operation->descriptor = -1;
    operation->eager_buffer = -1;
    operation->landing = -1;
    requests_count(1);
    requests_used = true;
    return operation;
}

/* By one thread at a time, which has the library. */
void requests_count(int n)
{
    atomic_store_explicit(&live, atomic_load_explicit(&live, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

int requests_live(void)
{
    return atomic_load_explicit(&live, memory_order_relaxed);
}

void progress_made(void)
{
    atomic_store_explicit(&moves, atomic_load_explicit(&moves, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

unsigned progress_count(void)
{
    return atomic_load_explicit(&moves, memory_order_relaxed);
}

static void put_back(struct gpubind_operation *operation)
{
    requests_count(-1);
    progress_made();
    operation->ops->clear(operation);
    gpu_completion_drop(&operation->before);
    if (operation->comm)
        comm_leave(operation->comm);
    operation->comm = NULL; /* the handle may have copies */
    operation->channel = NULL;
    operation->next = spare;
    spare = operation;
}

void request_attach(struct gpubind_operation *operation, struct comm *comm)
{
    operation->comm = comm;
    operation->domain = comm->domain;
    (comm->of ? comm->of : comm)->operations++;
}

void request_free(struct gpubind_operation *operation)
{
    operation->forgotten = true;
    if (!operation->held)
        put_back(operation);
}

int request_refuse_stale(struct gpubind_error *err)
{
    error_set(err, "the request has ended or was freed; this is a copy of its handle");
    return MPI_ERR_REQUEST;
}

void request_serve(struct gpubind_operation *operation)
{
    nserved += !operation->served;
    operation->served = true;
}

bool requests_are_served(void)
{
    return nserved > 0;
}

void request_release(struct gpubind_operation *operation)
{
    nserved -= operation->served;
    operation->served = false;
    operation->held = false;
    if (operation->forgotten)
        put_back(operation);
}

void requests_clear(void)
{
    requests_used = false;
    while (spare) {
        struct gpubind_operation *next = spare->next;

        free(spare);
        spare = next;
    }
}

static void record(struct gpubind_operation *operation, uint64_t end)
{
    const bool sends = operation->kind == REQUEST_SEND;
    struct trace_event event = {.start = operation->called, .end = end};

    operation->called = 0;
    if (operation->result != MPI_SUCCESS || operation->cancelled || !operation->peer)
        return;
    event.kind = sends ? TRACE_SEND : TRACE_RECEIVE;
    event.path = operation->went == TRACE_DIRECT && operation->pack ? TRACE_PACKED
                                                                    : operation->went;
    event.bytes = sends ? operation->nbytes : operation->got_bytes;
    event.tag = sends ? operation->tag : operation->got_tag;
    event.peer = domain_world_rank(operation->domain, operation->peer->domain_rank);
    trace_part_record(&event);
}

void request_record_start(struct gpubind_operation *operation)
{
    request_record(operation);
    if (operation->called != 0)
        record(operation, operation->called);
}

static void trace_end(struct gpubind_operation *operation)
{
    if (__builtin_expect(operation->called != 0, false))
        record(operation, trace_part_now());
    trace(TRACE_P2P, "%s %u: %s%s", operation->kind == REQUEST_SEND ? "send" : "receive",
          operation->number, operation->result == MPI_SUCCESS ? "complete" : "failed: ",
          operation->result == MPI_SUCCESS ? "" : operation->error.text);
}

void request_complete(struct gpubind_operation *operation, int result, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(operation->error.text, sizeof operation->error.text, format, args);
    va_end(args);
    operation->result = result;
    operation->done = true;
    progress_made();
    trace_end(operation);
}

void request_fail(struct gpubind_operation *operation)
{
    if (!operation->error.text[0])
        error_set(&operation->error, "the data could not be copied");
    operation->result = MPI_ERR_OTHER;
    operation->done = true;
    progress_made();
    trace_end(operation);
}

void request_succeed(struct gpubind_operation *operation)
{
    operation->done = true;
    progress_made();
    trace_end(operation);
}

void request_order(struct gpubind_operation *operation)
{
    const int idle = gpu_completion_of_earlier(operation->memory.gpu, &operation->before,
                                               &operation->error);

    operation->order = idle == 1 ? ORDER_DONE : ORDER_OPEN;
}

int request_check_order(struct gpubind_operation *operation)
{
    struct gpubind_error err;
    int complete;

    if (operation->order != ORDER_OPEN)
        return operation->order == ORDER_DONE;
    if (operation->order_until > 0 && clock_seconds() > operation->order_until) {
        gpu_completion_drop(&operation->before);
        operation->order = ORDER_DONE;
        return 1;
    }
    err = operation->error; /* no completion: it could not be made */
    complete = operation->before.gpu ? gpu_completion_test(&operation->before, &err) : -1;
    if (complete < 0)
        request_complete(operation, MPI_ERR_OTHER, "%s", err.text);
    if (complete != 0)
        operation->order = ORDER_DONE;
    return complete;
}
