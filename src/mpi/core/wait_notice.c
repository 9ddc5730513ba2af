#include "mpi/core/wait_notice.h"

#include <stdio.h>

#include "mpi/base/log.h"
#include "mpi/core/context.h"

/* 0: nothing is ever said. */
static double limit(void)
{
    return (double)library_settings()->wait_notice;
}

static bool is_long(double since)
{
    return limit() > 0 && clock_seconds() - since > limit();
}

/* Not one of the library's own. */
static bool is_of_application(const struct comm *comm, int tag)
{
    return comm && !comm->of && !comm->window && (tag >= 0 || tag == MPI_ANY_TAG);
}

/* A message of MPI's own calls is there for it. */
static bool mpi_has_one(const struct comm *comm, int source, int tag, MPI_Status *status)
{
    int there = 0;

    return library_may_call_mpi() && !comm->freed &&
           PMPI_Iprobe(source, tag, comm->user, &there, status) == MPI_SUCCESS && there;
}

void wait_notice_check_probe(const struct comm *comm, int source, int tag, double since)
{
    char from[32] = "any rank", with[32] = "any tag";
    MPI_Status status;

    if (!is_long(since) || !is_of_application(comm, tag))
        return;
    if (mpi_has_one(comm, source, tag, &status)) {
        warn_once(WARN_MIXED,
                  "a receive waits since %.0f s for MPI_GPUSend or another send of "
                  "gpubind, and rank %d has sent a message with tag %d by MPI: both sides have "
                  "to call gpubind, or both MPI",
                  limit(), status.MPI_SOURCE, status.MPI_TAG);
        return;
    }
    if (source != MPI_ANY_SOURCE)
        snprintf(from, sizeof from, "rank %d", source);
    if (tag != MPI_ANY_TAG)
        snprintf(with, sizeof with, "tag %d", tag);
    warn_once(WARN_RECEIVING,
              "a receive from %s with %s waits since %.0f s for MPI_GPUSend or "
              "another send of gpubind",
              from, with, limit());
}

/* A receive has matched the message; false also where this rank does not know. */
static bool is_matched(const struct gpubind_operation *send)
{
    const struct segment *segment = &send->domain->segment;
    const struct descriptor *descriptor;

    if (send->peer->local < 0 || send->descriptor < 0)
        return false;
    descriptor = segment_descriptor(segment, segment->me, send->descriptor);
    return atomic_load_explicit(&descriptor->state, memory_order_relaxed) != DESCRIPTOR_RTS;
}

/* What the send is known to wait for. */
static const char *reason(const struct gpubind_operation *send)
{
    static const char *const receive = "MPI_GPURecv or another receive of gpubind";

    if (!send->peer || send->channel)
        return receive;
    if (send->packing)
        return "its strided data, which a GPU packs after earlier work";
    if (send->order == ORDER_OPEN)
        return "earlier work of the GPU on its buffer";
    if (send->peer->local >= 0 && send->descriptor < 0)
        return "room in shared memory, which earlier messages that nobody has received take";
    if (is_matched(send))
        return "its data to be moved: a receive has matched it";
    return receive;
}

void wait_notice_check(const struct gpubind_operation *operation)
{
    if (!is_of_application(operation->comm, operation->tag))
        return;
    if (operation->kind == REQUEST_RECEIVE && !operation->held && !operation->early &&
        !operation->channel)
        wait_notice_check_probe(operation->comm, operation->rank, operation->tag,
                                operation->started);
    else if (operation->kind == REQUEST_SEND && is_long(operation->started))
        warn_once(WARN_WAITING, "a message to rank %d with tag %d waits since %.0f s for %s",
                  operation->rank, operation->tag, limit(), reason(operation));
}

static void look_at(struct gpubind_operation *sent)
{
    if (sent->started == 0) /* it was sent a moment ago */
        sent->started = clock_seconds();
    else if (is_long(sent->started))
        warn_once(WARN_SENT,
                  "a message to rank %d with tag %d was sent %.0f s ago, and nobody "
                  "has received it by MPI_GPURecv or another receive of gpubind",
                  sent->rank, sent->tag, limit());
}

void wait_notice_check_sent(void)
{
    if (limit() <= 0)
        return;
    for (struct domain *domain = domain_first(); domain; domain = domain->next)
        for (struct gpubind_operation *send = domain->sends; send; send = send->next)
            if (send->done && !send->release && is_of_application(send->comm, send->tag))
                look_at(send);
}

void wait_notice_left(const struct comm *comm, int n, int source, int tag)
{
    if (n > 0 && limit() > 0 && is_of_application(comm, tag))
        warn_once(WARN_LEFT,
                  "messages that were never received: %d, the first from rank %d "
                  "with tag %d; MPI_Recv does not receive what MPI_GPUSend sent",
                  n, source, tag);
}
