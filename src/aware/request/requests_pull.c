#include <stdatomic.h>
#include <stddef.h>

#include "aware/base/handlers.h"
#include "aware/base/next.h"
#include "aware/message/direct_memory.h"
#include "aware/message/direct_receive.h"
#include "aware/message/progress.h"
#include "aware/request/staged_request.h"

static struct staged_request *expecting, *last_expecting;
static atomic_int nexpecting;

static bool is_pullable(void)
{
    return atomic_load_explicit(&nexpecting, memory_order_relaxed) > 0 && !is_behind;
}

#define MISSES 4 /* requests that are asked for in vain: MPI makes progress each time */
#define BATCH 16

/* The first one with a direct message whose copy need not wait for the legacy stream: the application may have
 * come for something else, which that stream waits for. It leaves the list when this thread is done with it, at the
 * earliest. */
static struct staged_request *claim_pullable(void)
{
    struct staged_request *request;
    int misses = 0;

    pthread_mutex_lock(&requests_lock);
    for (request = expecting; request && misses < MISSES; request = request->after) {
        MPI_Status status = {0};

        if (!request->active || request->written || request->ordinary || request->busy)
            continue;
        if (!request_is_over(request, &status)) {
            misses++;
            continue;
        }
        request->ordinary = !direct_has_come(buffer_of_message(request));
        if (!request->ordinary && direct_is_ready(buffer_of_message(request)))
            break;
        request->busy = false;
    }
    if (misses == MISSES)
        request = NULL;
    pthread_mutex_unlock(&requests_lock);
    return request;
}

static void unclaim(struct staged_request *request, bool written)
{
    pthread_mutex_lock(&requests_lock);
    request->written = written;
    request->ordinary = !written;
    request->busy = false;
    pthread_mutex_unlock(&requests_lock);
}

/* Copies direct messages that have come for receives which nobody has completed yet. false: there are
 * none. */
static bool pull(void)
{
    struct staged_request *requests[BATCH];
    struct direct_message messages[BATCH];
    int n = 0;

    if (!is_pullable())
        return false;
    direct_look_begin();
    while (n < BATCH && (requests[n] = claim_pullable()))
        if (direct_message_start(&messages[n], buffer_of_message(requests[n])))
            n++;
        else
            unclaim(requests[n], false);
    direct_look_end();
    for (int i = 0; i < n; i++) {
        requests[i]->error = direct_message_end(&messages[i]);
        requests[i]->direct = messages[i].nbytes;
        if (traced_has_begun(&requests[i]->call)) {
            requests[i]->call.event.path = (uint8_t)messages[i].path;
            requests[i]->call.event.end = trace_part_now();
        }
        unclaim(requests[i], true);
    }
    return n > 0;
}

void request_expects(struct staged_request *request)
{
    progress_of_receives(pull, is_pullable);
    request->after = NULL;
    request->before = last_expecting;
    *(last_expecting ? &last_expecting->after : &expecting) = request;
    last_expecting = request;
    atomic_fetch_add_explicit(&nexpecting, 1, memory_order_relaxed);
}

void request_expects_no_more(struct staged_request *request)
{
    *(request->before ? &request->before->after : &expecting) = request->after;
    *(request->after ? &request->after->before : &last_expecting) = request->before;
    atomic_fetch_sub_explicit(&nexpecting, 1, memory_order_relaxed);
}
