/* The soak's messages that are larger than their receives' buffers: the receiver is told,
 * nothing is written, the message is gone and the next one comes. */
#include "tests/mpi/soak.h"

enum { CALLS = 6 };
enum form { RECV, IRECV, MRECV, STARTED, ON_STREAM, WITH_OTHERS, FORMS };

struct call {
    int from, to, tag;
    enum form form;
    size_t nbytes, room;
    uint64_t seed;
    struct slot out, in, next;
    gpubind_request sends[2], receive;
};

struct calls {
    struct call list[CALLS];
    struct CUstream_st *stream; /* nobody else may hear of its errors */
};

static void make(struct work *work)
{
    struct calls *calls = work->data = soak_zeros(1, sizeof *calls);
    uint64_t *state = &work->state;

    for (int i = 0; i < CALLS; i++) {
        struct call *call = &calls->list[i];
        const unsigned draws[3] = {random_next(state), random_next(state), random_next(state)};

        *call = (struct call){.from = below(state, work->size),
                              .to = below(state, work->size),
                              .tag = work->tag + i,
                              .form = (enum form)below(state, FORMS),
                              .nbytes = 1 + soak_draw_size(state) / 2,
                              .seed = soak_seed(*state, i)};
        call->room = (size_t)below(state, (int)call->nbytes);
        if (call->from == work->rank) {
            slot_make(&call->out, draws[0], layout_dense(call->nbytes));
            slot_fill(&call->out, call->seed);
        }
        if (call->to == work->rank) {
            slot_make(&call->in, draws[1], layout_dense(call->room));
            slot_make(&call->next, draws[2], layout_dense(call->nbytes));
        }
        if (call->form == ON_STREAM && !soak_can_stream)
            call->form = IRECV;
    }
    if (soak_can_stream)
        is_int(cuda.cuStreamCreate(&calls->stream, CUDA_STREAM_NON_BLOCKING), CUDA_OK,
               "cuStreamCreate");
}

static void by_wait(struct call *call, bool with_others)
{
    MPI_Status status;
    int class = MPI_SUCCESS;

    if (!with_others) {
        fails(gpubind_wait(&call->receive, &status), MPI_ERR_TRUNCATE, NULL, "wait");
        return;
    }
    fails(gpubind_waitall(1, &call->receive, &status), MPI_ERR_IN_STATUS, NULL, "waitall");
    MPI_Error_class(status.MPI_ERROR, &class);
    is_int(class, MPI_ERR_TRUNCATE, "MPI_ERROR of a status");
}

static void on_stream(struct work *work, struct call *call)
{
    const struct calls *calls = work->data;

    succeeds(gpubind_recv_on_stream(slot_at(&call->in), (int)call->room, MPI_BYTE, call->from,
                                    call->tag, work->comm, calls->stream),
             "recv_on_stream");
    soak_drain(calls->stream);
    fails(gpubind_quiet_on_stream(calls->stream), MPI_ERR_TRUNCATE, "earlier",
          "the next call of the stream");
    succeeds(gpubind_quiet_on_stream(calls->stream), "the call after that");
}

static void receive(struct work *work, struct call *call)
{
    char *at = slot_at(&call->in);
    const int room = (int)call->room, from = call->from, tag = call->tag;
    gpubind_matched matched;

    switch (call->form) {
    case RECV:
        fails(MPI_GPURecv(at, room, MPI_BYTE, from, tag, work->comm, MPI_STATUS_IGNORE),
              MPI_ERR_TRUNCATE, NULL, "recv");
        break;
    case MRECV:
        if (succeeds(gpubind_mprobe(from, tag, work->comm, &matched, NULL), "mprobe"))
            fails(gpubind_mrecv(at, room, MPI_BYTE, &matched, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE,
                  NULL, "mrecv");
        break;
    case ON_STREAM:
        on_stream(work, call);
        break;
    case STARTED:
        if (!succeeds(gpubind_recv_init(at, room, MPI_BYTE, from, tag, work->comm, &call->receive),
                      "recv_init"))
            break;
        succeeds(gpubind_start(&call->receive), "start");
        by_wait(call, false);
        succeeds(gpubind_request_free(&call->receive), "request_free");
        break;
    default:
        succeeds(gpubind_irecv(at, room, MPI_BYTE, from, tag, work->comm, &call->receive), "irecv");
        by_wait(call, call->form == WITH_OTHERS);
    }
}

static void step(struct work *work, int number)
{
    struct calls *calls = work->data;

    for (int i = 0; i < CALLS; i++) {
        struct call *call = &calls->list[i];
        const bool sends = call->from == work->rank, receives = call->to == work->rank;

        for (int n = 0; number == 0 && sends && n < 2; n++) /* the same again */
            succeeds(gpubind_isend(slot_at(&call->out), (int)call->nbytes, MPI_BYTE, call->to,
                                   call->tag, work->comm, &call->sends[n]),
                     "isend");
        if (number == 1 && receives)
            receive(work, call);
        if (number == 2 && receives)
            succeeds(MPI_GPURecv(slot_at(&call->next), (int)call->nbytes, MPI_BYTE, call->from,
                                 call->tag, work->comm, MPI_STATUS_IGNORE),
                     "the next receive");
    }
    for (int i = 0; number == 2 && i < CALLS; i++)
        succeeds(gpubind_waitall(2, calls->list[i].sends, MPI_STATUSES_IGNORE), "waitall of sends");
}

static void look(struct work *work)
{
    struct calls *calls = work->data;

    for (int i = 0; i < CALLS; i++) {
        struct call *call = &calls->list[i];

        if (call->to == work->rank) {
            slot_expect(&call->in, 0, 0, "%zu bytes into %zu, form %d", call->nbytes, call->room,
                        call->form);
            slot_expect(&call->next, call->nbytes, call->seed, "the next message, form %d",
                        call->form);
        }
        slot_clear(&call->out);
        slot_clear(&call->in);
        slot_clear(&call->next);
    }
    if (calls->stream)
        cuda.cuStreamDestroy_v2(calls->stream);
}

const struct kind soak_truncations = {"truncations", 2, SOAK_ANYWHERE, 3, make, step, look};
