/* A collective call, and the comparison with the same call in host memory. */
#include "tests/aware/large.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD = 1024, GAP = 8 }; /* bytes around a buffer, elements between blocks */
#define GARBAGE ((void *)0x1234)

const char *operation_name(enum operation operation)
{
    static const char *const names[] = {"MPI_Bcast",          "MPI_Gather",
                                        "MPI_Gatherv",        "MPI_Scatter",
                                        "MPI_Scatterv",       "MPI_Allgather",
                                        "MPI_Allgatherv",     "MPI_Alltoall",
                                        "MPI_Alltoallv",      "MPI_Alltoallw",
                                        "MPI_Reduce",         "MPI_Allreduce",
                                        "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
                                        "MPI_Scan",           "MPI_Exscan"};

    return names[operation];
}

struct call call_of(enum operation operation, MPI_Comm comm, const struct element *element,
                    size_t nbytes)
{
    struct call call = {.operation = operation, .comm = comm, .element = element};

    MPI_Comm_rank(comm, &call.rank);
    MPI_Comm_size(comm, &call.size);
    call.n = (int)((nbytes / element->extent + STEP - 1) / STEP * STEP);
    call.out = call.in = form_of(element);
    call.reduction = &reductions[0];
    return call;
}

struct call draw_call(MPI_Comm comm, size_t nbytes)
{
    static const enum values moved[] = {INTS, INTS, INTS, DOUBLES, BYTES, LONG_DOUBLES, PAIRS};
    const enum operation operation = (enum operation)draw(OPERATIONS);
    const struct reduction *reduction = &reductions[draw(nreductions)];
    const enum values values = operation < MOVED ? moved[draw(7)] : reduction->values;
    struct call call = call_of(operation, comm, element_of(values), nbytes);

    call.reduction = reduction;
    call.root = (int)draw((unsigned)call.size);
    call.shift = draw(4);
    call.in_place = draw(3) == 0;
    call.seed = draw_seed();
    call.from = call.to = MEMORY_DEVICE;
    return call;
}

/* Elements of the block from one rank to another; in place, as many go back. */
static int count_of(const struct call *call, int from, int to)
{
    const int counts[] = {call->n, call->n / STEP * (STEP / 8), 0, 2 * call->n};
    const int step = call->in_place ? 1 : 2;

    return counts[((unsigned)(from + step * to) + call->shift) % 4];
}

/* What each rank has, what this one sends to each, and receives from each. */
enum blocks { OF_EACH, TO_EACH, FROM_EACH };

/* With gaps, the last one first. */
static void place(const struct call *call, const struct form *form, enum blocks blocks,
                  int counts[], int places[])
{
    int at = 0;

    for (int i = call->size - 1; i >= 0; i--) {
        const int n = blocks == OF_EACH   ? count_of(call, i, 0)
                      : blocks == TO_EACH ? count_of(call, call->rank, i)
                                          : count_of(call, i, call->rank);

        counts[i] = n / form->divide;
        places[i] = at / form->divide;
        at += n + GAP;
    }
}

size_t call_room(const struct call *call)
{
    const size_t widest = 2 * call->element->extent; /* of an element, gaps included */

    return 2 * GUARD + (size_t)call->size * (2 * (size_t)call->n + GAP) * widest;
}

static int rooted(const struct call *call, char *out, char *in)
{
    const bool root = call->rank == call->root, here = root && call->in_place;
    const int on = call->n / call->out.divide, rn = call->n / call->in.divide;
    const MPI_Datatype ot = call->out.type, it = call->in.type;
    int oc[RANKS_MOST], op[RANKS_MOST], ic[RANKS_MOST], ip[RANKS_MOST];

    place(call, &call->out, OF_EACH, oc, op);
    place(call, &call->in, OF_EACH, ic, ip);
    switch (call->operation) {
    case BCAST:
        return root ? MPI_Bcast(out, on, ot, call->root, call->comm)
                    : MPI_Bcast(in, rn, it, call->root, call->comm);
    case GATHER:
        return MPI_Gather(here ? MPI_IN_PLACE : out, on, ot, root ? in : GARBAGE, root ? rn : -1,
                          it, call->root, call->comm);
    case GATHERV:
        return MPI_Gatherv(here ? MPI_IN_PLACE : out, oc[call->rank], ot, root ? in : GARBAGE,
                           root ? ic : GARBAGE, root ? ip : GARBAGE, it, call->root, call->comm);
    case SCATTER:
        return MPI_Scatter(root ? out : GARBAGE, root ? on : -1, ot, here ? MPI_IN_PLACE : in, rn,
                           it, call->root, call->comm);
    case SCATTERV:
        return MPI_Scatterv(root ? out : GARBAGE, root ? oc : GARBAGE, root ? op : GARBAGE, ot,
                            here ? MPI_IN_PLACE : in, ic[call->rank], it, call->root, call->comm);
    default:
        return MPI_Reduce(here ? MPI_IN_PLACE : out, root ? in : GARBAGE, call->n, ot,
                          call->reduction->op, call->root, call->comm);
    }
}

static int all_to_all(const struct call *call, char *out, char *in)
{
    const int on = call->n / call->out.divide, rn = call->n / call->in.divide;
    const void *from = call->in_place ? MPI_IN_PLACE : out;
    int oc[RANKS_MOST], op[RANKS_MOST], ic[RANKS_MOST], ip[RANKS_MOST];
    MPI_Datatype ot[RANKS_MOST], it[RANKS_MOST];

    if (call->operation == ALLTOALL)
        return MPI_Alltoall(from, on, call->out.type, in, rn, call->in.type, call->comm);
    place(call, &call->out, TO_EACH, oc, op);
    place(call, &call->in, FROM_EACH, ic, ip);
    if (call->operation == ALLTOALLV)
        return MPI_Alltoallv(from, oc, op, call->out.type, in, ic, ip, call->in.type, call->comm);
    for (int i = 0; i < call->size; i++) {
        ot[i] = call->out.type;
        it[i] = call->in.type;
        op[i] *= (int)call->out.extent;
        ip[i] *= (int)call->in.extent;
    }
    return MPI_Alltoallw(from, oc, op, ot, in, ic, ip, it, call->comm);
}

static int for_all(const struct call *call, char *out, char *in)
{
    const int on = call->n / call->out.divide, rn = call->n / call->in.divide;
    const void *from = call->in_place ? MPI_IN_PLACE : out;
    const MPI_Datatype type = call->in.type;
    const MPI_Op op = call->reduction->op;
    int oc[RANKS_MOST], ic[RANKS_MOST], places[RANKS_MOST];

    place(call, &call->out, OF_EACH, oc, places);
    place(call, &call->in, OF_EACH, ic, places);
    switch (call->operation) {
    case ALLGATHER:
        return MPI_Allgather(from, on, call->out.type, in, rn, type, call->comm);
    case ALLGATHERV:
        return MPI_Allgatherv(from, oc[call->rank], call->out.type, in, ic, places, type,
                              call->comm);
    case ALLREDUCE:
        return MPI_Allreduce(from, in, call->n, type, op, call->comm);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter(from, in, ic, type, op, call->comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(from, in, call->n, type, op, call->comm);
    case SCAN:
        return MPI_Scan(from, in, call->n, type, op, call->comm);
    default:
        return MPI_Exscan(from, in, call->n, type, op, call->comm);
    }
}

int call_make(const struct call *call, char *out, char *in)
{
    out += GUARD;
    in += GUARD;
    if (call->operation <= SCATTERV || call->operation == REDUCE)
        return rooted(call, out, in);
    if (call->operation >= ALLTOALL && call->operation <= ALLTOALLW)
        return all_to_all(call, out, in);
    return for_all(call, out, in);
}

void call_mask(const struct call *call, char *in)
{
    int counts[RANKS_MOST] = {0}, places[RANKS_MOST], mine = 0, all = 0;

    clear_padding(in, call_room(call), call->element->values);
    if (call->operation == EXSCAN && call->rank == 0)
        all = call->n;
    if (call->operation == REDUCE_SCATTER_BLOCK && call->in_place) {
        mine = call->n;
        all = call->size * call->n;
    }
    if (call->operation == REDUCE_SCATTER && call->in_place) {
        place(call, &call->in, OF_EACH, counts, places);
        mine = counts[call->rank];
        for (int i = 0; i < call->size; i++)
            all += counts[i];
    }
    memset(in + GUARD + (size_t)mine * call->element->extent, 0,
           (size_t)(all - mine) * call->element->extent);
}

static void same(const struct call *call, const char *got, const char *wanted, const char *what)
{
    const size_t room = call_room(call);
    size_t at = 0;

    if (memcmp(got, wanted, room) == 0)
        return;
    while (got[at] == wanted[at])
        at++;
    expect(false,
           "%s of %d %s%s%s, root %d of %d%s, from %s to %s, types of %d and %d: byte %ld of %s is "
           "%d instead of %d",
           operation_name(call->operation), call->n, call->element->name,
           call->operation < MOVED ? "" : ", ",
           call->operation < MOVED ? "" : call->reduction->name, call->root, call->size,
           call->in_place ? ", in place" : "", memory_name(call->from), memory_name(call->to),
           call->out.divide, call->in.divide, (long)at - GUARD, what, got[at], wanted[at]);
}

static void in_memory(const struct call *call, const char *out, const char *in, char *got)
{
    const size_t room = call_room(call);
    struct buffer from, to;

    need_buffer(&from, call->from, room);
    need_buffer(&to, call->to, room);
    gpu_put(from.at, out, room);
    gpu_put(to.at, in, room);
    is_int(call_make(call, from.at, to.at), MPI_SUCCESS, operation_name(call->operation));
    gpu_get(got, from.at, room);
    gpu_get(got + room, to.at, room);
    expect(buffer_untouched(&from, room) && buffer_untouched(&to, room),
           "%s writes far behind its buffers", operation_name(call->operation));
    buffer_clear(&from);
    buffer_clear(&to);
}

void call_check(const struct call *call)
{
    const size_t room = call_room(call);
    char *out = malloc(6 * room), *in = out + room, *wanted = out + 2 * room, *got = out + 4 * room;

    if (!out)
        abort();
    fill_values(out, room, call->element->values, call->seed * 16 + 2 * (uint64_t)call->rank);
    fill_values(in, room, call->element->values, call->seed * 16 + 2 * (uint64_t)call->rank + 1);
    memcpy(wanted, out, 2 * room);
    if (call->seed % 2)
        in_memory(call, out, in, got);
    is_int(call_make(call, wanted, wanted + room), MPI_SUCCESS, operation_name(call->operation));
    if (call->seed % 2 == 0)
        in_memory(call, out, in, got);
    same(call, got, out, "what is sent");
    call_mask(call, got + room);
    call_mask(call, wanted + room);
    same(call, got + room, wanted + room, "what is received");
    free(out);
}
