/* The rendezvous of a node's ranks: addresses, the choice of a leader, the followers' side. */
#include "host/launch/node_rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/base/hash.h"
#include "host/launch/node_rendezvous_leader.h"

/* How long a process waits beyond the leader's timeout, for discovery on a loaded machine. */
#define GRACE_S 60.0
/* How long an address may be bound by a process that does not listen. */
#define STUCK_S 3.0
/* Addresses tried while other users hold the first ones. */
#define MAX_ADDRESSES 4

double rendezvous_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int rendezvous_user(int fd, bool *same, struct gpubind_error *err)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return error_set(err, CANNOT_MEET ": SO_PEERCRED: %s", strerror(errno));
    *same = peer.uid == geteuid();
    return 0;
}

pid_t rendezvous_peer(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

/* The name holds a hash of the key, since a job's own may be longer than an address. */
static socklen_t make_address(const char *key, int number, struct sockaddr_un *address)
{
    unsigned long long hash = hash_text(HASH_START, key);
    int length;

    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "gpubind.%ld.%016llx.%d",
                      (long)geteuid(), hash, number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Receives the leader's answer and removes its tag. *gone: the leader closed without one, errno is 0;
 * or errno says why it cannot be received. */
static enum rendezvous_outcome receive_answer(int fd, double deadline,
                                              struct rendezvous_message *answer, bool *gone)
{
    char *buffer = malloc(RENDEZVOUS_MAX + 1);
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    int failure = 0;
    ssize_t got = -1;
    double left;

    while (buffer && got < 0 && (left = deadline - rendezvous_clock()) > 0)
        if (poll(&waiting, 1, (int)(left * 1000) + 1) > 0) {
            got = recv(fd, buffer, RENDEZVOUS_MAX + 1, 0);
            if (got < 0 && errno != EINTR) {
                failure = errno;
                got = 0;
            }
        }
    *gone = got == 0;
    if (got < 1 || buffer[0] != RENDEZVOUS_ANSWER) {
        enum rendezvous_outcome outcome = got > 0 ? RENDEZVOUS_REFUSED : RENDEZVOUS_FAILED;

        free(buffer);
        errno = failure;
        return outcome;
    }
    answer->size = (size_t)got - 1;
    memmove(buffer, buffer + 1, answer->size);
    answer->bytes = buffer;
    return RENDEZVOUS_DONE;
}

struct attempt {
    const struct rendezvous_call *call;
    struct rendezvous_message *answer;
    enum rendezvous_outcome outcome;
    struct gpubind_error *err; /* of RENDEZVOUS_FAILED */
    double deadline;
    int number;         /* of the address */
    double stuck_since; /* when connecting to this address first failed, or 0 */
};

enum step { STEP_OVER, STEP_AGAIN };

static enum step next_address(struct attempt *attempt)
{
    attempt->number++;
    attempt->stuck_since = 0;
    return STEP_AGAIN;
}

/* After a call that failed: again, unless a filter or SELinux makes the kernel refuse it, which it
 * would do for ever. */
static enum step again_unless_refused(const struct attempt *attempt, const char *what)
{
    if (errno != EPERM && errno != EACCES && errno != ENOSYS)
        return STEP_AGAIN;
    error_set(attempt->err, CANNOT_MEET ": %s: %s", what, strerror(errno));
    return STEP_OVER;
}

/* The leader is about to listen, or has just left; unless that lasts. */
static enum step wait_for_leader(struct attempt *attempt)
{
    if (again_unless_refused(attempt, "connect") == STEP_OVER)
        return STEP_OVER;
    if (!attempt->stuck_since)
        attempt->stuck_since = rendezvous_clock();
    return rendezvous_clock() - attempt->stuck_since > STUCK_S ? next_address(attempt) : STEP_AGAIN;
}

/* The address is bound: sends the message to the leader there and waits for the answer. */
static enum step follow(struct attempt *attempt, int fd)
{
    struct timeval limit = {.tv_sec = 2};
    struct sockaddr_un address;
    socklen_t size = make_address(attempt->call->key, attempt->number, &address);
    bool gone = true, same;

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, size) < 0)
        return wait_for_leader(attempt);
    attempt->stuck_since = 0;
    if (rendezvous_user(fd, &same, attempt->err) < 0)
        return STEP_OVER;
    if (!same)
        return next_address(attempt);
    if (send(fd, attempt->call->mine.bytes, attempt->call->mine.size, MSG_NOSIGNAL) < 0)
        return again_unless_refused(attempt, "send");
    attempt->outcome = receive_answer(fd, attempt->deadline, attempt->answer, &gone);
    if (attempt->outcome != RENDEZVOUS_FAILED || !gone)
        return STEP_OVER;
    return again_unless_refused(attempt, "recv");
}

static enum step try_once(struct attempt *attempt)
{
    struct sockaddr_un address;
    socklen_t size = make_address(attempt->call->key, attempt->number, &address);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    enum step step = STEP_OVER;

    if (fd < 0) {
        error_set(attempt->err, CANNOT_MEET ": %s", strerror(errno));
        return STEP_OVER;
    }
    if (bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, SOMAXCONN) == 0)
        attempt->outcome = rendezvous_lead(attempt->call, fd, attempt->answer, attempt->err);
    else if (errno == EADDRINUSE)
        step = follow(attempt, fd);
    else
        error_set(attempt->err, CANNOT_MEET ": %s", strerror(errno));
    close(fd);
    return step;
}

enum rendezvous_outcome node_rendezvous(const struct rendezvous_call *call,
                                        struct rendezvous_message *answer,
                                        struct gpubind_error *err)
{
    struct attempt attempt = {
        .call = call, .answer = answer, .outcome = RENDEZVOUS_FAILED, .err = err};
    double limit_s = call->limit_s > 0 ? call->limit_s : call->patience_s * 2 + GRACE_S;

    attempt.deadline = rendezvous_clock() + limit_s;
    error_set(err, "the node's launcher processes did not meet within %.0f s", limit_s);
    while (rendezvous_clock() < attempt.deadline && attempt.number < MAX_ADDRESSES) {
        struct timespec moment = {.tv_nsec = 1000000};

        if (try_once(&attempt) == STEP_OVER)
            return attempt.outcome;
        nanosleep(&moment, NULL);
    }
    if (attempt.number == MAX_ADDRESSES)
        error_set(err, "the place where the node's launcher processes meet is held by "
                       "another user");
    return RENDEZVOUS_FAILED;
}
