/* The target's side of commands (see window_am.h), which steps of progress execute. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/copy/copy_agent.h"
#include "gpu/copy/copy_batch.h"
#include "gpu/core/gpu_calls.h"
#include "mpi/base/trace.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/p2p/recv.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/rma/window_am.h"

#define LOOK_AFTER 0.1 /* seconds */

/* A command that is being executed, and the message that its current step waits for. */
struct target_op {
    struct target_op *next;
    struct gpubind_window *win;
    int origin;
    enum { READING, RECEIVING, SENDING, SIGNALLING, REPLYING } step;
    struct gpubind_operation *operation; /* NULL while signalling */
    struct window_command command;
    struct window_reply reply;
    struct gpu_completion completion;
};

static QUEUE_OF(struct target_op) all;
static _Atomic int windows; /* that accept commands */
static _Atomic unsigned events;

static bool has_origins(void)
{
    return windows > 0;
}

static unsigned count_events(void)
{
    return events;
}

int window_target_start(struct gpubind_error *err)
{
    if (progress_thread_start(err) < 0)
        return -1;
    windows++;
    progress_thread_wake();
    return 0;
}

void window_target_stop(void)
{
    windows--;
}

static void command_arrived(struct comm *comm, const struct incoming_msg *incoming)
{
    struct target_op *op = calloc(1, sizeof *op);

    if (!op) /* the origin waits for the reply */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    op->win = comm->window;
    op->origin = incoming->header.source;
    op->win->remote->target_pending++;
    op->operation = window_host_message(op->win, REQUEST_RECEIVE, op->origin, WINDOW_TAG,
                                        &op->command, sizeof op->command);
    QUEUE_PUSH(&all, op, next);
    events++;
    trace(TRACE_RMA, "a command of rank %d has come", op->origin);
    receive_start(op->operation, incoming);
}

/* ---- steps: each begins the next */

static void reply(struct target_op *op, int result, const char *why)
{
    op->reply.result = result;
    snprintf(op->reply.why, sizeof op->reply.why, "%.199s", why);
    op->step = REPLYING;
    trace(TRACE_RMA, "command %u of rank %d is complete%s%s", op->command.number, op->origin,
          result == MPI_SUCCESS ? "" : ": ", result == MPI_SUCCESS ? "" : why);
    op->operation = window_host_message(op->win, REQUEST_SEND, op->origin,
                                        window_reply_tag(&op->command), &op->reply,
                                        sizeof op->reply);
    window_send(op->operation);
}

/* The GPU writes the signal, atomically and after the data, which are complete. */
static void write_signal(struct target_op *op)
{
    struct gpu *gpu = op->win->gpu;
    const struct window_command *command = &op->command;
    const gpu_address signal = op->win->parts[op->win->rank].signals + 8 * command->signal;
    struct gpubind_error err;
    bool entered;
    int status;

    if (!gpu_has_write64()) {
        reply(op, MPI_ERR_OTHER, "the CUDA driver is too old: it cannot write signals");
        return;
    }
    entered = gpu_enter(gpu);
    status = gpu_stream_write64(gpu->streams[GPU_IN], signal, command->value, 0);
    gpu_leave(entered);
    if (status != GPU_OK)
        gpu_error(status, "the signal cannot be written", &err);
    else if ((agent_serves(gpu, GPU_IN) && copies_wait(gpu, GPU_IN, &err) < 0) ||
             copies_start(gpu, GPU_IN, NULL, 0, &op->completion, &err) < 0)
        status = -1;
    if (status == GPU_OK)
        op->step = SIGNALLING;
    else
        reply(op, MPI_ERR_OTHER, err.text);
}

/* Sends or receives the data of the command. */
static void move(struct target_op *op)
{
    const struct window_command *command = &op->command;
    const struct gpubind_window *win = op->win;
    const gpu_address at = win->parts[win->rank].data + command->offset;
    const bool put = command->op_flags & WINDOW_OP_PUT;
    struct memory memory = {.address = at, .gpu = win->gpu};
    struct gpubind_error err;

    if (memory_of((const void *)(uintptr_t)at, &memory, &err) < 0)
        memory = (struct memory){.address = at, .gpu = win->gpu};
    op->step = put ? RECEIVING : SENDING;
    op->operation = window_message(win, put ? REQUEST_RECEIVE : REQUEST_SEND, op->origin,
                                   put ? window_data_tag(command) : window_reply_tag(command),
                                   &memory, command->nbytes);
    if (put)
        match_receive(op->operation);
    else
        window_send(op->operation);
}

/* The data are complete: writes the signal, if there is one, else replies. */
static void finish(struct target_op *op)
{
    if (op->command.op_flags & WINDOW_OP_SIGNAL)
        write_signal(op);
    else
        reply(op, MPI_SUCCESS, "");
}

static void end_signal(struct target_op *op)
{
    struct gpubind_error err;
    const int complete = gpu_completion_test(&op->completion, &err);

    if (complete == 1)
        reply(op, MPI_SUCCESS, "");
    else if (complete < 0)
        reply(op, MPI_ERR_OTHER, err.text);
}

/* The message of the current step has ended: begins the next step. true: that was the last. */
static bool go_on(struct target_op *op, int result, const struct gpubind_error *err)
{
    switch (op->step) {
    case READING:
        if (result != MPI_SUCCESS) /* the origin would wait for the reply for ever */
            PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_INTERN);
        if (op->command.nbytes > 0)
            move(op);
        else
            finish(op);
        return false;
    case RECEIVING:
        if (result == MPI_SUCCESS)
            finish(op);
        else
            reply(op, result, err->text);
        return false;
    default: /* the origin sees what failed */
        return true;
    }
}

static bool advance(struct target_op *op)
{
    struct gpubind_operation *operation = op->operation;
    struct gpubind_error err;
    bool gone;
    int result;

    if (!operation) {
        end_signal(op);
        return false;
    }
    if (!operation->done && operation->kind == REQUEST_SEND)
        send_shm_nudge(operation);
    if (!operation->done)
        return false;
    result = operation->result;
    err = operation->error;
    gone = result != MPI_SUCCESS && request_peer_is_gone(operation);
    op->operation = NULL;
    request_free(operation);
    return gone || go_on(op, result, &err);
}

static void look_after(void)
{
    static double looked;
    const double now = clock_seconds();

    if (now - looked < LOOK_AFTER)
        return;
    looked = now;
    for (struct target_op *op = all.first; op; op = op->next)
        window_look_after(op->operation);
}

static void progress(bool mpi)
{
    (void)mpi;
    if (QUEUE_EMPTY(&all))
        return;
    look_after();
    for (struct target_op **link = &all.first; *link;) {
        struct target_op *op = *link;

        if (!advance(op)) {
            link = &op->next;
            continue;
        }
        QUEUE_UNLINK(&all, link, next);
        op->win->remote->target_pending--;
        free(op);
        events++;
    }
}

static void start_module(void)
{
    match_set_handler(WINDOW_TAG, command_arrived);
}

const struct module window_module = {
    .name = "window",
    .start = start_module,
    .progress = progress,
    .has_work = has_origins,
    .events = count_events,
};
