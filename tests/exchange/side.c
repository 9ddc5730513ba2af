#include "tests/exchange/side.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/core/waiting_blocks.h"
#include "gpu/kernel_table.h"

void must(int status, const char *what)
{
    struct gpubind_error err;

    if (status == CUDA_OK)
        return;
    gpu_error(status, what, &err);
    fprintf(stderr, "the test's own call failed: %s\n", err.text);
    abort();
}

void side_fork(struct side *side)
{
    int there[2], back[2];

    if (pipe(there) < 0 || pipe(back) < 0)
        abort();
    side->rank = fork() == 0;
    side->in = side->rank ? there[0] : back[0];
    side->out = side->rank ? back[1] : there[1];
    close(side->rank ? there[1] : there[0]);
    close(side->rank ? back[0] : back[1]);
}

void side_swap(const struct side *side, const void *mine, void *others, size_t n)
{
    if (write(side->out, mine, n) != (ssize_t)n || read(side->in, others, n) != (ssize_t)n)
        _exit(2); /* the other has ended, and said why */
}

void side_meet(const struct side *side)
{
    char byte = 0;

    side_swap(side, &byte, &byte, 1);
}

static cuda_address share(const struct side *side, size_t nbytes, cuda_address *others)
{
    const struct cuda_driver *cuda = gpu_driver();
    struct cuda_ipc_handle handle;
    cuda_address own;

    must(cuda->cuMemAlloc_v2(&own, nbytes), "cuMemAlloc");
    must(cuda->cuMemsetD8Async(own, 0, nbytes, side->stream), "cuMemsetD8Async");
    must(cuda->cuStreamSynchronize(side->stream), "cuStreamSynchronize");
    must(cuda->cuIpcGetMemHandle(&handle, own), "cuIpcGetMemHandle");
    side_swap(side, &handle, &handle, sizeof handle);
    must(cuda->cuIpcOpenMemHandle_v2(others, handle, CUDA_IPC_LAZY_PEER), "cuIpcOpenMemHandle");
    return own;
}

int side_start(struct side *side, size_t nbytes)
{
    struct gpubind_error err;
    struct CUctx_st *context;
    int count = 0;

    kernel_table_register();
    if (gpu_start(&err) < 0)
        return -1;
    must(gpu_driver()->cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (count == 0)
        return -1;
    must(gpu_driver()->cuDevicePrimaryCtxRetain(&context, side->rank % count),
         "cuDevicePrimaryCtxRetain");
    must(gpu_driver()->cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
    side->gpu = gpu_of(context, side->rank % count, &err);
    must(gpu_driver()->cuStreamCreate(&side->stream, CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
    side->own.out = share(side, nbytes, &side->other.out);
    side->own.in = share(side, nbytes, &side->other.in);
    side->own.words = share(side, SIDE_WORDS * EXCHANGE_FLAG, &side->other.words);
    return 0;
}

void side_end(struct side *side)
{
    const struct cuda_driver *cuda = gpu_driver();

    side_meet(side);
    must(cuda->cuIpcCloseMemHandle(side->other.out), "cuIpcCloseMemHandle");
    must(cuda->cuIpcCloseMemHandle(side->other.in), "cuIpcCloseMemHandle");
    must(cuda->cuIpcCloseMemHandle(side->other.words), "cuIpcCloseMemHandle");
    side_meet(side);
    must(cuda->cuMemFree_v2(side->own.out), "cuMemFree");
    must(cuda->cuMemFree_v2(side->own.in), "cuMemFree");
    must(cuda->cuMemFree_v2(side->own.words), "cuMemFree");
    must(cuda->cuStreamDestroy_v2(side->stream), "cuStreamDestroy");
    gpu_stop();
}

cuda_address ready_words(const struct arena *arena, int message)
{
    return arena->words + (unsigned)message * SCENE_PARTS * EXCHANGE_FLAG;
}

cuda_address done_words(const struct arena *arena, int message)
{
    return ready_words(arena, SCENE_MESSAGES + message);
}

static struct strided_buffer at(cuda_address arena, const struct scene *scene, int message,
                                struct strided_buffer layout)
{
    layout.address += arena + (unsigned)message * scene->slot;
    return layout;
}

void side_exchange(const struct side *side, const struct scene *scene)
{
    const struct message *mine = scene->messages[side->rank],
                         *theirs = scene->messages[!side->rank];
    struct exchange_send sends[SCENE_MESSAGES];
    struct exchange_receive receives[SCENE_MESSAGES];
    struct gpubind_error err;

    for (int i = 0; i < scene->n[side->rank]; i++)
        sends[i] = (struct exchange_send){.from = at(side->own.out, scene, i, mine[i].from),
                                          .to = at(side->other.in, scene, i, mine[i].to),
                                          .nbytes = mine[i].nbytes,
                                          .parts = mine[i].parts,
                                          .no_handshake = mine[i].no_handshake,
                                          .ready = ready_words(&side->own, i),
                                          .done = done_words(&side->other, i)};
    for (int i = 0; i < scene->n[!side->rank]; i++)
        receives[i] = (struct exchange_receive){.ready = ready_words(&side->other, i),
                                                .done = done_words(&side->own, i),
                                                .parts = theirs[i].parts,
                                                .no_handshake = theirs[i].no_handshake};
    if (exchange_start(side->gpu, side->stream, sends, scene->n[side->rank], receives,
                       scene->n[!side->rank], waiting_blocks_of_some(side->gpu), &err) == 0)
        return;
    fprintf(stderr, "%s\n", err.text);
    abort();
}

void side_copy(const struct side *side, const struct scene *scene)
{
    const struct message *messages = scene->messages[side->rank];

    for (int i = 0; i < scene->n[side->rank]; i++) {
        const struct strided_buffer to = at(side->own.in, scene, i, messages[i].to);
        const struct strided_buffer from = at(side->own.out, scene, i, messages[i].from);
        struct gpubind_error err;

        if (strided_copy(side->gpu, side->stream, &to, &from, messages[i].nbytes, &err) == 0)
            continue;
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}
