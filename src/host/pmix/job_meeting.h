/* The meeting of a job's nodes: by PMIx the first rank of each node sends bytes to the first
 * rank of all. All of it belongs into a process that may be killed: libpmix starts threads, and
 * what it leaves behind ends with the process. */
#ifndef GPUBIND_HOST_PMIX_JOB_MEETING_H
#define GPUBIND_HOST_PMIX_JOB_MEETING_H

#include "core/base/error.h"
#include "host/pmix/pmix_api.h"

struct job_meeting {
    struct pmix_api api;
    struct pmix_name me;
    struct pmix_name *firsts; /* the first rank of each node, in order */
    int n, mine;              /* this rank's place among them, -1: it is not the first */
    int ends[2];              /* the end of a fence is told here */
};

/* Joins the job's PMIx, whose daemon has one of these commands. rank and size are the
 * launcher's. Every rank must do so, and leave again: launchers take it for a crash when one
 * ends that did not and others did. Fails when there is no PMIx, or another job's. */
int job_meeting_join(struct job_meeting *meeting, const char *const *daemons, int rank, int size,
                     struct gpubind_error *err);
void job_meeting_leave(struct job_meeting *meeting);

/* For all ranks. Waits for the others. */
int job_meeting_arrive(struct job_meeting *meeting, int seconds, struct gpubind_error *err);

/* Likewise, with what the first rank of each node has to send, which is something for all; afterwards what
 * all have sent can be got, until some rank has left. */
int job_meeting_send(struct job_meeting *meeting, const char *bytes, size_t size, int seconds,
                     struct gpubind_error *err);
/* Likewise, once the first rank has got what it wanted. */
int job_meeting_part(struct job_meeting *meeting, int seconds, struct gpubind_error *err);

/* What number i of the first ranks sent; the bytes stay until the process ends. */
int job_meeting_get(struct job_meeting *meeting, int i, const char **bytes, size_t *size,
                    struct gpubind_error *err);

#endif
