#include "aware/requests.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/list.h"

#define TABLE 256 /* lists; a power of 2 */

struct entry {
    struct entry *next;
    MPI_Request request;
    struct staged buffers[2];
    int n;
    bool persistent;
    bool active;  /* started and not complete */
    bool written; /* MPI_Request_get_status has seen it complete */
};

static QUEUE_OF(struct entry) table[TABLE];
static QUEUE_OF(struct entry) freed; /* by the application, while active */
static atomic_int nentries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool requests_are_plain(void)
{
    return atomic_load_explicit(&nentries, memory_order_relaxed) == 0;
}

static unsigned list_of(MPI_Request request)
{
    const uintptr_t value = (uintptr_t)request; /* a pointer, or MPICH's number */

    return (unsigned)(value >> 4 ^ value >> 12 ^ value) & (TABLE - 1);
}

static struct entry *find(MPI_Request request)
{
    struct entry *entry = table[list_of(request)].first;

    while (entry && entry->request != request)
        entry = entry->next;
    return entry;
}

int requests_add(MPI_Request request, const struct staged *buffers, int n, bool persistent)
{
    struct entry *entry = calloc(1, sizeof *entry);

    if (!entry)
        return MPI_ERR_NO_MEM;
    *entry = (struct entry){.request = request, .n = n, .persistent = persistent};
    entry->active = !persistent;
    for (int i = 0; i < n; i++) {
        entry->buffers[i] = buffers[i];
        if (buffers[i].parts == &buffers[i].part)
            entry->buffers[i].parts = &entry->buffers[i].part;
    }
    pthread_mutex_lock(&lock);
    QUEUE_PUSH_FRONT(&table[list_of(request)], entry, next);
    atomic_fetch_add(&nentries, 1);
    pthread_mutex_unlock(&lock);
    return MPI_SUCCESS;
}

/* Out of the table. */
static struct entry *take(MPI_Request request)
{
    struct entry *entry = find(request);

    if (entry)
        QUEUE_REMOVE(&table[list_of(request)], entry, next);
    return entry;
}

static void end(struct entry *entry)
{
    for (int i = 0; i < entry->n; i++)
        staged_end(&entry->buffers[i]);
    free(entry);
    atomic_fetch_sub(&nentries, 1);
}

int requests_start(MPI_Request request)
{
    int result = MPI_SUCCESS;
    struct entry *entry;

    if (requests_are_plain())
        return MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    entry = find(request);
    pthread_mutex_unlock(&lock);
    if (!entry)
        return MPI_SUCCESS;
    for (int i = 0; i < entry->n && result == MPI_SUCCESS; i++)
        if (entry->buffers[i].use & STAGED_READ)
            result = staged_read(&entry->buffers[i]);
    entry->active = true;
    entry->written = false;
    return result;
}

/* Collectives have no count in their status. */
static MPI_Count bytes_that_came(const struct entry *entry, const MPI_Status *status)
{
    const bool message = entry->n == 1 && entry->buffers[0].nparts == 1;
    MPI_Count nbytes = -1;

    if (message && PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) != MPI_SUCCESS)
        nbytes = -1;
    return nbytes == MPI_UNDEFINED ? -1 : nbytes;
}

static int write(struct entry *entry, const MPI_Status *status)
{
    int cancelled = 0, result = MPI_SUCCESS;

    PMPI_Test_cancelled(status, &cancelled);
    for (int i = 0; i < entry->n && !cancelled && !entry->written; i++) {
        const int error = staged_write(&entry->buffers[i], bytes_that_came(entry, status));

        if (result == MPI_SUCCESS)
            result = error;
    }
    entry->written = true;
    return result;
}

int requests_complete(MPI_Request request, const MPI_Status *status, bool ended)
{
    struct entry *entry;
    int result;

    pthread_mutex_lock(&lock);
    entry = find(request);
    if (!entry || !entry->active) {
        pthread_mutex_unlock(&lock);
        return MPI_SUCCESS;
    }
    if (ended && !entry->persistent)
        take(request);
    pthread_mutex_unlock(&lock);
    result = write(entry, status);
    if (ended)
        entry->active = false;
    if (ended && !entry->persistent)
        end(entry);
    return result;
}

bool requests_free(MPI_Request request)
{
    struct entry *entry;
    bool active;

    pthread_mutex_lock(&lock);
    entry = take(request);
    active = entry && entry->active;
    if (active)
        QUEUE_PUSH(&freed, entry, next);
    pthread_mutex_unlock(&lock);
    if (entry && !active)
        end(entry);
    return active;
}

void requests_sweep(void)
{
    struct entry **link, *entry;
    MPI_Status status;

    pthread_mutex_lock(&lock);
    for (link = &freed.first; (entry = *link);) {
        int flag = 0;

        if (PMPI_Test(&entry->request, &flag, &status) == MPI_SUCCESS && !flag) {
            link = &entry->next;
            continue;
        }
        if (entry->request != MPI_REQUEST_NULL) /* a persistent one, inactive now */
            PMPI_Request_free(&entry->request);
        QUEUE_UNLINK(&freed, link, next);
        write(entry, &status);
        end(entry);
    }
    pthread_mutex_unlock(&lock);
}
