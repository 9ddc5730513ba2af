/* What streams copy by themselves, between flags: by one launch, or by a copy engine between memory operations. */
#include "gpu/core/deferred_free.h"
#include "gpu/core/waiting_blocks.h"
#include "mpi/stream/stream_queue_internal.h"

const struct signal_flag stream_no_flag = {NULL, 0};

static void add_flag(struct stream_ops *ops, bool waits, const struct signal_flag *flag)
{
    if (flag->at)
        ops->ops[ops->n++] = (struct stream_op){.kind = STREAM_FLAG,
                                                .flag = {waits, flag->at, flag->value}};
}

/* Those that a copy waits for; or the others. */
static void add_waits(struct stream_ops *ops, const struct stream_steps *steps, int n, bool copies)
{
    for (int i = 0; i < n; i++)
        if ((steps[i].copy.nbytes > 0) == copies)
            add_flag(ops, true, &steps[i].wait);
}

/* Others do not set the flags of waits without a copy before they have the data that the copies bring. */
void stream_ops_add_flags(struct stream_ops *ops, const struct signal_flag *begin,
                          const struct stream_steps *steps, int n, const struct signal_flag *end)
{
    int ncopies = 0;

    ops->n = 0;
    ops->blocks = 0;
    add_flag(ops, false, begin);
    add_waits(ops, steps, n, true);
    for (int i = 0; i < n; i++)
        if (steps[i].copy.nbytes > 0)
            ops->copies[ncopies++] = steps[i].copy;
    if (ncopies > 0)
        ops->ops[ops->n++] = (struct stream_op){
            .kind = STREAM_COPIES, .copies = ops->copies, .ncopies = ncopies};
    for (int i = 0; i < n; i++)
        add_flag(ops, false, &steps[i].set);
    add_waits(ops, steps, n, false);
    add_flag(ops, false, end);
}

/* Others have been told of them, and only a kernel waits for them. */
static bool have_slots(const struct stream_steps *steps, int n)
{
    for (int i = 0; i < n; i++)
        if (steps[i].slot)
            return true;
    return false;
}

void stream_blocks_end(struct stream_queue *stream, unsigned blocks)
{
    if (blocks > 0 && --stream->launches == 0)
        stream->blocks = 0;
}

unsigned stream_queues_blocks(const struct gpu *gpu, const void *but)
{
    unsigned blocks = 0;

    for (const struct stream_queue *stream = stream_queues; stream; stream = stream->next)
        if (stream->gpu == gpu && stream->key != but &&
            !stream_flag_has(stream->reached, stream->reached->value))
            blocks += stream->blocks;
    return blocks;
}

/* Beside those of other streams. */
static bool have_room(const struct stream_queue *me, unsigned blocks)
{
    const unsigned all = waiting_blocks_part(me->gpu, waiting_blocks_of_all(me->gpu));
    const unsigned some = waiting_blocks_part(me->gpu, waiting_blocks_of_some(me->gpu));
    const unsigned others = blocks + stream_queues_blocks(me->gpu, me->key);
    const unsigned known = others + me->gpu->exchange_blocks;

    return others <= some && known <= all &&
           known + free_guards_blocks(me->gpu, me->key, all - known) <= all;
}

/* A stream's launches wait one after the other. Single blocks are few: as many as streams that wait at a time. */
static bool take_blocks(struct stream_queue *stream, struct stream_ops *ops,
                        const struct signal_copies *copies)
{
    const unsigned wanted = signal_copies_blocks(stream->gpu, copies);
    const unsigned blocks = wanted > stream->blocks ? wanted : stream->blocks;

    if (wanted == 1)
        return true;
    if (!have_room(stream, blocks))
        return false;
    stream->launches++;
    stream->blocks = blocks;
    ops->blocks = wanted;
    return true;
}

/* One block waits for all that the copies of the next launch wait for, whose blocks are not kept waiting then. */
static void add_waiting_launch(struct stream_ops *ops, struct signal_copies *copies)
{
    struct signal_copies waits = {.begin = copies->begin, .copies = ops->waits};

    for (int i = 0; i < copies->n; i++)
        if (copies->copies[i].wait.at && (copies->copies[i].nbytes > 0 || copies->copies[i].set.at))
            ops->waits[waits.n++] = (struct signal_copy){.wait = copies->copies[i].wait,
                                                         .set.value = copies->copies[i].set.value,
                                                         .slot = copies->copies[i].slot};
    if (waits.n == 0)
        return;
    ops->ops[ops->n++] = (struct stream_op){.kind = STREAM_SIGNAL, .signal = waits};
    copies->begin = stream_no_flag;
}

/* spins: the kernel waits for the flags of the steps. */
static void fill_signals(struct stream_ops *ops, const struct stream_steps *steps, int n,
                         bool spins)
{
    for (int i = 0; i < n; i++)
        ops->signals[i] = (struct signal_copy){spins ? steps[i].wait : stream_no_flag,
                                               steps[i].copy.to,
                                               steps[i].copy.from,
                                               steps[i].copy.nbytes,
                                               steps[i].set,
                                               steps[i].slot};
}

static void add_launch(struct stream_queue *stream, struct stream_ops *ops,
                       const struct signal_flag *begin, const struct stream_steps *steps, int n,
                       const struct signal_flag *end)
{
    struct signal_copies copies = {.n = n, .end = *end};
    const bool spins = stream->spins || have_slots(steps, n);

    ops->n = 0;
    ops->blocks = 0;
    fill_signals(ops, steps, n, spins);
    copies.copies = ops->signals;
    if (spins) {
        copies.begin = *begin;
    } else {
        add_flag(ops, false, begin);
        add_waits(ops, steps, n, true);
    }
    if (spins && !take_blocks(stream, ops, &copies))
        add_waiting_launch(ops, &copies);
    ops->ops[ops->n++] = (struct stream_op){.kind = STREAM_SIGNAL, .signal = copies};
}

static bool fits_launch(const struct stream_queue *stream, const struct stream_steps *steps, int n)
{
    int ncopies = 0;

    for (int i = 0; i < n; i++) {
        if (!signal_copy_is_good(stream->gpu, &stream->space, steps[i].copy.nbytes))
            return false;
        ncopies += steps[i].copy.nbytes > 0;
    }
    return (n == 1 || stream->space.at) && (stream->spins || ncopies == n || have_slots(steps, n));
}

bool stream_ops_add_exchange(struct stream_queue *stream, struct stream_ops *ops,
                             const struct signal_flag *begin, const struct stream_sends *sends,
                             const struct stream_steps *steps, int n, const struct signal_flag *end)
{
    struct signal_copies copies = {
        .begin = *begin, .n = n, .nsends = sends->n, .sent = sends->done, .end = *end};

    if (!stream->spins || !fits_launch(stream, steps, n))
        return false;
    fill_signals(ops, steps, n, true);
    copies.copies = ops->signals;
    ops->blocks = 0;
    if (!take_blocks(stream, ops, &copies))
        return false;
    ops->ops[0] = (struct stream_op){.kind = STREAM_SIGNAL, .signal = copies};
    ops->n = 1;
    return true;
}

bool stream_queue_launches(const struct stream_queue *stream, uint64_t nbytes, bool waits)
{
    return signal_copy_is_good(stream->gpu, &stream->space, nbytes) && (!waits || stream->spins);
}

void stream_ops_add_copies(struct stream_queue *stream, struct stream_ops *ops,
                           const struct signal_flag *begin, const struct stream_steps *steps, int n,
                           const struct signal_flag *end)
{
    if (fits_launch(stream, steps, n))
        add_launch(stream, ops, begin, steps, n, end);
    else
        stream_ops_add_flags(ops, begin, steps, n, end);
}
