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
#include "host/sys/listener.h"

/* How long a process looks for a leader beyond the timeout, on a loaded machine. */
#define GRACE_S 60.0
/* One wait of those without a limit. */
#define WAIT_MS 60000
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

struct attempt {
    const struct rendezvous_call *call;
    struct rendezvous_message *answer;
    enum rendezvous_outcome outcome;
    struct gpubind_error *err; /* of RENDEZVOUS_FAILED */
    double deadline;           /* for finding a leader; what one is waited for is added */
    double limit;              /* for its answer, 0: as long as it is there */
    int number;                /* of the address */
    double stuck_since;        /* when connecting to this address first failed, or 0 */
};

enum step { STEP_OVER, STEP_AGAIN };

static enum step next_address(struct attempt *attempt)
{
    attempt->number++;
    attempt->stuck_since = 0;
    return STEP_AGAIN;
}

/* After a call that failed: again, unless the kernel would refuse it for ever, as a filter or SELinux
 * or a small socket buffer make it. */
static enum step again_unless_refused(const struct attempt *attempt, const char *what)
{
    if (errno != EPERM && errno != EACCES && errno != ENOSYS && errno != EMSGSIZE)
        return STEP_AGAIN;
    error_set(attempt->err, CANNOT_MEET ": %s: %s", what, strerror(errno));
    return STEP_OVER;
}

/* The time since then went by because a leader was there. */
static enum step wait_longer(struct attempt *attempt, double began)
{
    if (!attempt->limit)
        attempt->deadline += rendezvous_clock() - began;
    return STEP_AGAIN;
}

/* After connect failed: whether a leader is there, and busy, so that its backlog is full. Another
 * user's listener can have a full one, too, and need not ever accept. Leaves errno. */
static bool is_busy(const struct sockaddr_un *address)
{
    const int failure = errno;
    bool busy = failure == EAGAIN && listener_is_own(address->sun_path + 1);

    errno = failure;
    return busy;
}

/* The leader is about to listen, or has just left; unless that lasts. */
static enum step wait_for_leader(struct attempt *attempt, const struct sockaddr_un *address,
                                 double began)
{
    if (is_busy(address)) {
        attempt->stuck_since = 0;
        return wait_longer(attempt, began);
    }
    if (again_unless_refused(attempt, "connect") == STEP_OVER)
        return STEP_OVER;
    if (!attempt->stuck_since)
        attempt->stuck_since = rendezvous_clock();
    return rendezvous_clock() - attempt->stuck_since > STUCK_S ? next_address(attempt) : STEP_AGAIN;
}

/* Receives one packet. Returns its size, also where that is more than there is room for; 0 when the
 * leader has closed; -1 with errno, ETIMEDOUT after the limit, where that is not 0. */
static ssize_t receive_packet(int fd, double limit, char *packet, size_t room)
{
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    double left = 1;

    while (!limit || (left = limit - rendezvous_clock()) > 0) {
        ssize_t got;

        if (poll(&waiting, 1, limit ? (int)(left * 1000) + 1 : WAIT_MS) < 1)
            continue;
        got = recv(fd, packet, room, MSG_TRUNC);
        if (got >= 0 || errno != EINTR)
            return got;
    }
    errno = ETIMEDOUT;
    return -1;
}

/* Adds a packet without its tag to what has come of the answer. */
static int add_part(struct rendezvous_message *answer, const char *packet, size_t size)
{
    char *bytes = realloc(answer->bytes, answer->size + size);

    if (!bytes)
        return -1;
    memcpy(bytes + answer->size, packet + 1, size - 1);
    answer->bytes = bytes;
    answer->size += size - 1;
    return 0;
}

/* A packet that is no whole answer, or (got < 1) none. Where a part has come, others may have their
 * answers already, so that there is no second try. */
static enum step end_answer(struct attempt *attempt, ssize_t got, char tag)
{
    bool begun = attempt->answer->size > 0;
    const int failure = errno;

    free(attempt->answer->bytes);
    *attempt->answer = (struct rendezvous_message){.bytes = NULL};
    if (got > 0 && tag == RENDEZVOUS_REFUSAL)
        attempt->outcome = RENDEZVOUS_REFUSED;
    else if (got > 0)
        error_set(attempt->err, CANNOT_MEET ": what the leading one sent cannot be taken");
    else if (begun)
        error_set(attempt->err, CANNOT_MEET ": the leading one left in the middle of an answer");
    else if (got == 0)
        return STEP_AGAIN;
    else if ((errno = failure) != ETIMEDOUT)
        return again_unless_refused(attempt, "recv");
    return STEP_OVER;
}

/* The leader ends by itself: it waits for each next process only so long, and the caller's part has
 * limits of its own. */
static enum step receive_answer(struct attempt *attempt, int fd)
{
    static char packet[1 + RENDEZVOUS_PART];
    ssize_t got;

    *attempt->answer = (struct rendezvous_message){.bytes = NULL};
    do {
        got = receive_packet(fd, attempt->limit, packet, sizeof packet);
        if (got < 1 || (size_t)got > sizeof packet ||
            (packet[0] != RENDEZVOUS_MORE && packet[0] != RENDEZVOUS_ANSWER) ||
            add_part(attempt->answer, packet, (size_t)got) < 0)
            return end_answer(attempt, got, packet[0]);
    } while (packet[0] == RENDEZVOUS_MORE);
    attempt->outcome = RENDEZVOUS_DONE;
    return STEP_OVER;
}

/* The address is bound: sends the message to the leader there and waits for the answer. */
static enum step follow(struct attempt *attempt, int fd)
{
    struct timeval limit = {.tv_sec = 2};
    struct sockaddr_un address;
    socklen_t size = make_address(attempt->call->key, attempt->number, &address);
    const double began = rendezvous_clock();
    enum step step;
    bool same;

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, size) < 0)
        return wait_for_leader(attempt, &address, began);
    attempt->stuck_since = 0;
    if (rendezvous_user(fd, &same, attempt->err) < 0)
        return STEP_OVER;
    if (!same)
        return next_address(attempt);
    if (send(fd, attempt->call->mine.bytes, attempt->call->mine.size, MSG_NOSIGNAL) < 0)
        return again_unless_refused(attempt, "send");
    step = receive_answer(attempt, fd);
    return step == STEP_AGAIN ? wait_longer(attempt, began) : step;
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

    if (call->mine.size > RENDEZVOUS_MAX) {
        error_set(err, CANNOT_MEET ": %zu bytes about one of them are more than %d",
                  call->mine.size, RENDEZVOUS_MAX);
        return RENDEZVOUS_FAILED;
    }
    attempt.deadline = rendezvous_clock() + limit_s;
    /* A leader that was found in time has as much again, since it began before that. */
    attempt.limit = call->limit_s > 0 ? attempt.deadline + limit_s : 0;
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
