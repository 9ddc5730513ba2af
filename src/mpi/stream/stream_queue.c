/* Puts work of the library into the application's streams. */
#include <mpi.h>
#include <stdlib.h>

#include "core/base/list.h"
#include "gpu/core/gpu_calls.h"
#include "mpi/base/trace.h"
#include "mpi/core/context.h"
#include "mpi/core/progress.h"
#include "mpi/core/progress_thread.h"
#include "mpi/stream/stream_queue_internal.h"

#define WAITS_MAX_BESIDE 24 /* where exchanges of many parts are queued between the waits */

/* Flags that follow each other are one call of the driver: it costs a microsecond or more. *n: of the ops. */
static int queue_flags(const struct stream_queue *stream, const struct stream_op *ops, int left,
                       int *n)
{
    struct gpu_flag_op flags[GPU_FLAG_OPS];

    for (*n = 0; *n < left && *n < GPU_FLAG_OPS && ops[*n].kind == STREAM_FLAG; ++*n)
        flags[*n] = ops[*n].flag;
    return gpu_flag_ops_queue(flags, *n, stream->handle, stream->gpu);
}

static int queue_ops(struct stream_queue *stream, const struct stream_op *ops, int n)
{
    int status = GPU_OK, taken;

    for (int i = 0; i < n && status == GPU_OK; i += taken) {
        taken = 1;
        if (ops[i].kind == STREAM_FLAG)
            status = queue_flags(stream, &ops[i], n - i, &taken);
        else if (ops[i].kind == STREAM_COPIES)
            status = copies_put(stream->gpu, stream->handle, ops[i].copies, ops[i].ncopies);
        else
            status = signal_copies(stream->gpu, stream->handle, &stream->space, &ops[i].signal);
    }
    return status;
}

int stream_put_in(struct stream_queue *stream, const struct stream_op *ops, int n,
                  struct gpubind_error *err)
{
    int status;
    bool entered;

    library_unlock();
    entered = gpu_enter(&stream->place);
    status = queue_ops(stream, ops, n);
    gpu_leave(entered);
    library_lock();
    return status == GPU_OK ? 0 : gpu_error(status, "the stream cannot be used", err);
}

static struct stream_op flag_op(const struct stream_flag *flag, bool waits)
{
    return (struct stream_op){.kind = STREAM_FLAG, .flag = {waits, flag->at, flag->value}};
}

struct stream_op stream_write_op(const struct stream_flag *flag)
{
    return flag_op(flag, false);
}

struct stream_op stream_wait_op(const struct stream_flag *flag)
{
    return flag_op(flag, true);
}

/* The work could not be put in: fails it. The call itself returns the error. */
static void give_back(struct stream_queue *stream, struct entry *entry)
{
    const struct entry *oldest = stream->unawaited.first ? stream->unawaited.first : entry;

    entry->wait = NULL;
    entry->reported = true;
    entry->number = oldest->number;
    entry->ops->fail(entry->what);
    stream->broken = true;
    QUEUE_PUSH_FRONT(&stream->unawaited, entry, next);
}

void stream_add_entry(struct stream_queue *stream, const struct entry *model, void *what, bool good)
{
    struct entry *entry = malloc(sizeof *entry);

    if (!entry) /* a message that was announced cannot be withdrawn */
        PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
    *entry = *model;
    entry->what = what;
    stream_count_urgent(entry->urgent);
    if (good) {
        QUEUE_PUSH(&stream->queued, entry, next);
        stream->nqueued += !entry->behind;
    } else {
        give_back(stream, entry);
    }
}

static bool has_room_beside(const void *argument)
{
    return ((const struct stream_queue *)argument)->waits < WAITS_MAX_BESIDE;
}

int stream_queue_add(struct stream_queue *stream, const struct stream_work_ops *ops,
                     void *const whats[], int n, enum stream_wait_mode mode,
                     struct gpubind_error *err)
{
    struct entry model = {.ops = ops, .urgent = true};
    struct stream_op put[2];
    int nput = 1, status = 0;

    stream_queue_release(stream);
    model.number = ++stream->reached->value;
    put[0] = stream_write_op(stream->reached);
    stream_queues_count(n);
    while (mode == STREAM_WAIT_LATER && !has_room_beside(stream))
        progress_wait_for(has_room_beside, stream, 3600);
    if (mode != STREAM_WAIT_NEVER)
        model.wait = stream_wait_make(n + (mode == STREAM_WAIT_LATER), err);
    if (model.wait)
        stream_wait_put(stream, model.wait);
    if (mode == STREAM_WAIT_NOW && model.wait)
        put[nput++] = stream_wait_op(model.wait->flag);
    if (mode != STREAM_WAIT_NEVER && !model.wait)
        status = -1;
    else
        status = stream_put_in(stream, put, nput, err);
    trace(TRACE_STREAM, "stream %p: call %u is put in%s", (void *)stream->handle, model.number,
          status < 0   ? ", which fails"
          : model.wait ? ", and waited for"
                       : "");
    for (int i = 0; i < n; i++)
        stream_add_entry(stream, &model, whats[i], status == 0);
    if (status < 0 && model.wait)
        stream_wait_end(stream, model.wait);
    else if (mode == STREAM_WAIT_LATER)
        stream->later_wait = model.wait;
    progress_thread_wake();
    return status < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int stream_queue_await(struct stream_queue *stream, struct gpubind_error *err)
{
    struct stream_wait *wait = stream->later_wait;
    struct stream_op put;
    int status;

    if (!wait)
        return MPI_SUCCESS;
    put = stream_wait_op(wait->flag);
    status = stream_put_in(stream, &put, 1, err);
    stream->later_wait = NULL;
    if (--wait->left == 0)
        stream_wait_end(stream, wait);
    return status < 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}
