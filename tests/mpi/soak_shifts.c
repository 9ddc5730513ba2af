/* Works of the soak that shift data round the ranks of a communicator: sendrecv, in place
 * too, and on communicators that are made and freed meanwhile. */
#include <stdlib.h>

#include "tests/mpi/soak.h"

enum { SHIFTS = 3, NEW = 2 };

static int behind(const struct work *work, int by)
{
    return (work->rank + work->size - by % work->size) % work->size;
}

static int ahead(const struct work *work, int by)
{
    return (work->rank + by) % work->size;
}

/* ---- sendrecv and sendrecv_replace */

struct shift {
    int by;
    bool replaces;
    uint64_t seed; /* of rank r: soak_seed(seed, r) */
    struct layout layouts[2];
    struct slot out, in;
};

static void shift_make(struct work *work)
{
    struct shift *shifts = work->data = soak_zeros(SHIFTS, sizeof *shifts);
    uint64_t *state = &work->state;

    for (int i = 0; i < SHIFTS; i++) {
        struct shift *shift = &shifts[i];
        const int n = soak_draw_twelves(state);

        shift->by = below(state, work->size);
        shift->replaces = below(state, 2);
        shift->seed = soak_seed(*state, i);
        if (below(state, 2)) {
            shift->layouts[0] = shift->layouts[1] = layout_dense(soak_draw_size(state));
        } else {
            shift->layouts[0] = layout_draw(state, n);
            shift->layouts[1] = layout_draw(state, n);
        }
        slot_make(&shift->out, random_next(&work->own), shift->layouts[0]);
        slot_fill(&shift->out, soak_seed(shift->seed, work->rank));
        slot_make(&shift->in, random_next(&work->own), shift->layouts[1]);
    }
}

/* Every rank does one of the two, or its parts. */
static void shift_step(struct work *work, int step)
{
    struct shift *shift = &((struct shift *)work->data)[step];
    const struct layout *sent = &shift->layouts[0], *got = &shift->layouts[1];
    const int to = ahead(work, shift->by), from = behind(work, shift->by), tag = work->tag + step;
    char *out = slot_at(&shift->out), *in = slot_at(&shift->in);
    MPI_Status status;
    gpubind_request request;

    if (shift->replaces) {
        succeeds(gpubind_sendrecv_replace(out, sent->count, sent->type, to, tag, from, tag,
                                          work->comm, &status),
                 "sendrecv_replace by %d", shift->by);
    } else if (below(&work->own, 4)) {
        succeeds(gpubind_sendrecv(out, sent->count, sent->type, to, tag, in, got->count, got->type,
                                  from, tag, work->comm, &status),
                 "sendrecv by %d", shift->by);
    } else {
        succeeds(gpubind_isend(out, sent->count, sent->type, to, tag, work->comm, &request),
                 "isend");
        succeeds(MPI_GPURecv(in, got->count, got->type, from, tag, work->comm, &status), "recv");
        succeeds(gpubind_wait(&request, MPI_STATUS_IGNORE), "wait");
    }
    status_is(&status, from, tag, (MPI_Count)sent->nbytes, "a shift");
}

static void shift_look(struct work *work)
{
    struct shift *shifts = work->data;

    for (int i = 0; i < SHIFTS; i++) {
        struct shift *shift = &shifts[i];

        slot_expect(shift->replaces ? &shift->out : &shift->in, shift->layouts[0].nbytes,
                    soak_seed(shift->seed, behind(work, shift->by)), "%s by %d",
                    shift->replaces ? "sendrecv_replace" : "sendrecv", shift->by);
        slot_clear(&shift->out);
        slot_clear(&shift->in);
        layout_clear(&shift->layouts[0]);
        layout_clear(&shift->layouts[1]);
    }
}

const struct kind soak_shifts = {"shifts",   2,          SOAK_ANYWHERE, SHIFTS,
                                 shift_make, shift_step, shift_look};

/* ---- communicators that are there for a message alone */

struct fresh {
    MPI_Comm comm;
    int rank, size;
    size_t nbytes;
    uint64_t seed;
    struct slot out, in;
    struct pending pending;
};

static void fresh_make(struct work *work)
{
    struct fresh *all = work->data = soak_zeros(NEW, sizeof *all);

    for (int i = 0; i < NEW; i++) {
        struct fresh *fresh = &all[i];

        fresh->nbytes = soak_draw_size(&work->state);
        fresh->seed = soak_seed(work->state, i);
        slot_make(&fresh->out, random_next(&work->own), layout_dense(fresh->nbytes));
        slot_make(&fresh->in, random_next(&work->own), layout_dense(fresh->nbytes));
        slot_fill(&fresh->out, soak_seed(fresh->seed, work->rank));
    }
}

/* Open MPI 4.1.4 hangs when another communicator is made while MPI_Comm_idup is under way. */
static void comm_make(struct work *work, struct fresh *fresh, int way)
{
    MPI_Request request;

    if (way == 0) {
        MPI_Comm_dup(work->comm, &fresh->comm);
    } else if (way == 1) {
        MPI_Comm_idup(work->comm, &fresh->comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Comm_split(work->comm, 0, way == 2 ? -work->rank : work->rank, &fresh->comm);
    }
}

/* Ranks may have other numbers there: the message says whose it is by its tag. */
static void comm_use(struct work *work, struct fresh *fresh)
{
    const MPI_Comm comm = fresh->comm;

    MPI_Comm_rank(comm, &fresh->rank);
    MPI_Comm_size(comm, &fresh->size);
    fresh->pending.n = 0;
    succeeds(gpubind_irecv(slot_at(&fresh->in), (int)fresh->nbytes, MPI_BYTE,
                           (fresh->rank + fresh->size - 1) % fresh->size, MPI_ANY_TAG, comm,
                           pending_add(&fresh->pending)),
             "irecv on a new communicator");
    succeeds(gpubind_isend(slot_at(&fresh->out), (int)fresh->nbytes, MPI_BYTE,
                           (fresh->rank + 1) % fresh->size, work->rank, comm,
                           pending_add(&fresh->pending)),
             "isend on a new communicator");
    if (below(&work->state, 2)) /* while both are under way: collective */
        MPI_Comm_free(&fresh->comm);
}

static void fresh_step(struct work *work, int step)
{
    struct fresh *all = work->data;

    for (int i = 0; i < NEW; i++)
        if (step == 0)
            comm_make(work, &all[i], below(&work->state, 4));
        else if (step == 1)
            comm_use(work, &all[i]);
        else
            pending_end(&all[i].pending, &work->own);
}

static void fresh_look(struct work *work)
{
    struct fresh *all = work->data;

    for (int i = 0; i < NEW; i++) {
        struct fresh *fresh = &all[i];
        MPI_Status *status = &fresh->pending.statuses[0];

        status_is(status, (fresh->rank + fresh->size - 1) % fresh->size, status->MPI_TAG,
                  (MPI_Count)fresh->nbytes, "on a new communicator");
        slot_expect(&fresh->in, fresh->nbytes, soak_seed(fresh->seed, status->MPI_TAG),
                    "from rank %d on a new communicator", status->MPI_TAG);
        slot_clear(&fresh->out);
        slot_clear(&fresh->in);
        if (fresh->comm != MPI_COMM_NULL)
            MPI_Comm_free(&fresh->comm);
    }
}

const struct kind soak_communicators = {"communicators", 1,          SOAK_ANYWHERE, 3,
                                        fresh_make,      fresh_step, fresh_look};
