/* Commands to ranks whose windows streams of this one do not reach: the origin's side, and
 * its waits for what commands of others set. */
#include <stdlib.h>

#include "gpu/core/deferred_free.h"
#include "gpu/exchange/gpu_flags.h"
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/progress_thread.h"
#include "mpi/core/trace.h"
#include "mpi/p2p/send_shm.h"
#include "mpi/rma/window_am.h"
#include "mpi/stream/stream_queue.h"

struct asking {
    struct gpubind_window *win;
    int target;
    struct window_command command;
    struct memory memory; /* of the data */
    struct window_answer answer;
    /* Once the stream is there: the command, a put's data, and what comes back. */
    struct gpubind_operation *asked, *data, *answered;
    bool lost; /* the stream gets nowhere */
};

static void start(void *what)
{
    struct asking *asking = what;
    struct window_command *command = &asking->command;
    const struct gpubind_window *win = asking->win;
    const int target = asking->target, tag = window_answer_tag(command);

    if (command->deeds & WINDOW_GET)
        asking->answered = window_operation(win, OPERATION_RECEIVE, target, tag, &asking->memory,
                                            command->nbytes);
    else
        asking->answered = window_letter(win, OPERATION_RECEIVE, target, tag, &asking->answer,
                                         sizeof asking->answer);
    trace(TRACE_RMA, "command %u to rank %d:%s%s%s, %llu bytes at %llu", command->number, target,
          command->deeds & WINDOW_PUT ? " put" : "", command->deeds & WINDOW_GET ? " get" : "",
          command->deeds & WINDOW_SIGNAL ? " signal" : "", (unsigned long long)command->nbytes,
          (unsigned long long)command->offset);
    match_receive(asking->answered);
    asking->asked = window_letter(win, OPERATION_SEND, target, WINDOW_TAG, command,
                                  sizeof *command);
    window_send(asking->asked);
    if (!(command->deeds & WINDOW_PUT))
        return;
    asking->data = window_operation(win, OPERATION_SEND, target, window_data_tag(command),
                                    &asking->memory, command->nbytes);
    window_send(asking->data);
}

static void fail(void *what)
{
    struct asking *asking = what;

    asking->lost = true;
}

static bool is_done(struct gpubind_operation *operation)
{
    if (operation && !operation->done && operation->kind == OPERATION_SEND)
        local_send_nudge(operation);
    return !operation || operation->done;
}

/* The first that went wrong. */
static void take_result(const struct gpubind_operation *operation, int *result,
                        struct gpubind_error *err)
{
    if (!operation || *result != MPI_SUCCESS || operation->result == MPI_SUCCESS)
        return;
    *result = operation->result;
    *err = operation->error;
}

static void discard(struct asking *asking)
{
    struct gpubind_operation *operations[] = {asking->asked, asking->data, asking->answered};

    for (int i = 0; i < 3; i++)
        if (operations[i])
            operation_forget(operations[i]);
    asking->win->remote->asking--;
    free(asking);
}

static bool is_over(void *what, int *result, struct gpubind_error *err)
{
    struct asking *asking = what;
    struct gpubind_operation *asked = asking->asked, *answered = asking->answered;

    *result = MPI_SUCCESS;
    if (asking->lost) {
        *result = MPI_ERR_OTHER;
        error_set(err, "the stream cannot be used");
        discard(asking);
        return true;
    }
    /* What the target has not heard of it does not answer. */
    if (is_done(asked) && asked->result != MPI_SUCCESS && !answered->done &&
        match_withdraw(answered))
        operation_end(answered, asked->result, "%s", asked->error.text);
    if (!is_done(asked) || !is_done(asking->data) || !is_done(answered))
        return false;
    take_result(asked, result, err);
    take_result(asking->data, result, err);
    take_result(answered, result, err);
    if (*result == MPI_SUCCESS && asking->answer.result != MPI_SUCCESS) {
        *result = asking->answer.result;
        error_set(err, "rank %d: %.199s", asking->target, asking->answer.why);
    }
    discard(asking);
    return true;
}

static void look_after(void *what)
{
    struct asking *asking = what;

    window_look_after(asking->asked);
    window_look_after(asking->data);
    window_look_after(asking->answered);
}

static const struct stream_work_ops commands = {start, fail, is_over, look_after, NULL};

/* ---- into the stream */

static int check(const struct gpubind_window *win, int target, struct gpubind_error *err)
{
    const struct comm *comm = win->comm;

    if (win->remote && win->remote->served[target])
        return 0;
    if (comm->domain->peers[comm->domain_ranks[target]].local < 0)
        return error_set(err, "the window of rank %d is reached by MPI: calls on streams need "
                         "MPI_THREAD_MULTIPLE there, and MPI was initialised with less", target);
    return error_set(err, "the window of rank %d cannot be reached", target);
}

static struct asking *make(struct gpubind_window *win, int target,
                           const struct window_command *command, const void *buffer,
                           struct gpubind_error *err)
{
    struct asking *asking = calloc(1, sizeof *asking);

    if (!asking) {
        error_set(err, "out of memory");
        return NULL;
    }
    asking->win = win;
    asking->target = target;
    asking->command = *command;
    asking->command.number = win->remote->numbers++;
    if (command->nbytes > 0 && memory_of(buffer, &asking->memory, err) < 0) {
        free(asking);
        return NULL;
    }
    return asking;
}

static int queue(struct gpubind_window *win, int target, const struct window_command *command,
                 const void *buffer, struct stream_queue *stream, struct gpubind_error *err)
{
    struct asking *asking = make(win, target, command, buffer, err);
    void *what = asking;

    if (!asking)
        return MPI_ERR_OTHER;
    win->remote->asking++;
    if (memory_shared_anew()) /* peers may map what was freed before it */
        shares_sweep();
    return stream_queue_add(stream, &commands, &what, 1, STREAM_WAIT_NOW, err);
}

int window_ask(struct gpubind_window *win, int target, const struct window_command *command,
               const void *buffer, struct CUstream_st *handle, struct gpubind_error *err)
{
    struct stream_queue *stream;
    int result = MPI_ERR_OTHER;
    bool entered;

    if (check(win, target, err) < 0)
        return MPI_ERR_OTHER;
    entered = gpu_enter(win->gpu); /* whose default stream it may be */
    stream = stream_queue_open(handle, &result, err);
    if (stream) {
        result = queue(win, target, command, buffer, stream, err);
        stream_queue_close(stream);
    }
    gpu_leave(entered);
    return result;
}

/* ---- waits for signals */

/* A stream that waits for what this library has to do is held until it goes on. */
static void let_go(void *stream)
{
    stream_queue_count_waits(stream, -1);
}

static bool is_past(void *unused, int *result, struct gpubind_error *err)
{
    (void)unused, (void)err;
    *result = MPI_SUCCESS;
    return true;
}

static const struct stream_work_ops holds = {let_go, let_go, is_past, NULL, NULL};

static int put_wait_in(const struct gpubind_window *win, cuda_address word, uint64_t value,
                       struct CUstream_st *stream, struct gpubind_error *err)
{
    int capturing = 0, status = gpu_driver()->cuStreamIsCapturing(stream, &capturing);
    struct hold *hold = status != CUDA_OK || capturing ? NULL : hold_begin(win->gpu, stream);

    library_unlock(); /* the driver may wait for the stream, which a message may hold */
    status = gpu_driver()->cuStreamWaitValue64_v2(stream, word, value,
                                                  CUDA_WAIT_GEQ | words_wait_flush(win->gpu));
    if (hold)
        hold_record(hold);
    library_lock();
    if (hold)
        hold_end(hold);
    if (status == CUDA_OK)
        return MPI_SUCCESS;
    gpu_error(status, "the work cannot be queued in the stream", err);
    return MPI_ERR_OTHER;
}

static int hold(const struct gpubind_window *win, cuda_address word, uint64_t value,
                struct CUstream_st *handle, struct gpubind_error *err)
{
    int result;
    struct stream_queue *stream = stream_queue_open(handle, &result, err);
    void *what = stream;

    if (!stream)
        return result;
    stream_queue_count_waits(stream, 1);
    result = put_wait_in(win, word, value, handle, err);
    if (result == MPI_SUCCESS)
        result = stream_queue_add(stream, &holds, &what, 1, STREAM_WAIT_NEVER, err);
    else
        stream_queue_count_waits(stream, -1);
    stream_queue_close(stream);
    return result;
}

int window_wait(const struct gpubind_window *win, cuda_address word, uint64_t value,
                struct CUstream_st *stream, struct gpubind_error *err)
{
    bool entered = gpu_enter(win->gpu);
    int capturing = 0, result;

    if (!win->remote || win->remote->origins == 0 ||
        gpu_driver()->cuStreamIsCapturing(stream, &capturing) != CUDA_OK || capturing)
        result = put_wait_in(win, word, value, stream, err);
    else
        result = hold(win, word, value, stream, err);
    gpu_leave(entered);
    return result;
}
