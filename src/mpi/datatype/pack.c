/* Packing and unpacking of noncontiguous messages, on the GPU or on the host. */
#include "mpi/datatype/pack.h"

#include <stdlib.h>

#include "mpi/core/progress.h"
#include "mpi/datatype/flat_type.h"
#include "mpi/datatype/pack_pool.h"

struct pack {
    struct flat_type *flat;
    uint64_t count;
    struct memory memory; /* the application's buffer */
    char *buffer;
    struct pack_buffer *reserve;      /* of a receive, taken in advance; used as: */
    struct pack_buffer *dense;        /* the dense buffer, NULL: none, */
    char *on_host;                    /* or in host memory */
    gpu_stream stream;                /* that packs a send; NULL: not yet, or the CPU does */
    struct gpu_completion completion; /* the packing */
};

static struct pack_buffer *take_buffer(struct pack *pack, uint64_t nbytes,
                                       struct gpubind_error *err)
{
    struct pack_buffer *buffer = pack->reserve;

    pack->reserve = NULL;
    return buffer ? buffer : pack_pool_take(pack->memory.gpu, nbytes, err);
}

void pack_free(struct pack *pack)
{
    struct gpubind_error err;

    if (!pack)
        return;
    while (pack->completion.gpu && gpu_completion_test(&pack->completion, &err) == 0)
        ;
    if (pack->dense)
        pack_pool_give(pack->dense);
    if (pack->reserve)
        pack_pool_give(pack->reserve);
    free(pack->on_host);
    flat_type_release(pack->flat);
    free(pack);
}

static int make_on_host(struct gpubind_operation *operation, struct gpubind_error *err)
{
    struct pack *pack = operation->pack;

    pack->on_host = malloc(operation->nbytes);
    if (!pack->on_host)
        return error_set(err, "there is no memory to pack %llu bytes of strided data",
                         (unsigned long long)operation->nbytes);
    operation->buffer = pack->on_host;
    operation->memory = (struct memory){.address = (gpu_address)(uintptr_t)pack->on_host};
    return 0;
}

static int take_dense(struct gpubind_operation *operation, struct gpubind_error *err)
{
    struct pack *pack = operation->pack;

    if (!pack->memory.gpu)
        return make_on_host(operation, err);
    pack->dense = take_buffer(pack, operation->nbytes, err);
    if (!pack->dense)
        return -1;
    operation->memory = pack->dense->memory;
    operation->buffer = (void *)(uintptr_t)operation->memory.address;
    return 0;
}

int pack_make(struct gpubind_operation *operation, const struct type_shape *shape, uint64_t count,
              struct gpubind_error *err)
{
    struct pack *pack = calloc(1, sizeof *pack);

    if (!pack)
        return error_set(err, "out of memory");
    flat_type_retain(shape->flat);
    pack->flat = shape->flat;
    pack->count = count;
    pack->buffer = operation->buffer;
    pack->memory = operation->memory;
    operation->pack = pack;
    if (operation->kind == REQUEST_SEND && operation->order == ORDER_DEFERRED)
        return take_dense(operation, err);
    return 0;
}

void pack_prepare(const struct gpubind_operation *operation)
{
    struct pack *pack = operation->pack;
    struct iov_table *table;
    struct strided_buffer layout;
    struct gpubind_error unheard;

    if (!pack || !pack->memory.gpu)
        return;
    table = pack_layout(pack, &layout) ? NULL : flat_type_iov_table(pack->flat);
    if (table)
        iov_table_prepare(table, pack->memory.gpu);
    if (operation->kind == REQUEST_RECEIVE && !pack->reserve)
        pack->reserve = pack_pool_take(pack->memory.gpu, operation->nbytes, &unheard);
}

bool pack_is_dense(const struct pack *pack)
{
    return pack->dense || pack->on_host;
}

bool pack_layout(const struct pack *pack, struct strided_buffer *layout)
{
    if (!flat_type_layout(pack->flat, pack->count, layout))
        return false;
    layout->address += pack->memory.address;
    return true;
}

uint64_t pack_type_name(const struct pack *pack, uint64_t *n, int64_t *extent)
{
    return flat_type_name(pack->flat, n, extent);
}

void pack_iov(const struct pack *pack, struct iov_block *iov)
{
    flat_type_iov(pack->flat, iov);
}

/* Queues copies of the first nbytes between the buffer and dense memory. */
static int move(const struct pack *pack, enum gpu_own_stream stream, gpu_address dense,
                uint64_t nbytes, bool scatter, struct gpubind_error *err)
{
    const struct strided_buffer run = {.address = dense, .run = nbytes, .count = {1, 1, 1}};
    struct gpu *gpu = pack->memory.gpu;
    struct strided_buffer layout;
    struct iov_end iov = {NULL, pack->memory.address};
    const struct iov_end whole = {NULL, dense};

    if (pack_layout(pack, &layout))
        return strided_copy(gpu, gpu->streams[stream], scatter ? &layout : &run,
                            scatter ? &run : &layout, nbytes, err);
    iov.table = flat_type_iov_table(pack->flat);
    if (!iov.table)
        return error_set(err, "out of memory");
    return iov_copy(gpu, stream, scatter ? &iov : &whole, scatter ? &whole : &iov, nbytes, err);
}

int pack_gather(struct gpubind_operation *send, gpu_address dense, struct gpubind_error *err)
{
    return move(send->pack, GPU_OUT, dense, send->nbytes, false, err);
}

int pack_gather_to(struct gpubind_operation *send, const struct iov_end *to,
                   struct gpubind_error *err)
{
    struct iov_end from = {NULL, send->memory.address};

    if (send->pack)
        from.table = flat_type_iov_table(send->pack->flat);
    if (send->pack && !from.table)
        return error_set(err, "out of memory");
    return iov_copy(send->memory.gpu, GPU_OUT, to, &from, send->nbytes, err);
}

gpu_stream pack_stream(const struct pack *pack)
{
    return pack->stream;
}

/* Packing that has to wait for earlier work of the application is in a stream of its own, so that
 * other messages do not wait behind it. A send on a stream needs no such wait. */
static int queue_packing(struct gpubind_operation *send, struct gpubind_error *err)
{
    struct pack *pack = send->pack;
    struct gpu *gpu = pack->memory.gpu;
    const enum gpu_own_stream stream = send->on_stream ? GPU_OUT : GPU_PACK;
    struct gpubind_error unheard;
    int status = 0;

    pack->stream = gpu->streams[stream];
    if (send->order == ORDER_OPEN)
        status = gpu_completion_precede(&send->before, stream, err);
    if (status == 0)
        status = move(pack, stream, send->memory.address, send->nbytes, false, err);
    /* Also after a failure: part of the packing may be queued. */
    if (copies_start(gpu, stream, NULL, 0, &pack->completion, status == 0 ? err : &unheard) < 0) {
        copies_wait(gpu, stream, NULL);
        status = -1;
    }
    return status;
}

int pack_start(struct gpubind_operation *send, struct gpubind_error *err)
{
    struct pack *pack = send->pack;

    if (!pack_is_dense(pack) && take_dense(send, err) < 0)
        return -1;
    if (pack->on_host) {
        flat_type_copy_on_host(pack->flat, pack->buffer, pack->on_host, send->nbytes, false);
        return 0;
    }
    return queue_packing(send, err);
}

int pack_test(struct gpubind_operation *operation, struct gpubind_error *err)
{
    struct gpu_completion *completion = &operation->pack->completion;

    return completion->gpu ? gpu_completion_test(completion, err) : 1;
}

int pack_scatter(struct gpubind_operation *receive, gpu_address dense, struct gpubind_error *err)
{
    return move(receive->pack, GPU_IN, dense, receive->got_bytes, true, err);
}

int pack_scatter_host(struct gpubind_operation *receive, const char *dense,
                      struct gpubind_error *err)
{
    struct pack *pack = receive->pack;
    struct gpu *gpu = pack->memory.gpu;
    struct copy copy = {.from = (gpu_address)(uintptr_t)dense,
                        .nbytes = receive->got_bytes,
                        .ends = COPY_FROM_HOST};
    int status;

    if (!gpu) {
        flat_type_copy_on_host(pack->flat, pack->buffer, (char *)(uintptr_t)dense,
                               receive->got_bytes, true);
        return 0;
    }
    pack->dense = take_buffer(pack, receive->got_bytes, err);
    if (!pack->dense)
        return -1;
    copy.to = pack->dense->memory.address;
    status = copies_queue(gpu, GPU_IN, &copy, 1, err);
    if (status == 0)
        status = pack_scatter(receive, copy.to, err);
    if (copies_wait(gpu, GPU_IN, status == 0 ? err : NULL) < 0)
        status = -1;
    pack_pool_give(pack->dense);
    pack->dense = NULL;
    return status;
}

int pack_dense(struct gpubind_operation *receive, struct gpubind_error *err)
{
    return take_dense(receive, err);
}

static int finish_receive(struct gpubind_operation *receive, struct gpubind_error *err)
{
    struct pack *pack = receive->pack;
    struct gpu *gpu = pack->memory.gpu;
    int status;

    if (receive->result != MPI_SUCCESS || receive->got_bytes == 0 ||
        (!pack->dense && !pack->on_host)) /* the data are in the buffer */
        return 0;
    if (!gpu) {
        flat_type_copy_on_host(pack->flat, pack->buffer, pack->on_host, receive->got_bytes, true);
        return 0;
    }
    status = pack_scatter(receive, receive->memory.address, err);
    if (copies_wait(gpu, GPU_IN, status == 0 ? err : NULL) < 0)
        status = -1;
    return status;
}

/* A send that its receiver has refused may still be packing: the application may have its buffer
 * only after that. */
static bool is_packed(const void *send)
{
    return !((const struct gpubind_operation *)send)->packing;
}

/* A step of progress calls this only when packing has ended. */
static int finish_send(struct gpubind_operation *send)
{
    struct gpubind_error unheard;

    while (!is_packed(send)) /* which may depend on another message */
        progress_wait_for(is_packed, send, 3600);
    while (pack_test(send, &unheard) == 0)
        ;
    return 0;
}

int pack_finish(struct gpubind_operation *operation, struct gpubind_error *err)
{
    if (!operation->pack)
        return 0;
    return operation->kind == REQUEST_RECEIVE ? finish_receive(operation, err)
                                              : finish_send(operation);
}
