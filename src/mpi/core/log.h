/* Sentences on stderr that are no errors. */
#ifndef GPUBIND_MPI_CORE_LOG_H
#define GPUBIND_MPI_CORE_LOG_H

enum notice { NOTICE_SEGMENT, NOTICE_PINNING, NOTICE_IPC, NOTICE_WAITING, NOTICE_STREAM,
              NOTICE_RECEIVING, NOTICE_MIXED, NOTICE_SENT, NOTICE_LEFT, NOTICE_GONE, NOTICE_SHM,
              NOTICE_VARIABLE,
              NOTICES };

/* MPI is there. */
void notice_start(void);
/* The first time on this node that this kind of notice comes (in this process, where
 * the node shares no memory): "gpubind: rank R: SENTENCE", R the rank in
 * MPI_COMM_WORLD. */
void notice_once(enum notice kind, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Of misspelt ones, which nobody would obey. After the first domain is there. */
void notice_unknown_variables(void);

#endif
