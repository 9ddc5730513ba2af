/* Warnings on stderr, each kind once on a node. */
#ifndef GPUBIND_MPI_BASE_LOG_H
#define GPUBIND_MPI_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum warning {
    WARN_SEGMENT,
    WARN_PINNING,
    WARN_IPC,
    WARN_WAITING,
    WARN_STREAM,
    WARN_RECEIVING,
    WARN_MIXED,
    WARN_SENT,
    WARN_LEFT,
    WARN_GONE,
    WARN_SHM,
    WARN_VARIABLE,
    WARN_CAPTURED,
    WARN_CHANNELS,
    WARNINGS
};

/* MPI is initialised. test_and_set: sets the bit of a warning for the node, and returns whether it
 * was set before. */
void warn_start(bool (*test_and_set)(uint32_t bit));
/* The first time on this node (in this process, where the node shares no memory) that this kind of
 * warning occurs, prints "gpubind: rank R: SENTENCE", R the rank in MPI_COMM_WORLD. */
void warn_once(enum warning kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Warns of environment variables GPUBIND_... that do not exist. Needs the first domain. */
void warn_unknown_variables(void);

#endif
