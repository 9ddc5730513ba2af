/* The kernel that copies between flags: what it would touch is found when it is launched; items are done in any
 * order, as their flags allow. */
#include <string.h>

#include "gpu/exchange/signal_kernel.h"
#include "tests/sim/kernels.h"

enum { BEGIN, SENT, END, SHARED, FIRST }; /* places; then of each item: */
enum { WAIT, SET, TO, FROM, SLOT, OF_ITEM };

struct signal_state {
    struct signal_kernel_job job;
    bool begun, sent, done[SIGNAL_KERNEL_ITEMS];
};

static const struct place *of_item(const struct operation *op, unsigned i, int what)
{
    return &op->places[FIRST + OF_ITEM * i + (unsigned)what];
}

static void set(const struct operation *op, const struct place *place, uint32_t value)
{
    __atomic_store_n((uint32_t *)(void *)operation_touch(op, place, "writes"), value,
                     __ATOMIC_RELEASE);
}

static bool is_there(const struct operation *op, const struct place *place, uint32_t value)
{
    const uint32_t *flag = (void *)operation_touch(op, place, "waits for");

    return (int32_t)(__atomic_load_n(flag, __ATOMIC_ACQUIRE) - value) >= 0;
}

static bool has_come(const struct operation *op, const struct place *slot, uint32_t value)
{
    const uint32_t *flag = (void *)operation_touch(op, slot, "waits for");

    return __atomic_load_n(flag, __ATOMIC_ACQUIRE) == value;
}

/* Blocks that meet need memory that the launch before has left as it found it. */
static void check_shared(const struct operation *op, const struct signal_kernel_job *job)
{
    struct signal_kernel_shared *shared = (void *)operation_touch(op, &op->places[SHARED],
                                                                  "writes");

    if (shared->done || shared->sent)
        sim_die("a kernel's blocks would count from %u and %u", shared->done, shared->sent);
    for (unsigned i = 0; i < job->n; i++) {
        if (shared->copied[i] || (job->items[i].wait && shared->go[i] == job->turn))
            sim_die("a kernel's blocks would not meet at its item %u", i);
        if (job->items[i].wait && job->items[i].parts > 1)
            shared->go[i] = job->turn;
    }
}

static void begin(const struct operation *op, const struct signal_kernel_job *job)
{
    if (job->begin)
        set(op, &op->places[BEGIN], job->begin_value);
    if (job->parts > 1)
        check_shared(op, job);
}

static void write_slot(const struct operation *op, const struct signal_kernel_item *item,
                       unsigned i)
{
    char *slot = operation_touch(op, of_item(op, i, SLOT), "writes");

    memmove(slot + SIGNAL_KERNEL_SLOT_DATA, operation_touch(op, of_item(op, i, FROM), "reads"),
            item->nbytes);
    set(op, of_item(op, i, SLOT), item->set_value);
}

static bool do_item(const struct operation *op, const struct signal_kernel_job *job, unsigned i)
{
    const struct signal_kernel_item *item = &job->items[i];

    const bool by_flag = !item->wait || is_there(op, of_item(op, i, WAIT), item->wait_value);
    const bool by_slot = item->slot && item->wait &&
                         has_come(op, of_item(op, i, SLOT), item->set_value);
    const char *from;

    if (!by_flag && !by_slot)
        return false;
    if (item->slot && !item->wait)
        write_slot(op, item, i);
    from = by_slot ? operation_touch(op, of_item(op, i, SLOT), "reads") + SIGNAL_KERNEL_SLOT_DATA
                   : operation_touch(op, of_item(op, i, FROM), "reads");
    if (item->nbytes)
        memmove(operation_touch(op, of_item(op, i, TO), "writes"), from, item->nbytes);
    if (item->set)
        set(op, of_item(op, i, SET), item->set_value);
    return true;
}

/* The item's blocks; all waits alone share one. */
static bool is_resident(const struct operation *op, const struct signal_kernel_job *job, unsigned i)
{
    const struct signal_kernel_item *item = &job->items[i];

    return item->first_part + (i < job->first_wait ? item->parts : 1u) <= op->resident;
}

static bool is_sent(const struct signal_state *state)
{
    for (unsigned i = 0; i < state->job.n && state->job.items[i].first_part < state->job.sent_parts;
         i++)
        if (!state->done[i])
            return false;
    return true;
}

static void write_sent(const struct operation *op, struct signal_state *state)
{
    if (state->job.sent_parts == 0 || state->sent || !is_sent(state))
        return;
    set(op, &op->places[SENT], state->job.sent_value);
    state->sent = true;
}

static enum step do_signal(struct operation *op)
{
    struct signal_state *state = op->state;
    const unsigned n = state->job.n, from = n ? (unsigned)(sim_random() % n) : 0;
    bool moved = !state->begun, finished = true;

    if (!state->begun)
        begin(op, &state->job);
    state->begun = true;
    for (unsigned i = 0; i < n; i++) {
        const unsigned item = (from + i) % n;

        if (!state->done[item] && is_resident(op, &state->job, item) &&
            do_item(op, &state->job, item)) {
            state->done[item] = moved = true;
            operation_end_blocks(op, state->job.items[item].parts);
        }
        finished &= state->done[item];
    }
    write_sent(op, state);
    if (finished && state->job.end)
        set(op, &op->places[END], state->job.end_value);
    return finished ? STEP_FINISHED : moved ? STEP_MOVED : STEP_STUCK;
}

static bool find(const struct CUctx_st *context, cuda_address start, uint64_t nbytes,
                 struct place *place)
{
    return !start || !nbytes ||
           (place_find(CALL_cuLaunchKernel, start, nbytes, place) == CUDA_OK &&
            place_reached(context, place));
}

static bool find_flag(const struct CUctx_st *context, cuda_address flag, struct place *place)
{
    return flag % sizeof(uint32_t) == 0 && find(context, flag, sizeof(uint32_t), place);
}

static bool find_item(const struct CUctx_st *context, const struct signal_kernel_item *item,
                      struct place *places)
{
    return (!item->nbytes || (item->to && item->from)) &&
           find_flag(context, item->wait, &places[WAIT]) &&
           find_flag(context, item->set, &places[SET]) &&
           find(context, item->to, item->nbytes, &places[TO]) &&
           find(context, item->slot, SIGNAL_KERNEL_SLOT_DATA + item->nbytes, &places[SLOT]) &&
           find(context, item->from, item->nbytes, &places[FROM]);
}

static bool find_places(const struct CUctx_st *context, const struct signal_kernel_job *job,
                        struct place *places)
{
    bool good = find_flag(context, job->begin, &places[BEGIN]) &&
                find_flag(context, job->sent, &places[SENT]) &&
                find_flag(context, job->end, &places[END]);

    if (good && job->parts > 1)
        good = job->shared &&
               find(context, job->shared, sizeof(struct signal_kernel_shared), &places[SHARED]);
    for (unsigned i = 0; i < job->n && good; i++)
        good = find_item(context, &job->items[i], &places[FIRST + OF_ITEM * i]);
    return good;
}

/* Of the first items, whole ones, that wait for nothing. */
static void check_sends(const struct signal_kernel_job *job)
{
    unsigned i = 0;

    while (i < job->first_wait && job->items[i].first_part < job->sent_parts)
        if (job->items[i++].wait)
            sim_die("item %u of a kernel is a send, and waits", i - 1);
    if (job->sent_parts > 0 &&
        (!job->sent || i == 0 ||
         job->items[i - 1].first_part + job->items[i - 1].parts != job->sent_parts))
        sim_die("the sends of a kernel are its first %u parts", job->sent_parts);
}

static void check_parts(const struct signal_kernel_job *job, unsigned blocks)
{
    unsigned parts = 0;

    if (job->n > SIGNAL_KERNEL_ITEMS)
        sim_die("a kernel with %u items", job->n);
    for (unsigned i = 0; i < job->n; i++) {
        const struct signal_kernel_item *item = &job->items[i];

        if (item->slot &&
            ((item->parts > 1 && item->from != item->slot + SIGNAL_KERNEL_SLOT_DATA) || item->set ||
             item->slot % 16))
            sim_die("item %u of a kernel has a slot, and %u parts", i, item->parts);
        if (item->first_part != parts || (item->parts == 0) != (i >= job->first_wait))
            sim_die("item %u of a kernel begins with block %u", i, item->first_part);
        if (i >= job->first_wait && (item->nbytes || item->set || !item->wait))
            sim_die("item %u of a kernel is no wait", i);
        parts += item->parts;
    }
    parts += job->n > job->first_wait;
    if (job->n && (parts != job->parts || parts != blocks))
        sim_die("a kernel of %u parts, told of %u, in %u blocks", parts, job->parts, blocks);
    check_sends(job);
}

struct operation *make_signal(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    const struct signal_kernel_job *job = parameter;
    struct operation *op = operation_with_step(
        CALL_cuLaunchKernel, do_signal, FIRST + OF_ITEM * (int)job->n, sizeof(struct signal_state));

    check_parts(job, blocks);
    ((struct signal_state *)op->state)->job = *job;
    if (!find_places(stream->context, job, op->places))
        op->error = SIM_ILLEGAL_ADDRESS;
    return op;
}
