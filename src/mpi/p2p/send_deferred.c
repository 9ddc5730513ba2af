#include "mpi/p2p/send_deferred.h"

#include "core/base/list.h"
#include "mpi/core/progress_thread.h"
#include "mpi/datatype/pack.h"
#include "mpi/p2p/send_net.h"
#include "mpi/p2p/send_shm.h"

/* Those that are being packed. */
static QUEUE_OF(struct gpubind_operation) packing;
static _Atomic int npacking;

bool deferred_sends_pending(void)
{
    return npacking > 0;
}

void deferred_send_serve(const struct gpubind_operation *send)
{
    struct gpubind_error unheard;

    if (send->packing && send->peer->local >= 0 && progress_thread_start(&unheard) == 0)
        progress_thread_wake();
}

int deferred_send_pack(struct gpubind_operation *send, struct gpubind_error *err)
{
    const int status = pack_start(send, err);

    send->order = ORDER_DONE;
    if (status < 0 || !pack_stream(send->pack))
        return status;
    send->order = ORDER_DEFERRED;
    send->packing = true;
    QUEUE_PUSH(&packing, send, next_packing);
    npacking++;
    return 0;
}

void deferred_send_release(struct gpubind_operation *send, bool good)
{
    if (send->peer->local >= 0)
        send_shm_ready(send, good);
    else
        send_net_ready(send, good);
}

static void end(struct gpubind_operation *send, bool good, const struct gpubind_error *err)
{
    send->packing = false;
    npacking--;
    send->order = ORDER_DONE;
    if (!good && !send->done)
        request_complete(send, MPI_ERR_OTHER, "%s", err->text);
    deferred_send_release(send, good);
}

void deferred_sends_progress(bool mpi)
{
    struct gpubind_operation **link = &packing.first;
    gpu_stream late = NULL; /* what is behind in it need not be asked */

    while (*link) {
        struct gpubind_operation *send = *link;
        struct gpubind_error err;
        int complete = 0;

        if (!mpi && send->peer->local < 0) {
            link = &send->next_packing;
            continue;
        }
        if (pack_stream(send->pack) != late)
            complete = pack_test(send, &err);
        if (complete == 0) {
            late = pack_stream(send->pack);
            link = &send->next_packing;
            continue;
        }
        QUEUE_UNLINK(&packing, link, next_packing);
        end(send, complete > 0, &err);
    }
}
