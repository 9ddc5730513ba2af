#include "aware/base/traced.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "aware/base/world_ranks.h"

#define ROOM 65536 /* events of a rank: 3 MiB, and some 12 MB of the file */

bool traced_is_on;
__thread bool traced_inside;
static struct trace trace;
static struct trace_job job;
static int file = -1;
static char *path; /* of it */
static bool has_ranks;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t traced_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- the file: each rank has its own, so that a rank waits for no other one, and none need have this
 * library */

static void refuse(const char *reason)
{
    fprintf(stderr, "gpubind: GPUBIND_TRACE: %s cannot be written: %s\n", path, reason);
}

/* Processes that were spawned have ranks of their own. */
static bool name_file(const char *name, int rank)
{
    MPI_Comm parent = MPI_COMM_NULL;
    int length;

    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        length = asprintf(&path, "%s.%d", name, rank);
    else
        length = asprintf(&path, "%s.spawned.%d.%d", name, (int)getpid(), rank);
    if (length < 0)
        path = NULL;
    return path;
}

/* Now, not at the end: the user is told at once, and what an earlier run has left is gone. */
static bool open_file(const char *name, int rank)
{
    if (!name_file(name, rank))
        return false;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        refuse(strerror(errno));
    return file >= 0;
}

void traced_open(void)
{
    const char *name = getenv("GPUBIND_TRACE");
    static char host[256];
    int size = 1;

    if (!name || !*name || traced_is_on)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!open_file(name, job.rank))
        return;
    if (trace_init(&trace, size, ROOM) < 0) {
        refuse("out of memory");
        return;
    }
    gethostname(host, sizeof host - 1);
    job.host = host;
    job.version = PACKAGE_VERSION;
    job.job = getenv("PMIX_NAMESPACE");
    has_ranks = world_ranks_start();
    job.started_unix = clock_ns(CLOCK_REALTIME);
    job.started = traced_now();
    traced_is_on = true;
}

static int write_all(const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t n = write(file, bytes, length);

        if (n < 0 && errno != EINTR)
            return -1;
        bytes += n > 0 ? n : 0;
        length -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* The memory stays: another thread may be about to record. */
void traced_write(void)
{
    struct text text = {0};

    if (!traced_is_on)
        return;
    traced_is_on = false;
    if (has_ranks)
        world_ranks_end();
    trace_render(&trace, &job, &text);
    if (text.failed)
        refuse("out of memory");
    else if (write_all(text.bytes, text.length) < 0)
        refuse(strerror(errno));
    if (close(file) < 0)
        refuse(strerror(errno));
    text_clear(&text);
}

/* ---- events */

int traced_peer(int world)
{
    return world == MPI_UNDEFINED ? TRACE_NOBODY : world;
}

static void find_peer(struct traced *call, int rank, MPI_Comm comm)
{
    call->from_any = rank == MPI_ANY_SOURCE;
    call->event.peer = TRACE_NOBODY;
    if (call->from_any && comm != MPI_COMM_WORLD) {
        call->ranks = world_ranks_of(comm);
        call->from_any = call->ranks;
    } else if (!call->from_any) {
        call->event.peer = traced_peer(comm == MPI_COMM_WORLD ? rank : world_rank(comm, rank));
    }
}

void traced_message(struct traced *call, enum trace_kind kind, enum trace_path way, MPI_Count count,
                    MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
    MPI_Count size = 0;

    if (rank == MPI_PROC_NULL || comm == MPI_COMM_NULL)
        return;
    if (count > 0 && type != MPI_DATATYPE_NULL)
        PMPI_Type_size_x(type, &size);
    call->event.kind = (uint8_t)kind;
    call->event.path = (uint8_t)way;
    call->event.bytes = size > 0 ? (uint64_t)(count * size) : 0;
    call->event.name = NULL;
    call->event.tag = tag;
    call->event.end = 0;
    find_peer(call, rank, comm);
}

void traced_matched(struct traced *call, const MPI_Status *status)
{
    MPI_Count nbytes = 0;

    if (call->from_any && call->ranks)
        call->event.peer = traced_peer(world_ranks_at(call->ranks, status->MPI_SOURCE));
    else if (call->from_any)
        call->event.peer = traced_peer(status->MPI_SOURCE);
    if (status->MPI_SOURCE == MPI_PROC_NULL) /* of a matched message that is none */
        call->event.kind = TRACE_NOTHING;
    call->event.tag = status->MPI_TAG;
    if (PMPI_Get_elements_x(status, MPI_BYTE, &nbytes) == MPI_SUCCESS && nbytes >= 0)
        call->event.bytes = (uint64_t)nbytes;
}

void traced_end(struct traced *call)
{
    if (!traced_has_begun(call))
        return;
    if (call->event.end == 0)
        call->event.end = traced_now();
    if (traced_is_on && traced_is_event(call))
        trace_record(&trace, &call->event);
    call->event.start = 0;
}

void traced_restart(struct traced *call)
{
    call->event.start = traced_now();
    call->event.end = 0;
}

void traced_drop(struct traced *call)
{
    world_ranks_release(call->ranks);
    call->ranks = NULL;
}
