/* How messages are queued in a stream: by the library's calls, its persistent requests, NCCL, and bare
 * copies. */
#include "bench/lib/ranks.h"
#include "bench/stream/stream.h"

#define TAG 7

static unsigned char *slot_of(const struct stream_task *task, const struct buffer *buffer, int slot)
{
    return buffer->at + (size_t)slot * task->nbytes;
}
static gpu_stream stream_of(const struct stream_task *task)
{
    return task->bench->gpu.stream[0];
}
static void nothing(const struct stream_task *task)
{
    (void)task;
}

/* ---- the calls for a message each */

static void send_on_stream(const struct stream_task *task, int slot)
{
    ranks_need(gpubind_send_on_stream(slot_of(task, &task->bench->out, slot), (int)task->nbytes,
                                      MPI_BYTE, task->bench->other, TAG, MPI_COMM_WORLD,
                                      stream_of(task)));
}

static void recv_on_stream(const struct stream_task *task, int slot)
{
    ranks_need(gpubind_recv_on_stream(slot_of(task, &task->bench->in, slot), (int)task->nbytes,
                                      MPI_BYTE, task->bench->other, TAG, MPI_COMM_WORLD,
                                      stream_of(task)));
}

static void isend_on_stream(const struct stream_task *task, int slot)
{
    ranks_need(gpubind_isend_on_stream(slot_of(task, &task->bench->out, slot), (int)task->nbytes,
                                       MPI_BYTE, task->bench->other, TAG, MPI_COMM_WORLD,
                                       stream_of(task)));
}

static void irecv_on_stream(const struct stream_task *task, int slot)
{
    ranks_need(gpubind_irecv_on_stream(slot_of(task, &task->bench->in, slot), (int)task->nbytes,
                                       MPI_BYTE, task->bench->other, TAG, MPI_COMM_WORLD,
                                       stream_of(task)));
}

static void group(const struct stream_task *task)
{
    ranks_need(gpubind_group_on_stream(stream_of(task)));
}

static void quiet(const struct stream_task *task)
{
    ranks_need(gpubind_quiet_on_stream(stream_of(task)));
}

/* ---- persistent requests, of slot 0 */

static void start(const struct stream_task *task, int first, int n)
{
    gpubind_request requests[] = {task->requests[0], task->requests[1]};

    ranks_need(gpubind_startall_on_stream(n, requests + first, stream_of(task)));
}

static void persistent_send(const struct stream_task *task, int slot)
{
    (void)slot;
    start(task, 0, 1);
}

static void persistent_receive(const struct stream_task *task, int slot)
{
    (void)slot;
    start(task, 1, 1);
}

/* Both are started at once, in the end. */
static void not_yet(const struct stream_task *task, int slot)
{
    (void)task, (void)slot;
}

static void start_both(const struct stream_task *task)
{
    start(task, 0, 2);
}

/* ---- NCCL */

static void check_nccl(const struct stream_task *task, int status, const char *call)
{
    if (status != NCCL_OK)
        ranks_die("%s: %s", call, task->bench->nccl.error_string(status));
}

static void nccl_send(const struct stream_task *task, int slot)
{
    const struct nccl *nccl = &task->bench->nccl;

    check_nccl(task,
               nccl->send(slot_of(task, &task->bench->out, slot), task->nbytes, NCCL_BYTE,
                          task->bench->other, nccl->comm, nccl->stream),
               "ncclSend");
}

static void nccl_receive(const struct stream_task *task, int slot)
{
    const struct nccl *nccl = &task->bench->nccl;

    check_nccl(task,
               nccl->recv(slot_of(task, &task->bench->in, slot), task->nbytes, NCCL_BYTE,
                          task->bench->other, nccl->comm, nccl->stream),
               "ncclRecv");
}

static void nccl_begin(const struct stream_task *task)
{
    check_nccl(task, task->bench->nccl.group_start(), "ncclGroupStart");
}

static void nccl_end(const struct stream_task *task)
{
    check_nccl(task, task->bench->nccl.group_end(), "ncclGroupEnd");
}

/* ---- bare copies: what is sent is copied to where the other rank receives it */

static void copy(const struct stream_task *task, int slot)
{
    const struct stream_bench *bench = task->bench;
    const gpu_address to = address_of(bench->remote + (size_t)slot * task->nbytes);
    struct gpubind_error err;

    if (gpu_check(gpu_copy_device_async(to, address_of(slot_of(task, &bench->out, slot)),
                                        task->nbytes, stream_of(task)),
                  "a bare copy failed", &err) < 0)
        ranks_die("%s", err.text);
}

static void receive_nothing(const struct stream_task *task, int slot)
{
    (void)task, (void)slot;
}

#define GPUBIND(word, captured)                                                               \
    {                                                                                         \
        word, send_on_stream, recv_on_stream, group, isend_on_stream, irecv_on_stream, quiet, \
            captured                                                                          \
    }
#define PERSISTENT(word, captured)                                                                 \
    {                                                                                              \
        word, persistent_send, persistent_receive, nothing, not_yet, not_yet, start_both, captured \
    }
#define NCCL(word, captured)                                                                   \
    {                                                                                          \
        word, nccl_send, nccl_receive, nccl_begin, nccl_send, nccl_receive, nccl_end, captured \
    }

const struct stream_way stream_ways[STREAM_METHODS] = {
    [STREAM_GPUBIND] = GPUBIND("gpubind", false),
    [STREAM_PERSISTENT] = PERSISTENT("persistent", false),
    [STREAM_NCCL] = NCCL("nccl", false),
    [STREAM_GPUBIND_GRAPH] = GPUBIND("gpubind graph", true),
    [STREAM_PERSISTENT_GRAPH] = PERSISTENT("persistent graph", true),
    [STREAM_NCCL_GRAPH] = NCCL("nccl graph", true),
    [STREAM_COPY] = {"copy", copy, receive_nothing, nothing, copy, receive_nothing, nothing, false},
};
