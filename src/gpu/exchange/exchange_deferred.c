#include "gpu/exchange/exchange_deferred.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/copy/copy_batch.h"
#include "gpu/copy/strided_launch.h"
#include "gpu/core/gpu_calls.h"
#include "gpu/core/gpu_stream.h"
#include "gpu/core/kernels.h"

/* The job and its arrays, as they lie in the memory; multiples of a flag's size, as their elements are. */
struct places {
    size_t sends, receives, strided, takes, presets, end;
};

_Static_assert(sizeof(struct kernel_send) % EXCHANGE_FLAG == 0, "they follow each other");
_Static_assert(sizeof(struct kernel_receive) % EXCHANGE_FLAG == 0, "they follow each other");
_Static_assert(sizeof(struct kernel_levels) % EXCHANGE_FLAG == 0, "they follow each other");
_Static_assert(sizeof(struct kernel_copy) % EXCHANGE_FLAG == 0, "they follow each other");
_Static_assert(sizeof(gpu_address) % EXCHANGE_FLAG == 0, "they follow each other");

/* Each send and each receive has two ends. */
static size_t most_strided(const struct exchange_deferred *deferred)
{
    return 2 * (size_t)(deferred->nsends + deferred->nreceives);
}

static struct places places_of(const struct exchange_deferred *deferred)
{
    struct places places;

    places.sends = sizeof(struct deferred_kernel_job);
    places.receives = places.sends + (size_t)deferred->nsends * sizeof *deferred->sends;
    places.takes = places.receives + (size_t)deferred->nreceives * sizeof *deferred->receives;
    places.presets = places.takes + (size_t)deferred->nreceives * sizeof *deferred->takes;
    places.strided = places.presets + (size_t)deferred->nsends * sizeof *deferred->presets;
    places.end = places.strided + most_strided(deferred) * sizeof *deferred->strided;
    return places;
}

/* All of them have to be resident: of a green context's multiprocessors, one. */
static unsigned blocks_in(gpu_stream stream, unsigned blocks)
{
    return stream_is_green(stream) ? 1 : blocks;
}

static unsigned blocks_of(const struct gpu *gpu, int nsends, const uint64_t *nbytes, int nreceives)
{
    unsigned parts = 0;

    for (int i = 0; i < nsends; i++)
        parts += exchange_parts(nbytes[i]);
    return exchange_blocks(gpu, parts, (unsigned)nreceives);
}

size_t exchange_deferred_most(void)
{
    const struct exchange_deferred most = {.nsends = DEFERRED_MESSAGES,
                                           .nreceives = DEFERRED_MESSAGES};

    return places_of(&most).end;
}

static int take_memory(struct exchange_deferred *deferred, struct gpubind_error *err)
{
    const unsigned nflags = (unsigned)(places_of(deferred).end / EXCHANGE_FLAG);

    if (!deferred->sends || !deferred->receives || !deferred->takes || !deferred->presets ||
        !deferred->strided)
        return error_set(err, "out of memory");
    if (deferred->at)
        return 0;
    if (gpu_flags_take(deferred->gpu, nflags, &deferred->memory, err) < 0)
        return -1;
    deferred->at = deferred->memory.at;
    deferred->posted = gpu_flags_on_host(&deferred->memory, err);
    if (!deferred->posted)
        return -1;
    deferred->posted->gate = 0;
    return 0;
}

int exchange_deferred_make(struct exchange_deferred *deferred, struct gpu *gpu, int nsends,
                           const uint64_t *nbytes, int nreceives, unsigned blocks, gpu_address at,
                           struct gpubind_error *err)
{
    const unsigned wanted = blocks_of(gpu, nsends, nbytes, nreceives);

    *deferred = (struct exchange_deferred){
        .gpu = gpu, .at = at, .nsends = nsends, .nreceives = nreceives};
    if (nsends > DEFERRED_MESSAGES || nreceives > DEFERRED_MESSAGES)
        return error_set(err, "%d sends and %d receives at once, where %d of each are possible",
                         nsends, nreceives, DEFERRED_MESSAGES);
    deferred->blocks = wanted < blocks ? wanted : blocks;
    deferred->sends = calloc((size_t)nsends + 1, sizeof *deferred->sends);
    deferred->receives = calloc((size_t)nreceives + 1, sizeof *deferred->receives);
    deferred->takes = calloc((size_t)nreceives + 1, sizeof *deferred->takes);
    deferred->presets = calloc((size_t)nsends + 1, sizeof *deferred->presets);
    deferred->strided = calloc(most_strided(deferred) + 1, sizeof *deferred->strided);
    if (take_memory(deferred, err) == 0)
        return 0;
    exchange_deferred_free(deferred);
    return -1;
}

int exchange_deferred_queue(struct exchange_deferred *deferred, gpu_stream stream,
                            struct gpubind_error *err)
{
    struct deferred_kernel_launch launch = {deferred->at, (gpu_address)(uintptr_t)deferred->posted};
    void *parameters[] = {&launch};
    const bool entered = gpu_enter_for(deferred->gpu, stream);
    int status;

    deferred->blocks = blocks_in(stream, deferred->blocks);
    status = gpu_kernel_launch(kernel_of(deferred->gpu, GPU_DEFERRED_KERNEL), deferred->blocks, 1,
                               1, EXCHANGE_KERNEL_THREADS, 1, 1, 0, stream, parameters, NULL);
    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "the exchange cannot be queued", err);
}

/* ---- the messages */

static unsigned short index_of(struct exchange_deferred *deferred, const struct strided *strided,
                               unsigned unit)
{
    kernel_levels_of(strided, unit, &deferred->strided[deferred->nstrided]);
    return (unsigned short)deferred->nstrided++;
}

static bool make_copy(struct exchange_deferred *deferred, const struct strided_buffer *to_buffer,
                      const struct strided_buffer *from_buffer, uint64_t nbytes, unsigned parts,
                      struct kernel_copy *copy)
{
    struct strided to, from;

    if (!strided_of(to_buffer, nbytes, &to) || !strided_of(from_buffer, nbytes, &from) ||
        !kernel_can_copy(&to, &from, nbytes))
        return false;
    *copy = kernel_copy_of(&to, &from, nbytes, parts);
    if (to.levels > 1 || from.levels > 1) {
        copy->unit = (unsigned short)strided_unit(&to, &from, nbytes);
        copy->to_levels = index_of(deferred, &to, copy->unit);
        copy->from_levels = index_of(deferred, &from, copy->unit);
    }
    return true;
}

bool exchange_deferred_send(struct exchange_deferred *deferred, int i,
                            const struct exchange_send *send, bool preset)
{
    if (preset)
        deferred->presets[deferred->npresets++] = send->ready;
    deferred->sends[i].ready = send->no_handshake ? 0 : send->ready;
    deferred->sends[i].done = send->done;
    return make_copy(deferred, &send->to, &send->from, send->nbytes, send->parts,
                     &deferred->sends[i].copy);
}

bool exchange_deferred_receive(struct exchange_deferred *deferred, int i,
                               const struct exchange_receive *receive,
                               const struct strided_buffer *from, const struct strided_buffer *to,
                               uint64_t nbytes)
{
    deferred->receives[i] = (struct kernel_receive){.ready = receive->no_handshake ? 0
                                                                                   : receive->ready,
                                                    .done = receive->done,
                                                    .parts = receive->parts};
    return !from || make_copy(deferred, to, from, nbytes, 1, &deferred->takes[i]);
}

/* ---- the job in its memory */

static bool has_several(const struct exchange_deferred *deferred)
{
    unsigned parts = 0;

    for (int i = 0; i < deferred->nsends; i++)
        parts += deferred->sends[i].copy.parts;
    return parts > deferred->blocks;
}

static size_t lay_out(const struct exchange_deferred *deferred, unsigned gate, char *to)
{
    const struct places places = places_of(deferred);
    const size_t nsends = (size_t)deferred->nsends, nreceives = (size_t)deferred->nreceives;
    const size_t strided = deferred->nstrided * sizeof *deferred->strided;
    const struct deferred_kernel_job job = {.gate = gate,
                                            .nsends = (unsigned)deferred->nsends,
                                            .nreceives = (unsigned)deferred->nreceives,
                                            .several = has_several(deferred),
                                            .traps = deferred->traps,
                                            .npresets = deferred->npresets,
                                            .nbytes = places.strided + strided,
                                            .sends = deferred->at + places.sends,
                                            .receives = deferred->at + places.receives,
                                            .strided = deferred->at + places.strided,
                                            .takes = deferred->at + places.takes,
                                            .presets = deferred->at + places.presets};

    memcpy(to, &job, sizeof job);
    memcpy(to + places.sends, deferred->sends, nsends * sizeof *deferred->sends);
    memcpy(to + places.receives, deferred->receives, nreceives * sizeof *deferred->receives);
    memcpy(to + places.takes, deferred->takes, nreceives * sizeof *deferred->takes);
    memcpy(to + places.presets, deferred->presets, deferred->npresets * sizeof *deferred->presets);
    memcpy(to + places.strided, deferred->strided, strided);
    return places.strided + strided;
}

size_t exchange_deferred_write(const struct exchange_deferred *deferred, void *job)
{
    return lay_out(deferred, EXCHANGE_GATE_OPEN, job);
}

int exchange_deferred_copy(const struct exchange_deferred *deferred, const void *job, size_t nbytes,
                           gpu_stream stream, struct gpubind_error *err)
{
    const bool entered = gpu_enter_for(deferred->gpu, stream);
    const int status = gpu_driver()->cuMemcpyHtoDAsync_v2(deferred->at, job, nbytes, stream);

    gpu_leave(entered);
    return status == GPU_OK ? 0 : gpu_error(status, "the exchange cannot be queued", err);
}

static void post_gate(const struct exchange_deferred *deferred, unsigned gate)
{
    __atomic_store_n(&deferred->posted->gate, gate, __ATOMIC_RELEASE);
}

/* The gate opens when all else is there. */
void exchange_deferred_open(const struct exchange_deferred *deferred)
{
    lay_out(deferred, 0, (char *)deferred->posted);
    post_gate(deferred, EXCHANGE_GATE_OPEN);
}

/* A launch may have taken a job that was open. */
void exchange_deferred_break(const struct exchange_deferred *deferred, bool over)
{
    const unsigned gate = over ? EXCHANGE_GATE_OVER : EXCHANGE_GATE_BROKEN;
    const struct copy copy = {deferred->at, (gpu_address)(uintptr_t)&gate, sizeof gate,
                              COPY_FROM_HOST};
    const bool open = deferred->posted->gate != 0;
    struct gpubind_error unheard;

    post_gate(deferred, gate);
    if (open)
        copy_now(deferred->gpu, GPU_IN, &copy, &unheard);
}

void exchange_deferred_free(struct exchange_deferred *deferred)
{
    gpu_flags_give(&deferred->memory);
    free(deferred->sends);
    free(deferred->receives);
    free(deferred->takes);
    free(deferred->presets);
    free(deferred->strided);
    *deferred = (struct exchange_deferred){0};
}
