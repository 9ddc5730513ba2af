/* Completes requests that were freed while active. */
#include "mpi/api/freed_requests.h"

#include "mpi/core/context.h"
#include "mpi/message/message.h"
#include "mpi/persistent/persistent.h"

static struct gpubind_operation *freed;

/* Completion unpacks noncontiguous data here, and must not wait for work on a stream. */
static bool is_over(struct gpubind_operation *request)
{
    if (request->channel && !request->done)
        persistent_nudge(request);
    return request->done && !request->packing &&
           !(request->channel && request->channel->stream_messages > 0);
}

static void end(struct gpubind_operation *request)
{
    struct gpubind_error unheard;
    const bool persistent = request->channel;

    request_finish(request, MPI_STATUS_IGNORE, &unheard);
    if (persistent)
        persistent_free(request, &unheard);
}

static void look(void)
{
    static bool busy; /* completing a request may make progress, which calls this again */
    struct gpubind_operation **link = &freed;

    if (!freed || busy || !library_may_call_mpi())
        return;
    busy = true;
    while (*link) {
        struct gpubind_operation *request = *link;

        if (!is_over(request)) {
            link = &request->next_freed;
            continue;
        }
        *link = request->next_freed;
        end(request);
    }
    busy = false;
}

void freed_add(struct gpubind_operation *request)
{
    request->freed = true;
    request->next_freed = freed;
    freed = request;
    look();
}

static void progress(bool mpi)
{
    (void)mpi;
    look();
}

const struct module freed_module = {.name = "freed requests", .progress = progress};
