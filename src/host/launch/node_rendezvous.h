/* The launcher's processes of one job on one node come together: one of them,
 * the leader, hears what all have to say, decides once, and answers each.
 *
 * They meet at an abstract Unix socket, whose name vanishes with the process that
 * holds it: a crash leaves nothing behind, no file can be put in its place, and
 * neither a full nor a read-only file system matters. Whoever binds the name
 * first leads. When a leader dies, the others start over. Only processes of the
 * same user are listened to. */
#ifndef GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_H
#define GPUBIND_HOST_LAUNCH_NODE_RENDEZVOUS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/base/error.h"

struct rendezvous_message {
    void *bytes; /* malloc'ed */
    size_t size; /* at most RENDEZVOUS_MAX */
    pid_t pid;   /* of who said it, as the leader's /proc has it; 0: it is not there */
};
#define RENDEZVOUS_MAX 65536

struct rendezvous_call {
    const char *key;   /* names job and node */
    int expected;      /* processes, this one included */
    double patience_s; /* how long to wait for the next one to come */
    double limit_s;    /* for all of it; 0: long enough for discovery under load */
    /* Asked after a second of silence, with the number of processes that came: is
     * it certain that nobody else will? NULL: never. */
    bool (*complete)(void *context, int came);
    struct rendezvous_message mine;
    /* The leader's part. prepare is called before it waits, decide afterwards
     * with what n processes said, its own first; it fills one answer for each,
     * which meet frees. A failure reaches every process. */
    int (*prepare)(void *context, struct gpubind_error *err);
    int (*decide)(void *context, const struct rendezvous_message *messages, int n,
                  struct rendezvous_message *answers, struct gpubind_error *err);
    /* Says a failure of these two, before anybody else hears of it: a process that
     * leaves early may take the whole job with it. */
    void (*fail)(void *context, const struct gpubind_error *err);
    void *context;
};

enum rendezvous_outcome {
    RENDEZVOUS_FAILED = -1, /* the meeting itself; err says why */
    RENDEZVOUS_DONE = 0,
    RENDEZVOUS_REFUSED = 1, /* the leader failed, and has said why */
};

/* Sets *answer, which the caller frees, on RENDEZVOUS_DONE. */
enum rendezvous_outcome node_rendezvous(const struct rendezvous_call *call,
                                        struct rendezvous_message *answer,
                                        struct gpubind_error *err);

#endif
