/* A piece of work for a stream: what it needs, and the copies that it makes. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

struct operation *operation_new(enum sim_call call, size_t ncopies)
{
    struct operation *op = calloc(1, sizeof *op);

    if (op && ncopies)
        op->copies = calloc(ncopies, sizeof *op->copies);
    if (!op || (ncopies && !op->copies))
        sim_die("no memory");
    op->call = call;
    op->ncopies = ncopies;
    op->error = sim_take_late();
    return op;
}

struct operation *operation_with_step(enum sim_call call, enum step (*step)(struct operation *),
                                      size_t nplaces, size_t nbytes)
{
    struct operation *op = operation_new(call, 0);

    op->places = calloc(nplaces, sizeof *op->places);
    op->state = calloc(1, nbytes);
    if (!op->places || !op->state)
        sim_die("no memory");
    op->nplaces = nplaces;
    op->state_bytes = nbytes;
    op->step = step;
    return op;
}

static void *duplicate(const void *bytes, size_t nbytes)
{
    void *copy = bytes ? malloc(nbytes ? nbytes : 1) : NULL;

    if (bytes && !copy)
        sim_die("no memory");
    if (copy)
        memcpy(copy, bytes, nbytes);
    return copy;
}

struct operation *operation_clone(const struct operation *op)
{
    struct operation *clone = duplicate(op, sizeof *op);

    clone->copies = duplicate(op->copies, op->ncopies * sizeof *op->copies);
    clone->places = duplicate(op->places, op->nplaces * sizeof *op->places);
    clone->state = duplicate(op->state, op->state_bytes);
    clone->staged = NULL; /* the graph's */
    return clone;
}

void operation_free(struct operation *op)
{
    for (size_t i = 0; i < op->ncopies; i++) {
        place_drop(&op->copies[i].to);
        place_drop(&op->copies[i].from);
    }
    for (size_t i = 0; i < op->nplaces; i++)
        place_drop(&op->places[i]);
    place_drop(&op->freed);
    free(op->copies);
    free(op->places);
    free(op->state);
    free(op->needs);
    free(op->staged);
    free(op);
}

void operation_need(struct operation *op, struct CUstream_st *stream, uint64_t ticket)
{
    if (stream->done >= ticket)
        return;
    op->needs = realloc(op->needs, (size_t)(op->nneeds + 1) * sizeof *op->needs);
    if (!op->needs)
        sim_die("no memory");
    op->needs[op->nneeds++] = (struct dependency){stream, ticket};
}

void operation_keep(struct operation *op)
{
    place_keep(&op->freed);
    for (size_t i = 0; i < op->nplaces; i++)
        place_keep(&op->places[i]);
    for (size_t i = 0; i < op->ncopies; i++) {
        place_keep(&op->copies[i].to);
        place_keep(&op->copies[i].from);
    }
}

char *operation_touch(const struct operation *op, const struct place *place, const char *what)
{
    static const char *const ends[] = {
        "freed", "freed", "closed", "unmapped", "freed", "freed", "unregistered",
    };

    if (place->range && place->range->dead)
        sim_die("use after free: %s %s memory that was %s before it was done", sim_name(op->call),
                what, ends[place->range->kind]);
    if (place->range && place->range->kind == RANGE_MAPPED &&
        !place_reached(op->stream->context, place))
        sim_die("%s %s memory that cuMemSetAccess has not opened to its device", sim_name(op->call),
                what);
    return place->bytes;
}

static void do_copy(const struct operation *op, const struct copy *copy)
{
    operation_touch(op, &copy->to, "writes");
    operation_touch(op, &copy->from, "reads");
    for (size_t row = 0; row < copy->rows; row++) {
        char *to = copy->to.bytes + row * copy->to_pitch;

        if (copy->from.bytes)
            memmove(to, copy->from.bytes + row * copy->from_pitch, copy->width);
        else
            memset(to, copy->value, copy->width);
    }
}

static void shuffle(struct copy *copies, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t other = sim_random() % i;
        struct copy kept = copies[i - 1];

        copies[i - 1] = copies[other];
        copies[other] = kept;
    }
}

/* Copies of a batch have no order, nor those of a kernel. */
void operation_copy(struct operation *op)
{
    if (op->call == CALL_cuMemcpyBatchAsync_v2 || op->call == CALL_cuLaunchKernel)
        shuffle(op->copies, op->ncopies);
    for (size_t i = 0; i < op->ncopies; i++)
        do_copy(op, &op->copies[i]);
}
