#include "mpi/base/trace_part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536 /* events of a part: 3 MiB, and some 12 MB of the file */

bool trace_part_is_on;
static struct trace trace;
static struct trace_job job;
static int file = -1;
static char *path;                 /* of it */
static char *real_path, *new_path; /* NULL: it is no file that another one can replace */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t trace_part_now(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

void trace_part_enter(void)
{
    job.entered = trace_part_now();
}

static void refuse(const char *reason)
{
    fprintf(stderr, "gpubind: GPUBIND_TRACE: %s cannot be written: %s\n", path, reason);
}

/* Processes that were spawned have ranks of their own. */
static bool name_file(const char *name, enum trace_library library, int rank)
{
    const char *part = library == TRACE_LIBGPUBIND ? ".libgpubind" : "";
    MPI_Comm parent = MPI_COMM_NULL;
    int length;

    PMPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        length = asprintf(&path, "%s%s.%d", name, part, rank);
    else
        length = asprintf(&path, "%s%s.spawned.%d.%d", name, part, (int)getpid(), rank);
    if (length < 0)
        path = NULL;
    return path;
}

/* A link stays one, and a device is written itself. */
static void name_new_file(void)
{
    struct stat status;

    if (fstat(file, &status) < 0 || !S_ISREG(status.st_mode))
        return;
    real_path = realpath(path, NULL);
    if (real_path && asprintf(&new_path, "%s.%d.new", real_path, (int)getpid()) < 0)
        new_path = NULL;
}

/* Now, not at the end: the user is told at once, and what an earlier run has left is gone. */
static bool open_file(const char *name, enum trace_library library, int rank)
{
    if (!name_file(name, library, rank))
        return false;
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0)
        refuse(strerror(errno));
    else
        name_new_file();
    return file >= 0;
}

bool trace_part_open(enum trace_library library)
{
    const char *name = secure_getenv("GPUBIND_TRACE"); /* not with more rights than the caller's */
    static char host[256];
    int size = 1;

    if (!name || !*name || path)
        return false;
    PMPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!open_file(name, library, job.rank))
        return false;
    if (trace_init(&trace, size, ROOM) < 0) {
        refuse("out of memory");
        return false;
    }
    gethostname(host, sizeof host - 1);
    job.whose = library;
    job.host = host;
    job.version = PACKAGE_VERSION;
    job.job = getenv("PMIX_NAMESPACE");
    job.started_unix = clock_ns(CLOCK_REALTIME);
    job.started = trace_part_now();
    if (job.entered == 0)
        job.entered = job.started;
    trace_part_is_on = true;
    return true;
}

void trace_part_record(const struct trace_event *event)
{
    if (trace_part_is_on)
        trace_record(&trace, event);
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

/* Where two runs have one FILE, each writes a file of its own, so that a part is of one of them, and whole. */
static bool open_new_file(void)
{
    int opened;

    if (!new_path)
        return false;
    unlink(new_path); /* of a process that was killed while it wrote */
    opened = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (opened < 0)
        return false;
    close(file);
    file = opened;
    return true;
}

/* 0, or the error's number; then the part is empty, or another run's. */
static int write_file(const struct text *text)
{
    const bool is_new = open_new_file();
    int error = write_all(text->bytes, text->length) < 0 ? errno : 0;

    if (error && !is_new && real_path && ftruncate(file, 0) < 0)
        error = errno;
    if (close(file) < 0 && !error)
        error = errno;
    if (is_new && !error && rename(new_path, real_path) < 0)
        error = errno;
    if (is_new && error)
        unlink(new_path);
    return error;
}

/* The memory stays: another thread may be about to record. */
void trace_part_close(void)
{
    struct text text = {0};
    int error;

    if (!trace_part_is_on)
        return;
    trace_part_is_on = false;
    job.ended = trace_part_now();
    trace_render(&trace, &job, &text);
    error = text.failed ? ENOMEM : write_file(&text);
    if (error)
        refuse(error == ENOMEM ? "out of memory" : strerror(error));
    text_clear(&text);
}
