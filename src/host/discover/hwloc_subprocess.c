/* The hwloc subprocess: limits on time and memory, and the result through a pipe. */
#include "host/discover/hwloc_subprocess.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/sys/file.h"
#include "host/sys/subprocess.h"

/* A file of a large machine takes less than 100 MiB. */
#define MEMORY_LIMIT ((rlim_t)1 << 30)

static int cpu_limit(const struct hwloc_work *work)
{
    return work->cpu_s ? work->cpu_s : HWLOC_CPU_S;
}

static int wall_limit(const struct hwloc_work *work)
{
    return work->wall_s ? work->wall_s : HWLOC_WALL_S;
}

/* The child's answer; the bytes follow. */
struct answer {
    int status;
    struct gpubind_error why;
};

static void lower(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        return;
    /* RLIM_INFINITY is the largest number. */
    if (hard < now.rlim_max)
        now.rlim_max = hard;
    if (soft < now.rlim_cur)
        now.rlim_cur = soft;
    setrlimit(resource, &now);
}

/* The address space that this process has already, which under a sanitizer is vast;
 * 0 when /proc does not tell. */
static rlim_t address_space(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long pages = 0;

    if (file && fscanf(file, "%lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* A crash is expected here and leaves no core file. */
static void limit_myself(int cpu_s)
{
    rlim_t space = address_space();
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    lower(RLIMIT_CORE, 0, 0);
    /* At the hard limit the kernel sends SIGKILL, which does not say why. */
    lower(RLIMIT_CPU, (rlim_t)cpu_s, (rlim_t)cpu_s + 1);
    if (space)
        lower(RLIMIT_AS, space + MEMORY_LIMIT, space + MEMORY_LIMIT);
}

static void send_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes, *end = at + size;

    while (at < end) {
        ssize_t wrote = write(fd, at, (size_t)(end - at));

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 1)
            _exit(1);
        at += wrote;
    }
}

/* The child's part. The file is read here, once: it may be a pipe without an end, and
 * it cannot change between two reads. */
static void serve(int out, void *context)
{
    const struct hwloc_work *work = context;
    struct answer answer = {.status = -1};
    struct gpubind_error why;
    char *xml, *bytes = NULL;
    size_t size = 0;

    limit_myself(cpu_limit(work));
    xml = work->file ? file_read_within(work->file, HWLOC_READ_S, &why) : NULL;
    if (work->file && !xml)
        error_set(&answer.why, "topology file %s", why.text);
    else
        answer.status = work->run(work->context, xml, &bytes, &size, &answer.why);
    if (answer.status == 0 && size > work->most)
        answer.status = error_set(&answer.why, "%s is too large", work->what);
    send_all(out, &answer, sizeof answer);
    if (answer.status == 0)
        send_all(out, bytes, size);
}

/* How the child ended, if not by exit. */
static int judge_end(const struct hwloc_work *work, const struct subprocess_end *end,
                     struct gpubind_error *err)
{
    int status = end->status;

    if (!end->in_time)
        return error_set(err, "%s: hwloc is not done within %d s", work->what, wall_limit(work));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return error_set(err, "%s takes hwloc more than %d s of CPU time", work->what,
                         cpu_limit(work));
    if (WIFSIGNALED(status))
        return error_set(err, "%s is nothing that hwloc can read: it died (%s)", work->what,
                         strsignal(WTERMSIG(status)));
    return 0;
}

static int understand(const struct hwloc_work *work, char *bytes, size_t got,
                      struct gpubind_error *err)
{
    struct answer answer;

    if (got < sizeof answer)
        return error_set(err, "%s is nothing that hwloc can read", work->what);
    memcpy(&answer, bytes, sizeof answer);
    answer.why.text[sizeof answer.why.text - 1] = '\0';
    if (answer.status == 0)
        return 0;
    return work->file ? error_set(err, "%s", answer.why.text)
                      : error_set(err, "%s: %s", work->what, answer.why.text);
}

int hwloc_subprocess_run(const struct hwloc_work *work, char **bytes, size_t *size,
                         struct gpubind_error *err)
{
    const size_t room = sizeof(struct answer) + work->most;
    char *all = malloc(room);
    struct subprocess_end end;
    size_t got = 0;
    int status = -1;

    if (!all)
        return error_set(err, "out of memory");
    if (subprocess_read(serve, (void *)(size_t)work, wall_limit(work), all, room, &got, &end,
                        err) == 0)
        status = judge_end(work, &end, err);
    if (status == 0)
        status = understand(work, all, got, err);
    if (status < 0) {
        free(all);
        return -1;
    }
    *size = got - sizeof(struct answer);
    memmove(all, all + sizeof(struct answer), *size);
    *bytes = all;
    return 0;
}
