#include "mpi/base/trace.h"

#include <errno.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"

static const char *const level_names[TRACE_LEVELS] = {"warn", "info", "debug", "trace"};
static const char *const module_names[TRACE_MODULES] = {"core", "p2p", "persistent", "stream",
                                                        "rma"};

unsigned char trace_levels[TRACE_MODULES];
static FILE *file; /* NULL: stderr */
static int rank;
static struct timespec started;

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * (double)(now.tv_sec - started.tv_sec) +
           1e-3 * (double)(now.tv_nsec - started.tv_nsec);
}

/* In one piece, so that the lines of several ranks do not mix. */
void trace_write(enum trace_level level, enum trace_module module, const char *format, ...)
{
    char line[512];
    va_list args;
    int n = snprintf(line, sizeof line, "gpubind %12.3f rank %d %s %s: ", microseconds(), rank,
                     module_names[module], level_names[level]);

    va_start(args, format);
    n += vsnprintf(line + n, sizeof line - (size_t)n, format, args);
    va_end(args);
    if (n > (int)sizeof line - 2)
        n = sizeof line - 2;
    line[n++] = '\n';
    fwrite(line, 1, (size_t)n, file ? file : stderr);
}

/* The number of the word, of length characters, among names; -1: none. */
static int find(const char *word, size_t length, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length && strncmp(word, names[i], length) == 0)
            return i;
    return -1;
}

static int refuse(const char *value, struct gpubind_error *err)
{
    return error_set(err,
                     "GPUBIND_LOG=%s: there is warn, info, debug and trace, and behind a colon "
                     "core, p2p, persistent, stream and rma, with commas in between",
                     value);
}

static int read_levels(struct gpubind_error *err)
{
    const char *value = getenv("GPUBIND_LOG"), *at;
    size_t length;
    int level;

    memset(trace_levels, TRACE_WARN, sizeof trace_levels);
    if (!value || !*value)
        return 0;
    length = strcspn(value, ":");
    level = find(value, length, level_names, TRACE_LEVELS);
    if (level < 0)
        return refuse(value, err);
    if (!value[length])
        memset(trace_levels, level, sizeof trace_levels);
    for (at = value + length; *at; at += length) {
        int module;

        length = strcspn(++at, ",");
        module = find(at, length, module_names, TRACE_MODULES);
        if (module < 0)
            return refuse(value, err);
        trace_levels[module] = (unsigned char)level;
    }
    return 0;
}

/* %h: the host, %r: the rank, %p: the process, %%: a percent sign. */
static int fill_name(const char *pattern, struct text *name, struct gpubind_error *err)
{
    char host[256] = "";

    gethostname(host, sizeof host - 1);
    for (const char *at = pattern; *at; at++) {
        if (*at != '%')
            text_add(name, "%c", *at);
        else if (*++at == 'h')
            text_add(name, "%s", host);
        else if (*at == 'r')
            text_add(name, "%d", rank);
        else if (*at == 'p')
            text_add(name, "%d", (int)getpid());
        else if (*at == '%')
            text_add(name, "%%");
        else
            return error_set(err, "GPUBIND_LOG_FILE=%s: there is %%h, %%r, %%p and %%%%", pattern);
    }
    return name->failed ? error_set(err, "out of memory") : 0;
}

static int open_file(struct gpubind_error *err)
{
    const char *pattern = secure_getenv(
        "GPUBIND_LOG_FILE"); /* not with more rights than the caller's */
    struct text name = {0};
    int status;

    if (!pattern || !*pattern)
        return 0;
    status = fill_name(pattern, &name, err);
    if (status == 0) {
        file = fopen(name.bytes, "we");
        if (file)
            setvbuf(file, NULL, _IOLBF, 0);
        else
            status = error_set(err, "GPUBIND_LOG_FILE: %s: %s", name.bytes, strerror(errno));
    }
    text_clear(&name);
    return status;
}

int trace_start(struct gpubind_error *err)
{
    clock_gettime(CLOCK_MONOTONIC, &started);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return read_levels(err) < 0 || open_file(err) < 0 ? -1 : 0;
}
