/* Pairs whose sender writes straight into the receiver's memory: what each side needs of
 * the other for that. */
#include "mpi/core/context.h"
#include "mpi/core/ipc_refs.h"
#include "mpi/core/log.h"
#include "mpi/core/transport.h"
#include "mpi/persistent/channel.h"

static bool is_self(const struct pair *pair)
{
    const struct gpubind_operation *request = pair->request;

    return request->peer->domain_rank == request->domain->rank;
}

static bool may_exchange(struct gpu *gpu)
{
    return exchange_has_kernel(gpu) || gpu_driver()->cuStreamBatchMemOp_v2;
}

void link_offer(struct pair *pair, const struct layout *layout)
{
    const struct gpubind_operation *request = pair->request;
    struct offered *mine = &pair->mine;
    struct gpu *gpu = request->memory.gpu;

    mine->nbytes = request->nbytes;
    mine->sure = pair->sure;
    mine->gpu = (uint64_t)(uintptr_t)gpu;
    if (!gpu || !layout || !transport_allowed(TRANSPORT_IPC) || request->nbytes == 0 || request->peer->local < 0 ||
        !may_exchange(gpu))
        return;
    mine->kernel = exchange_has_kernel(gpu);
    if (words_take(gpu, mine->kernel ? exchange_parts(request->nbytes) : 1, &pair->words, NULL) < 0)
        return;
    mine->layout = *layout;
    mine->layout.address += request->memory.address;
    mine->words = pair->words.at;
    mine->nwords = pair->words.n;
    mine->linkable = is_self(pair) || (memory_share(&request->memory, &mine->memory) &&
                                       words_share(&pair->words, &mine->words_memory));
}

bool link_may_be(const struct pair *pair, const struct offered *other)
{
    return pair->mine.linkable && other->linkable &&
           (!is_self(pair) || pair->mine.gpu == other->gpu);
}

/* Where the owner's address lies here; 0: nowhere. */
static cuda_address reach(struct pair *pair, const struct memory_export *shared,
                          cuda_address owners, struct mapping **mapping)
{
    struct peer *peer = pair->request->peer;
    struct gpubind_error err;

    if (is_self(pair))
        return owners;
    if (peer->no_ipc || !mapping_possible(peer, shared, pair->request->memory.gpu))
        return 0;
    *mapping = mapping_open(peer, shared, pair->request->memory.gpu, &err);
    if (*mapping)
        return mapping_address(*mapping, owners);
    peer->no_ipc = true;
    warn_once(WARN_IPC, "%s (rank %d); messages to there go through host memory", err.text,
              pair->request->rank);
    return 0;
}

static unsigned parts_of(const struct pair *pair, const struct offered *other)
{
    const struct offered *send = pair_sends(pair) ? &pair->mine : other;
    unsigned parts = 1;

    if (pair->mine.kernel && other->kernel)
        parts = exchange_parts(send->nbytes);
    parts = parts > other->nwords ? other->nwords : parts;
    return parts > pair->mine.nwords ? pair->mine.nwords : parts;
}

static bool open_send(struct pair *pair, const struct offered *other)
{
    struct exchange_send *send = &pair->exchange.send;

    *send = (struct exchange_send){.from = pair->mine.layout, .to = other->layout,
                                   .nbytes = pair->mine.nbytes, .ready = pair->words.at,
                                   .parts = parts_of(pair, other)};
    send->to.address = reach(pair, &other->memory, other->layout.address, &pair->memory_mapping);
    send->done = reach(pair, &other->words_memory, other->words, &pair->words_mapping);
    return send->to.address && send->done;
}

static bool open_receive(struct pair *pair, const struct offered *other)
{
    struct exchange_receive *receive = &pair->exchange.receive;

    *receive = (struct exchange_receive){.done = pair->words.at, .parts = parts_of(pair, other)};
    receive->ready = reach(pair, &other->words_memory, other->words, &pair->words_mapping);
    return receive->ready;
}

bool link_open(struct pair *pair, const struct offered *other)
{
    const struct gpubind_operation *request = pair->request;
    bool open;

    /* The other side maps these, and may be asked to let go of them. */
    if (!is_self(pair))
        shares_note(request->domain, pair->mine.words_memory.id, request->peer->local);
    if (!is_self(pair) && !pair_sends(pair))
        shares_note(request->domain, request->memory.id, request->peer->local);
    pair->sure &= other->sure;
    open = pair_sends(pair) ? open_send(pair, other) : open_receive(pair, other);
    if (!open)
        link_close(pair);
    return open;
}

void link_break_here(struct pair *pair)
{
    if (pair->linked &&
        words_write(pair->request->memory.gpu, pair->words.at, pair_parts(pair), EXCHANGE_BROKEN,
                    NULL) < 0)
        pair->stuck = true;
}

/* The other side first: its part is then not done by halves when this one goes on. */
void link_break(struct pair *pair)
{
    const cuda_address others = pair_sends(pair) ? pair->exchange.send.done
                                                 : pair->exchange.receive.ready;

    if (pair->state == PAIR_LINKED && pair->starts + pair->captured > 0 && !pair->parted)
        words_write(pair->request->memory.gpu, others, pair_parts(pair), EXCHANGE_BROKEN, NULL);
    link_break_here(pair);
}

void link_close(struct pair *pair)
{
    if (pair->memory_mapping)
        mapping_done(pair->memory_mapping);
    if (pair->words_mapping)
        mapping_done(pair->words_mapping);
    pair->memory_mapping = pair->words_mapping = NULL;
}
