/* The origin's side of commands (see window_am.h), and waits of streams for signals that
 * commands of other ranks may set. */
#include <stdlib.h>

#include "gpu/core/deferred_free.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/exchange/gpu_flags.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress_thread.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/rma/window_am.h"
#include "mpi/stream/stream_queue.h"

struct origin_op {
    struct gpubind_window *win;
    int target;
    struct window_command command;
    struct memory memory; /* of the data */
    struct window_reply reply;
    /* Made when the stream gets there: the command, the data of a put, the reply. */
    struct gpubind_operation *command_send, *data, *reply_receive;
    bool failed; /* the stream cannot be used */
};

static void start(void *what)
{
    struct origin_op *op = what;
    struct window_command *command = &op->command;
    const struct gpubind_window *win = op->win;
    const int target = op->target, tag = window_reply_tag(command);

    if (command->op_flags & WINDOW_OP_GET)
        op->reply_receive = window_message(win, REQUEST_RECEIVE, target, tag, &op->memory,
                                           command->nbytes);
    else
        op->reply_receive = window_host_message(win, REQUEST_RECEIVE, target, tag, &op->reply,
                                                sizeof op->reply);
    trace(TRACE_RMA, "command %u to rank %d:%s%s%s, %llu bytes at %llu", command->number, target,
          command->op_flags & WINDOW_OP_PUT ? " put" : "",
          command->op_flags & WINDOW_OP_GET ? " get" : "",
          command->op_flags & WINDOW_OP_SIGNAL ? " signal" : "",
          (unsigned long long)command->nbytes, (unsigned long long)command->offset);
    match_receive(op->reply_receive);
    op->command_send = window_host_message(win, REQUEST_SEND, target, WINDOW_TAG, command,
                                           sizeof *command);
    window_send(op->command_send);
    if (!(command->op_flags & WINDOW_OP_PUT))
        return;
    op->data = window_message(win, REQUEST_SEND, target, window_data_tag(command), &op->memory,
                              command->nbytes);
    window_send(op->data);
}

static void fail(void *what)
{
    struct origin_op *op = what;

    op->failed = true;
}

static bool is_done(struct gpubind_operation *operation)
{
    if (operation && !operation->done && operation->kind == REQUEST_SEND)
        send_shm_nudge(operation);
    return !operation || operation->done;
}

/* The first error counts. */
static void take_result(const struct gpubind_operation *operation, int *result,
                        struct gpubind_error *err)
{
    if (!operation || *result != MPI_SUCCESS || operation->result == MPI_SUCCESS)
        return;
    *result = operation->result;
    *err = operation->error;
}

static void discard(struct origin_op *op)
{
    struct gpubind_operation *operations[] = {op->command_send, op->data, op->reply_receive};

    for (int i = 0; i < 3; i++)
        if (operations[i])
            request_free(operations[i]);
    op->win->remote->origin_pending--;
    free(op);
}

static bool is_over(void *what, int *result, struct gpubind_error *err)
{
    struct origin_op *op = what;
    struct gpubind_operation *command_send = op->command_send, *reply_receive = op->reply_receive;

    *result = MPI_SUCCESS;
    if (op->failed) {
        *result = MPI_ERR_OTHER;
        error_set(err, "the stream cannot be used");
        discard(op);
        return true;
    }
    /* A command that could not be sent gets no reply. */
    if (is_done(command_send) && command_send->result != MPI_SUCCESS && !reply_receive->done &&
        match_withdraw(reply_receive))
        request_complete(reply_receive, command_send->result, "%s", command_send->error.text);
    if (!is_done(command_send) || !is_done(op->data) || !is_done(reply_receive))
        return false;
    take_result(command_send, result, err);
    take_result(op->data, result, err);
    take_result(reply_receive, result, err);
    if (*result == MPI_SUCCESS && op->reply.result != MPI_SUCCESS) {
        *result = op->reply.result;
        error_set(err, "rank %d: %.199s", op->target, op->reply.why);
    }
    discard(op);
    return true;
}

static void look_after(void *what)
{
    struct origin_op *op = what;

    window_look_after(op->command_send);
    window_look_after(op->data);
    window_look_after(op->reply_receive);
}

static const struct stream_work_ops commands = {start, fail, is_over, look_after, NULL};

/* ---- into the stream */

static int check(const struct gpubind_window *win, int target, struct gpubind_error *err)
{
    const struct comm *comm = win->comm;

    if (win->remote && win->remote->accepts[target])
        return 0;
    if (comm->domain->peers[comm->domain_ranks[target]].local < 0)
        return error_set(err,
                         "the window of rank %d is reached by MPI: calls on streams need "
                         "MPI_THREAD_MULTIPLE there, and MPI was initialised with less",
                         target);
    return error_set(err, "the window of rank %d cannot be reached", target);
}

static struct origin_op *make(struct gpubind_window *win, int target,
                              const struct window_command *command, const void *buffer,
                              struct gpubind_error *err)
{
    struct origin_op *op = calloc(1, sizeof *op);

    if (!op) {
        error_set(err, "out of memory");
        return NULL;
    }
    op->win = win;
    op->target = target;
    op->command = *command;
    op->command.number = win->remote->next_number++;
    if (command->nbytes > 0 && memory_of(buffer, &op->memory, err) < 0) {
        free(op);
        return NULL;
    }
    return op;
}

static int queue(struct gpubind_window *win, int target, const struct window_command *command,
                 const void *buffer, struct stream_queue *stream, struct gpubind_error *err)
{
    struct origin_op *op = make(win, target, command, buffer, err);
    void *what = op;

    if (!op)
        return MPI_ERR_OTHER;
    win->remote->origin_pending++;
    if (memory_exports_added()) /* peers may map memory that was at its address before */
        ipc_refs_sweep();
    return stream_queue_add(stream, &commands, &what, 1, STREAM_WAIT_NOW, err);
}

int window_queue_command(struct gpubind_window *win, int target,
                         const struct window_command *command, const void *buffer,
                         gpu_stream handle, struct gpubind_error *err)
{
    struct stream_queue *stream;
    int result = MPI_ERR_OTHER;
    bool entered;

    if (check(win, target, err) < 0)
        return MPI_ERR_OTHER;
    entered = gpu_enter_for(win->gpu, handle); /* which may be its default stream */
    stream = stream_queue_open(handle, &result, err);
    if (stream) {
        result = queue(win, target, command, buffer, stream, err);
        stream_queue_close(stream);
    }
    gpu_leave(entered);
    return result;
}

/* ---- waits for signals */

/* The stream counts as waiting for the library until it has passed the signal's wait. */
static void end_wait(void *stream)
{
    stream_queue_count_waits(stream, -1);
}

static bool is_past(void *unused, int *result, struct gpubind_error *err)
{
    (void)unused, (void)err;
    *result = MPI_SUCCESS;
    return true;
}

static const struct stream_work_ops wait_ops = {end_wait, end_wait, is_past, NULL, NULL};

static int queue_wait(const struct gpubind_window *win, gpu_address signal, uint64_t value,
                      gpu_stream stream, struct gpubind_error *err)
{
    int capturing = 0, status = gpu_stream_is_capturing(stream, &capturing);
    struct free_guard *guard = status != GPU_OK || capturing
                                   ? NULL
                                   : free_guard_begin(win->gpu, stream, 0);

    library_unlock(); /* the driver may wait for the stream, which may wait for a message */
    status = gpu_stream_wait64(stream, signal, value,
                               GPU_WAIT_GEQ | gpu_flags_wait_flush(win->gpu));
    if (guard)
        free_guard_record(guard);
    library_lock();
    if (guard)
        free_guard_end(guard);
    if (status == GPU_OK)
        return MPI_SUCCESS;
    gpu_error(status, "the work cannot be queued in the stream", err);
    return MPI_ERR_OTHER;
}

static int queue_library_wait(const struct gpubind_window *win, gpu_address signal, uint64_t value,
                              gpu_stream handle, struct gpubind_error *err)
{
    int result;
    struct stream_queue *stream = stream_queue_open(handle, &result, err);
    void *what = stream;

    if (!stream)
        return result;
    stream_queue_count_waits(stream, 1);
    result = queue_wait(win, signal, value, handle, err);
    if (result == MPI_SUCCESS)
        result = stream_queue_add(stream, &wait_ops, &what, 1, STREAM_WAIT_NEVER, err);
    else
        stream_queue_count_waits(stream, -1);
    stream_queue_close(stream);
    return result;
}

int window_queue_wait(const struct gpubind_window *win, gpu_address signal, uint64_t value,
                      gpu_stream stream, struct gpubind_error *err)
{
    bool entered = gpu_enter_for(win->gpu, stream);
    int capturing = 0, result;

    if (!win->remote || win->remote->origins == 0 ||
        gpu_stream_is_capturing(stream, &capturing) != GPU_OK || capturing)
        result = queue_wait(win, signal, value, stream, err);
    else
        result = queue_library_wait(win, signal, value, stream, err);
    gpu_leave(entered);
    return result;
}
