/* The rendezvous of one job's processes on one node: one of them, the leader, receives a
 * message from each, decides once, and sends an answer to each.
 *
 * The leader listens at an abstract Unix socket. The kernel removes its name with the process
 * that holds it, so a crash leaves nothing behind, no file can be put in its place, and a full
 * or read-only file system does not matter. The first process to bind the name is the leader.
 * When the leader dies, the others start over. Messages of other users are ignored. */
#ifndef GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_H
#define GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

struct rendezvous_message {
    void *bytes; /* malloc'ed */
    size_t size; /* of what is sent to the leader: at most RENDEZVOUS_MAX */
    pid_t pid;   /* of the sender, in the leader's PID namespace; 0: it is in another one */
};
#define RENDEZVOUS_MAX 65536

struct rendezvous_call {
    const char *key;   /* names job and node */
    int expected;      /* processes, this one included */
    double patience_s; /* how long the leader waits for the next one to come */
    double limit_s;    /* for finding the leader, and for the leader to wait for all; 0: long enough
                        * for a loaded machine, and as long as processes come. Others wait for the
                        * leader until it decides or ends, with a limit for twice as long at most. */
    /* Called when no process has come for a second, with the number of those that came:
     * returns whether no other will come. NULL: others may always come. */
    bool (*complete)(void *context, int came);
    struct rendezvous_message mine;
    /* The leader's part. prepare is called before the leader waits, decide afterwards with
     * n messages, the leader's own first; it fills one answer for each, which
     * node_rendezvous frees. An answer without bytes is the first one's. If either fails, every
     * process is refused. */
    int (*prepare)(void *context, struct gpubind_error *err);
    int (*decide)(void *context, const struct rendezvous_message *messages, int n,
                  struct rendezvous_message *answers, struct gpubind_error *err);
    /* Reports a failure of these two. It is called before the others are refused, since the
     * first process that exits may make the launcher end the job. */
    void (*fail)(void *context, const struct gpubind_error *err);
    void *context;
};

enum rendezvous_outcome {
    RENDEZVOUS_FAILED = -1, /* the rendezvous itself failed; err says why */
    RENDEZVOUS_DONE = 0,
    RENDEZVOUS_REFUSED = 1, /* the leader failed and has reported why */
};

/* Sets *answer, which the caller frees, on RENDEZVOUS_DONE. */
enum rendezvous_outcome node_rendezvous(const struct rendezvous_call *call,
                                        struct rendezvous_message *answer,
                                        struct gpubind_error *err);

#endif
