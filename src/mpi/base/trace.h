/* GPUBIND_LOG: what happens to each message, a line each. A point whose level is not asked for
 * costs the look at one byte. */
#ifndef GPUBIND_MPI_BASE_TRACE_H
#define GPUBIND_MPI_BASE_TRACE_H

#include "core/base/error.h"

/* info: once in a job. debug: once for each communicator, mapping, channel, window. trace: for
 * each message. Warnings are notices (log.h), and come at any level. */
enum trace_level { TRACE_WARN, TRACE_INFO, TRACE_DEBUG, TRACE_TRACE, TRACE_LEVELS };
enum trace_module {
    TRACE_CORE,
    TRACE_P2P,
    TRACE_PERSISTENT,
    TRACE_STREAM,
    TRACE_RMA,
    TRACE_MODULES
};

extern unsigned char trace_levels[TRACE_MODULES];

#define trace_at(level, module, ...)                              \
    do {                                                          \
        if (__builtin_expect(trace_levels[module] >= (level), 0)) \
            trace_write(level, module, __VA_ARGS__);              \
    } while (0)
#define trace_info(module, ...) trace_at(TRACE_INFO, module, __VA_ARGS__)
#define trace_debug(module, ...) trace_at(TRACE_DEBUG, module, __VA_ARGS__)
#define trace(module, ...) trace_at(TRACE_TRACE, module, __VA_ARGS__)

void trace_write(enum trace_level level, enum trace_module module, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads GPUBIND_LOG and GPUBIND_LOG_FILE; MPI is there. 0, or -1 with a sentence that names the
 * variable. Times count from here. */
int trace_start(struct gpubind_error *err);

#endif
