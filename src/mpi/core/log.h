/* Sentences on stderr that are no errors. */
#ifndef GPUBIND_MPI_CORE_LOG_H
#define GPUBIND_MPI_CORE_LOG_H

enum warning { WARN_SEGMENT, WARN_PINNING, WARN_IPC, WARN_WAITING, WARN_STREAM,
               WARN_RECEIVING, WARN_MIXED, WARN_SENT, WARN_LEFT, WARN_GONE, WARN_SHM,
               WARN_VARIABLE,
               WARNINGS };

/* MPI is there. */
void warn_start(void);
/* The first time on this node that this kind of notice comes (in this process, where
 * the node shares no memory): "gpubind: rank R: SENTENCE", R the rank in
 * MPI_COMM_WORLD. */
void warn_once(enum warning kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of misspelt ones, which nobody would obey. After the first domain is there. */
void warn_unknown_variables(void);

#endif
