/* The meeting of a job's nodes by PMIx. */
#include "host/pmix/job_meeting.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/pmix/plugin_file.h"
#include "host/sys/process.h"

#define KEY "gpubind.doctor"

/* ---- the library */

/* The one that the daemon above has loaded, which talks as it does; false: not known. */
static bool daemons_library(const char *const *daemons, char path[PATH_MAX])
{
    struct process daemon;
    char maps[64], *text;
    const char *name, *start;
    size_t size;

    if (!daemons || !process_ancestor(daemons, &daemon))
        return false;
    snprintf(maps, sizeof maps, "/proc/%ld/maps", (long)daemon.pid);
    text = plugin_file_bytes(maps, &size);
    name = text ? strstr(text, "/libpmix.so.") : NULL;
    for (start = name; name && start > text && start[-1] != ' '; start--)
        ;
    if (name)
        snprintf(path, PATH_MAX, "%.*s", (int)strcspn(start, "\n"), start);
    free(text);
    return name;
}

static int open_library(struct pmix_api *api, const char *const *daemons, struct gpubind_error *err)
{
    char path[PATH_MAX];
    void *library = NULL;

    if (daemons_library(daemons, path))
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return error_set(err, "%.300s", dlerror());
/* POSIX lets dlsym's result stand for a function. */
#define X(name, arguments)                        \
    *(void **)&api->name = dlsym(library, #name); \
    if (!api->name)                               \
        return error_set(err, "libpmix has no " #name);
    PMIX_FUNCTIONS(X)
#undef X
    return 0;
}

/* ---- who comes */

static void set_flag(struct pmix_attribute *attribute, const char *key)
{
    memset(attribute, 0, sizeof *attribute);
    snprintf(attribute->key, sizeof attribute->key, "%s", key);
    attribute->value.type = PMIX_TYPE_BOOL;
    attribute->value.data.flag = true;
}

/* What the launcher has told every rank at its start: no daemon is asked. NULL: it has not. */
static const struct pmix_datum *get(const struct job_meeting *meeting, uint32_t rank,
                                    const char *key, int type)
{
    struct pmix_name whom = meeting->me;
    struct pmix_attribute here;
    struct pmix_datum *value = NULL;

    whom.rank = rank;
    set_flag(&here, PMIX_KEY_OPTIONAL);
    if (meeting->api.PMIx_Get(&whom, key, &here, 1, &value) != PMIX_OK || !value ||
        value->type != type)
        return NULL;
    return value;
}

/* The first rank of each node, by the nodes' names, which come one after the other mostly. */
static int find_firsts(struct job_meeting *meeting, int size, struct gpubind_error *err)
{
    const char **names = calloc((size_t)size, sizeof *names);
    int status = 0;

    meeting->firsts = calloc((size_t)size, sizeof *meeting->firsts);
    if (!meeting->firsts || !names)
        status = error_set(err, "out of memory");
    for (int rank = 0; rank < size && status == 0; rank++) {
        const struct pmix_datum *name = get(meeting, (uint32_t)rank, PMIX_KEY_HOSTNAME,
                                            PMIX_TYPE_STRING);
        int i = meeting->n - 1;

        if (!name || !name->data.string)
            status = error_set(err, "the launcher does not tell where rank %d is", rank);
        while (status == 0 && i >= 0 && strcmp(names[i], name->data.string) != 0)
            i--;
        if (status < 0 || i >= 0)
            continue;
        if ((uint32_t)rank == meeting->me.rank)
            meeting->mine = meeting->n;
        names[meeting->n] = name->data.string;
        meeting->firsts[meeting->n] = meeting->me;
        meeting->firsts[meeting->n++].rank = (uint32_t)rank;
    }
    free(names);
    return status;
}

int job_meeting_join(struct job_meeting *meeting, const char *const *daemons, int rank, int size,
                     struct gpubind_error *err)
{
    const struct pmix_datum *told;
    int status;

    memset(meeting, 0, sizeof *meeting);
    meeting->mine = -1;
    if (pipe2(meeting->ends, O_CLOEXEC) < 0)
        return error_set(err, "no pipe: %s", strerror(errno));
    if (open_library(&meeting->api, daemons, err) < 0)
        return -1;
    status = meeting->api.PMIx_Init(&meeting->me, NULL, 0);
    if (status != PMIX_OK)
        return error_set(err, "PMIx_Init fails (%d)", status);
    told = get(meeting, PMIX_WHOLE_JOB, PMIX_KEY_SIZE, PMIX_TYPE_UINT32);
    if (meeting->me.rank != (uint32_t)rank || !told || told->data.uint32 != (uint32_t)size)
        status = error_set(err, "its PMIx is another job's");
    else
        status = find_firsts(meeting, size, err);
    if (status < 0)
        job_meeting_leave(meeting);
    return status;
}

void job_meeting_leave(struct job_meeting *meeting)
{
    meeting->api.PMIx_Finalize(NULL, 0);
    free(meeting->firsts);
    meeting->firsts = NULL;
}

/* ---- waiting */

/* In a thread of libpmix's. It fits into the pipe. */
static void end_fence(int status, void *context)
{
    const struct job_meeting *meeting = context;

    if (write(meeting->ends[1], &status, sizeof status) < 0)
        return;
}

/* Of all ranks: Slurm 22.05 refuses one of some of them. */
static int fence(struct job_meeting *meeting, bool with_data, int seconds,
                 struct gpubind_error *err)
{
    struct timespec now;
    struct pmix_attribute collect;
    long long end, left;
    int status;

    set_flag(&collect, PMIX_KEY_COLLECT);
    status = meeting->api.PMIx_Fence_nb(NULL, 0, &collect, with_data, end_fence, meeting);
    if (status == PMIX_DONE_AT_ONCE)
        return 0;
    if (status != PMIX_OK)
        return error_set(err, "PMIx_Fence_nb fails (%d)", status);
    clock_gettime(CLOCK_MONOTONIC, &now);
    end = now.tv_sec * 1000LL + now.tv_nsec / 1000000 + seconds * 1000LL;
    for (;;) {
        struct pollfd told = {.fd = meeting->ends[0], .events = POLLIN};

        clock_gettime(CLOCK_MONOTONIC, &now);
        left = end - now.tv_sec * 1000LL - now.tv_nsec / 1000000;
        if (left <= 0)
            return error_set(err, "not all came within %d seconds", seconds);
        if (poll(&told, 1, (int)left) > 0 &&
            read(meeting->ends[0], &status, sizeof status) == sizeof status)
            break;
    }
    return status == PMIX_OK ? 0 : error_set(err, "the fence of PMIx fails (%d)", status);
}

int job_meeting_arrive(struct job_meeting *meeting, int seconds, struct gpubind_error *err)
{
    /* Without data Slurm's has been seen to end although a rank had died. */
    return fence(meeting, true, seconds, err);
}

int job_meeting_part(struct job_meeting *meeting, int seconds, struct gpubind_error *err)
{
    return fence(meeting, false, seconds, err);
}

int job_meeting_send(struct job_meeting *meeting, const char *bytes, size_t size, int seconds,
                     struct gpubind_error *err)
{
    struct pmix_datum value = {.type = PMIX_TYPE_OBJECT};
    int status;

    value.data.object.bytes = (char *)(size_t)bytes;
    value.data.object.size = size;
    /* Under PMIx 5 PMIx_Get has been seen to wait for ever where some ranks put nothing and ranks
     * left before it was called. */
    status = meeting->api.PMIx_Put(PMIX_FOR_ALL, KEY, &value);
    if (status == PMIX_OK)
        status = meeting->api.PMIx_Commit();
    if (status != PMIX_OK)
        return error_set(err, "PMIx_Put fails (%d)", status);
    return fence(meeting, true, seconds, err);
}

int job_meeting_get(struct job_meeting *meeting, int i, const char **bytes, size_t *size,
                    struct gpubind_error *err)
{
    struct pmix_datum *value = NULL;
    int status = meeting->api.PMIx_Get(&meeting->firsts[i], KEY, NULL, 0, &value);

    if (status != PMIX_OK || !value || value->type != PMIX_TYPE_OBJECT)
        return error_set(err, "PMIx_Get fails (%d)", status);
    *bytes = value->data.object.bytes;
    *size = value->data.object.size;
    return 0;
}
