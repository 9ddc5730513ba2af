#include "aware/request/matched.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/base/list.h"

struct matched {
    struct matched *next;
    MPI_Message message;
    MPI_Comm comm;
};

static QUEUE_OF(struct matched) matched;
static atomic_int nmatched;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void matched_add(MPI_Message message, MPI_Comm comm)
{
    struct matched *added = malloc(sizeof *added);

    if (!added)
        return;
    added->message = message;
    added->comm = comm;
    pthread_mutex_lock(&lock);
    QUEUE_PUSH(&matched, added, next);
    atomic_fetch_add(&nmatched, 1);
    pthread_mutex_unlock(&lock);
}

void matched_comm_freed(MPI_Comm comm)
{
    if (atomic_load_explicit(&nmatched, memory_order_relaxed) == 0)
        return;
    pthread_mutex_lock(&lock);
    for (struct matched *at = matched.first; at; at = at->next)
        if (at->comm == comm)
            at->comm = MPI_COMM_SELF;
    pthread_mutex_unlock(&lock);
}

MPI_Comm matched_take(MPI_Message message)
{
    MPI_Comm comm = MPI_COMM_SELF;
    struct matched *found;

    if (atomic_load_explicit(&nmatched, memory_order_relaxed) == 0)
        return comm;
    pthread_mutex_lock(&lock);
    found = matched.first;
    while (found && found->message != message)
        found = found->next;
    if (found) {
        QUEUE_REMOVE(&matched, found, next);
        atomic_fetch_sub(&nmatched, 1);
        comm = found->comm;
    }
    pthread_mutex_unlock(&lock);
    free(found);
    return comm;
}
