/* The kernels of exchanges and of strided copies, done by the CPU: what a kernel would
 * touch is found when it is launched; parts are done in any order, as their words allow. */
#include <string.h>

#include "gpu/exchange/exchange_flag.h"
#include "gpu/exchange/exchange_kernel.h"
#include "tests/sim/kernels.h"

struct ends { /* where the first unit of a copy lies in the places */
    uint64_t to, from;
};

struct item {
    bool receive, done;
    unsigned of, part;
};

/* One piece of memory, which graphs copy: arrays are found by where they lie in it. */
struct exchange_state {
    unsigned nsends, nreceives, posts, waits;
    bool traps, posted;
    unsigned nitems; /* parts of the sends, then of the receives */
    size_t sends, receives, strided, takes, ends, items;
};

#define ARRAY(type, state, name) ((type *)(void *)((char *)(uintptr_t)(state) + (state)->name))
#define SENDS(state) ARRAY(struct kernel_send, state, sends)
#define RECEIVES(state) ARRAY(struct kernel_receive, state, receives)
#define STRIDED(state) ARRAY(struct kernel_levels, state, strided)
#define TAKES(state) ARRAY(struct kernel_copy, state, takes)
#define ENDS(state) ARRAY(struct ends, state, ends) /* of the sends, then of the takes */
#define ITEMS(state) ARRAY(struct item, state, items)

/* Places of an exchange: four of each send, then four of each receive. */
enum { TO, FROM, READY, DONE, OF_SEND };
enum { TAKE_TO, TAKE_FROM, RECEIVE_READY, RECEIVE_DONE, OF_RECEIVE };

/* How far the units lie from the first one, in bytes. */
static void find_extent(const struct kernel_levels *shape, uint64_t units, int64_t *low,
                        int64_t *high)
{
    uint64_t left = units;

    *low = *high = 0;
    for (unsigned level = 0; level < shape->levels; level++) {
        const bool last = level + 1 == shape->levels;
        const uint64_t n = last || shape->n[level] > left ? left : shape->n[level];
        const int64_t reach = shape->stride[level] * (int64_t)(n - 1);

        *low += reach < 0 ? reach : 0;
        *high += reach > 0 ? reach : 0;
        left = last ? 1 : (left + n - 1) / n;
    }
}

static bool find_bytes(const struct CUctx_st *context, cuda_address start, uint64_t nbytes,
                       struct place *place)
{
    return place_find(CALL_cuLaunchKernel, start, nbytes, place) == CUDA_OK &&
           place_reached(context, place);
}

static bool find_end(const struct CUctx_st *context, const struct kernel_copy *copy,
                     const struct kernel_levels *shape, cuda_address start, struct place *place,
                     uint64_t *first)
{
    int64_t low = 0, high = (int64_t)copy->nbytes - copy->unit;

    if (shape)
        find_extent(shape, copy->nbytes / copy->unit, &low, &high);
    *first = (uint64_t)-low;
    return find_bytes(context, start + (uint64_t)low, (uint64_t)(high - low) + copy->unit, place);
}

static bool find_ends(const struct CUctx_st *context, const struct kernel_copy *copy,
                      const struct kernel_levels *strided, struct place *places, struct ends *ends)
{
    const bool shaped = copy->to_levels != KERNEL_CONTIGUOUS;

    if (!copy->parts || !copy->unit || copy->nbytes % copy->unit ||
        copy->nbytes / copy->unit > KERNEL_UNITS_MOST || (copy->to | copy->from) % copy->unit)
        sim_die("a kernel's copy of %llu bytes in units of %u", copy->nbytes, copy->unit);
    if (!copy->nbytes)
        return true;
    return find_end(context, copy, shaped ? &strided[copy->to_levels] : NULL, copy->to, &places[TO],
                    &ends->to) &&
           find_end(context, copy, shaped ? &strided[copy->from_levels] : NULL, copy->from,
                    &places[FROM], &ends->from);
}

static void copy_part(const struct operation *op, const struct kernel_copy *copy,
                      const struct kernel_levels *strided, const struct place *places,
                      const struct ends *ends, unsigned part)
{
    unsigned long long begin;
    const unsigned long long end = kernel_part(copy, part, &begin);
    char *to, *from;

    if (begin == end)
        return;
    to = operation_touch(op, &places[TO], "writes") + ends->to;
    from = operation_touch(op, &places[FROM], "reads") + ends->from;
    if (copy->to_levels == KERNEL_CONTIGUOUS)
        memmove(to + begin, from + begin, end - begin);
    else
        for (unsigned i = (unsigned)(begin / copy->unit); i < end / copy->unit; i++)
            memmove(to + kernel_offset(&strided[copy->to_levels], i),
                    from + kernel_offset(&strided[copy->from_levels], i), copy->unit);
}

/* ---- one copy, without words */

struct layout_state {
    struct strided_kernel_job job;
    struct ends ends;
};

static enum step do_layout(struct operation *op)
{
    const struct layout_state *state = op->state;

    for (unsigned part = 0; part < state->job.copy.parts; part++)
        copy_part(op, &state->job.copy, state->job.strided, op->places, &state->ends, part);
    return STEP_FINISHED;
}

struct operation *make_layout(const void *job, unsigned blocks, struct CUstream_st *stream)
{
    struct operation *op = operation_with_step(CALL_cuLaunchKernel, do_layout, 2,
                                               sizeof(struct layout_state));
    struct layout_state *state = op->state;

    memcpy(&state->job, job, sizeof state->job);
    if (state->job.copy.parts != blocks)
        sim_die("a copy in %u parts by %u blocks", state->job.copy.parts, blocks);
    if (!state->job.copy.nbytes)
        op->step = NULL;
    else if (!find_ends(stream->context, &state->job.copy, state->job.strided, op->places,
                        &state->ends))
        op->error = kernel_fault();
    return op;
}

/* ---- exchanges */

static uint32_t *word_of(const struct operation *op, const struct place *place, unsigned part,
                         const char *what)
{
    return (uint32_t *)(operation_touch(op, place, what) + EXCHANGE_FLAG * part);
}

static void set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

enum taken { NOT_YET, TAKEN, BROKEN };

/* Takes the word when it is there. */
static enum taken take(uint32_t *word)
{
    if (__atomic_load_n(word + 1, __ATOMIC_ACQUIRE))
        return BROKEN;
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 1)
        return NOT_YET;
    set(word, 0);
    return TAKEN;
}

static const struct place *receive_places(const struct operation *op, unsigned receive)
{
    const struct exchange_state *state = op->state;

    return op->places + OF_SEND * state->nsends + OF_RECEIVE * receive;
}

static void post(const struct operation *op)
{
    const struct exchange_state *state = op->state;

    for (unsigned i = 0; i < state->nreceives && state->posts; i++)
        for (unsigned part = 0; part < RECEIVES(state)[i].parts; part++)
            if (RECEIVES(state)[i].ready && TAKES(state)[i].parts == 0)
                set(word_of(op, &receive_places(op, i)[RECEIVE_READY], part, "writes"), 1);
}

static bool do_receive(struct operation *op, const struct item *item)
{
    const struct exchange_state *state = op->state;
    const struct place *places = receive_places(op, item->of);
    const struct kernel_copy *copy = &TAKES(state)[item->of];
    const enum taken done = take(word_of(op, &places[RECEIVE_DONE], item->part, "waits for"));

    if (done == BROKEN && state->traps)
        operation_trap(op);
    if (done == TAKEN && copy->parts > 0) {
        copy_part(op, copy, STRIDED(state), places, &ENDS(state)[state->nsends + item->of], 0);
        set(word_of(op, &places[RECEIVE_READY], 0, "writes"), 1);
    }
    return done != NOT_YET;
}

static bool do_item(struct operation *op, const struct item *item)
{
    const struct exchange_state *state = op->state;
    const struct kernel_send *send = &SENDS(state)[item->of];
    const struct place *places = op->places + OF_SEND * item->of;
    enum taken ready = TAKEN;

    if (item->receive)
        return do_receive(op, item);
    if (send->ready)
        ready = take(word_of(op, &places[READY], item->part, "waits for"));
    if (ready == BROKEN && state->traps)
        operation_trap(op);
    if (ready != TAKEN)
        return ready == BROKEN;
    copy_part(op, &send->copy, STRIDED(state), places, &ENDS(state)[item->of], item->part);
    set(word_of(op, &places[DONE], item->part, "writes"), 1);
    return true;
}

static enum step do_exchange(struct operation *op)
{
    struct exchange_state *state = op->state;
    const unsigned from = state->nitems ? (unsigned)(sim_random() % state->nitems) : 0;
    const bool backwards = sim_random() % 2;
    bool moved = !state->posted, finished = true;

    if (op->resident < op->blocks) /* those that wait would wait for the others */
        return STEP_STUCK;
    if (!state->posted)
        post(op);
    state->posted = true;
    for (unsigned i = 0; i < state->nitems; i++) {
        struct item *item = &ITEMS(
            state)[(from + (backwards ? state->nitems - i : i)) % state->nitems];

        if (!item->done) {
            item->done = do_item(op, item);
            moved |= item->done;
        }
        finished &= item->done;
    }
    return finished || op->error ? STEP_FINISHED : moved ? STEP_MOVED : STEP_STUCK;
}

static bool find_words(const struct CUctx_st *context, unsigned long long words, unsigned parts,
                       struct place *place)
{
    return words % EXCHANGE_FLAG == 0 &&
           find_bytes(context, words, (uint64_t)EXCHANGE_FLAG * parts, place);
}

static bool find_places(const struct CUctx_st *context, struct operation *op)
{
    const struct exchange_state *state = op->state;
    struct place *place = op->places;
    bool good = true;

    for (unsigned i = 0; i < state->nsends && good; i++, place += OF_SEND) {
        const struct kernel_send *send = &SENDS(state)[i];

        good = find_ends(context, &send->copy, STRIDED(state), place, &ENDS(state)[i]) &&
               (!send->ready ||
                find_words(context, send->ready, send->copy.parts, &place[READY])) &&
               find_words(context, send->done, send->copy.parts, &place[DONE]);
    }
    for (unsigned i = 0; i < state->nreceives && good; i++, place += OF_RECEIVE) {
        const struct kernel_receive *receive = &RECEIVES(state)[i];
        const struct kernel_copy *copy = &TAKES(state)[i];

        good = (!receive->ready ||
                find_words(context, receive->ready, receive->parts, &place[RECEIVE_READY])) &&
               find_words(context, receive->done, receive->parts, &place[RECEIVE_DONE]) &&
               (copy->parts == 0 || find_ends(context, copy, STRIDED(state), &place[TAKE_TO],
                                              &ENDS(state)[state->nsends + i]));
    }
    return good;
}

static void add_items(struct exchange_state *state, bool receive, unsigned of, unsigned parts)
{
    for (unsigned part = 0; part < parts; part++)
        ITEMS(state)[state->nitems++] = (struct item){.receive = receive, .of = of, .part = part};
}

static size_t take_room(size_t *end, size_t nbytes)
{
    const size_t at = *end;

    *end += (nbytes + 15) / 16 * 16;
    return at;
}

/* An operation with that state, and places. */
static struct operation *make(const struct exchange *exchange, unsigned nitems)
{
    struct exchange_state at = {.nsends = exchange->nsends,
                                .nreceives = exchange->nreceives,
                                .posts = exchange->posts,
                                .waits = exchange->waits,
                                .traps = exchange->traps};
    size_t end = (sizeof at + 15) / 16 * 16;
    struct exchange_state *state;
    struct operation *op;

    at.sends = take_room(&end, at.nsends * sizeof(struct kernel_send));
    at.receives = take_room(&end, at.nreceives * sizeof(struct kernel_receive));
    at.strided = take_room(&end, exchange->nstrided * sizeof(struct kernel_levels));
    at.takes = take_room(&end, at.nreceives * sizeof(struct kernel_copy));
    at.ends = take_room(&end, (at.nsends + at.nreceives) * sizeof(struct ends));
    at.items = take_room(&end, nitems * sizeof(struct item));
    op = operation_with_step(CALL_cuLaunchKernel, do_exchange,
                             OF_SEND * at.nsends + OF_RECEIVE * at.nreceives, end);
    state = op->state;
    *state = at;
    memcpy(SENDS(state), exchange->sends, at.nsends * sizeof(struct kernel_send));
    memcpy(RECEIVES(state), exchange->receives, at.nreceives * sizeof(struct kernel_receive));
    memcpy(STRIDED(state), exchange->strided, exchange->nstrided * sizeof(struct kernel_levels));
    if (exchange->takes)
        memcpy(TAKES(state), exchange->takes, at.nreceives * sizeof(struct kernel_copy));
    return op;
}

struct operation *exchange_new(const struct exchange *exchange, struct CUstream_st *stream)
{
    struct operation *op;
    unsigned nitems = 0;

    for (unsigned i = 0; i < exchange->nsends; i++)
        nitems += exchange->sends[i].copy.parts;
    for (unsigned i = 0; i < exchange->nreceives; i++)
        nitems += exchange->receives[i].parts;
    op = make(exchange, nitems);
    for (unsigned i = 0; i < exchange->nsends; i++)
        add_items(op->state, false, i, exchange->sends[i].copy.parts);
    for (unsigned i = 0; i < exchange->nreceives && exchange->waits; i++)
        add_items(op->state, true, i, exchange->receives[i].parts);
    if (!find_places(stream->context, op))
        op->error = kernel_fault();
    return op;
}

struct operation *make_exchange(const void *parameter, unsigned blocks, struct CUstream_st *stream)
{
    const struct exchange_kernel_job *job = parameter;

    (void)blocks;
    if (job->nsends > KERNEL_SENDS || job->nreceives > KERNEL_RECEIVES)
        sim_die("an exchange of %u sends and %u receives", job->nsends, job->nreceives);
    return exchange_new(&(struct exchange){.nsends = job->nsends,
                                           .nreceives = job->nreceives,
                                           .nstrided = KERNEL_STRIDED,
                                           .posts = job->posts,
                                           .waits = job->waits,
                                           .sends = job->sends,
                                           .receives = job->receives,
                                           .strided = job->strided},
                        stream);
}
