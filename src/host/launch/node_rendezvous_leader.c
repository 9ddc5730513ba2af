/* The leader's side of the rendezvous: accepts, collects, decides, answers. */
#include "host/launch/node_rendezvous_leader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Ranks of one job start close together. */
#define SILENCE_S 1.0
/* A peer that takes nothing of a long answer for so long is given up. */
#define SLOW_MS 30000

/* A process that connected. Its socket stays open until it is answered; message.bytes is NULL
 * until its message has arrived. */
struct peer {
    int fd;
    struct rendezvous_message message;
};

struct peers {
    int n, heard;
    struct peer *list;
    struct pollfd *polled; /* n + 1: one a peer, then the listener */
};

static int add_peer(struct peers *peers, int fd)
{
    size_t n = (size_t)peers->n + 1;
    struct peer *list = realloc(peers->list, n * sizeof *list);
    struct pollfd *polled;

    if (list)
        peers->list = list;
    polled = realloc(peers->polled, (n + 1) * sizeof *polled);
    if (polled)
        peers->polled = polled;
    if (!list || !polled)
        return -1;
    list[peers->n++] = (struct peer){.fd = fd};
    return 0;
}

static int accept_peer(struct peers *peers, int listener, struct gpubind_error *err)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), status;
    bool same = false;

    if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
        return 0;
    if (fd < 0)
        return error_set(err, CANNOT_MEET ": %s", strerror(errno));
    status = rendezvous_user(fd, &same, err);
    if (!same || add_peer(peers, fd) < 0)
        close(fd);
    return status;
}

/* Receives a peer's message; a peer that closed or sent nothing is dropped. */
static void receive(struct peers *peers, int g)
{
    static char buffer[RENDEZVOUS_MAX];
    struct peer *peer = &peers->list[g];
    ssize_t got = recv(peer->fd, buffer, sizeof buffer, 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && (peer->message.bytes = malloc((size_t)got))) {
        memcpy(peer->message.bytes, buffer, (size_t)got);
        peer->message.size = (size_t)got;
        peer->message.pid = rendezvous_peer(peer->fd);
        peers->heard++;
        return;
    }
    close(peer->fd);
    peers->list[g] = peers->list[--peers->n];
}

static int poll_once(struct peers *peers, int listener, double seconds)
{
    for (int g = 0; g < peers->n; g++) {
        bool heard = peers->list[g].message.bytes != NULL;

        peers->polled[g] = (struct pollfd){.fd = heard ? -1 : peers->list[g].fd, .events = POLLIN};
    }
    peers->polled[peers->n] = (struct pollfd){.fd = listener, .events = POLLIN};
    return poll(peers->polled, (nfds_t)peers->n + 1, (int)(seconds * 1000) + 1);
}

/* Seconds until the leader goes on without those that have not come. */
static double time_left(const struct rendezvous_call *call, double began, double last)
{
    double patience = last + call->patience_s, limit = began + call->limit_s;

    return (call->limit_s > 0 && limit < patience ? limit : patience) - rendezvous_clock();
}

/* Waits until all messages are there, or none has come for too long. */
static int collect(const struct rendezvous_call *call, int listener, struct peers *peers,
                   struct gpubind_error *err)
{
    const double began = rendezvous_clock();
    double last = began;

    while (peers->heard + 1 < call->expected) {
        double silence = rendezvous_clock() - last, left = time_left(call, began, last);
        int before = peers->heard, n = peers->n, ready;
        bool arrived;

        if (left <= 0 || (silence > SILENCE_S && call->complete &&
                          call->complete(call->context, peers->heard + 1)))
            return 0;
        ready = poll_once(peers, listener, left < SILENCE_S ? left : SILENCE_S);
        if (ready < 0 && errno != EINTR)
            return error_set(err, CANNOT_MEET ": %s", strerror(errno));
        if (ready <= 0)
            continue;
        arrived = peers->polled[n].revents != 0;
        for (int g = n - 1; g >= 0; g--)
            if (peers->polled[g].revents)
                receive(peers, g);
        if (arrived && accept_peer(peers, listener, err) < 0)
            return -1;
        if (peers->heard > before)
            last = rendezvous_clock();
    }
    return 0;
}

/* By send, as sandboxes may refuse sendmsg, which can pass descriptors. */
static bool send_part(int fd, enum rendezvous_tag tag, const char *bytes, size_t size)
{
    static char packet[1 + RENDEZVOUS_PART];
    struct pollfd room = {.fd = fd, .events = POLLOUT};

    packet[0] = (char)tag;
    if (size)
        memcpy(packet + 1, bytes, size);
    while (send(fd, packet, 1 + size, MSG_NOSIGNAL) < 0)
        if ((errno != EAGAIN && errno != EINTR) || poll(&room, 1, SLOW_MS) == 0)
            return false;
    return true;
}

/* The launcher handles a peer that died meanwhile. */
static void send_one(int fd, enum rendezvous_tag tag, const struct rendezvous_message *answer)
{
    const char *bytes = answer ? answer->bytes : NULL;
    size_t left = answer ? answer->size : 0;

    for (; left > RENDEZVOUS_PART; left -= RENDEZVOUS_PART, bytes += RENDEZVOUS_PART)
        if (!send_part(fd, RENDEZVOUS_MORE, bytes, RENDEZVOUS_PART))
            return;
    (void)send_part(fd, tag, bytes, left);
}

/* answers: the leader's first; NULL for a refusal. */
static void send_all(const struct peers *peers, enum rendezvous_tag tag,
                     const struct rendezvous_message *answers)
{
    for (int g = 0, next = 1; g < peers->n; g++) {
        const struct rendezvous_message *answer = answers ? &answers[next] : NULL;

        if (!peers->list[g].message.bytes)
            continue;
        send_one(peers->list[g].fd, tag, answer && !answer->bytes ? answers : answer);
        next++;
    }
}

/* Passes all messages to call->decide, the leader's first, and sends the answers. */
static int decide(const struct rendezvous_call *call, struct peers *peers,
                  struct rendezvous_message *answer, struct gpubind_error *err)
{
    int n = peers->heard + 1, next = 1, status = -1;
    struct rendezvous_message *messages = calloc((size_t)n, sizeof *messages);
    struct rendezvous_message *answers = calloc((size_t)n, sizeof *answers);

    if (messages && answers) {
        messages[0] = call->mine;
        messages[0].pid = getpid();
        for (int g = 0; g < peers->n; g++)
            if (peers->list[g].message.bytes)
                messages[next++] = peers->list[g].message;
        status = call->decide(call->context, messages, n, answers, err);
    } else {
        error_set(err, "out of memory");
    }
    if (status < 0)
        call->fail(call->context, err);
    send_all(peers, status < 0 ? RENDEZVOUS_REFUSAL : RENDEZVOUS_ANSWER,
             status < 0 ? NULL : answers);
    if (status == 0) {
        *answer = answers[0];
        answers[0].bytes = NULL;
    }
    for (int i = 0; answers && i < n; i++)
        free(answers[i].bytes);
    free(messages);
    free(answers);
    return status;
}

/* Each peer takes a descriptor. The caller restores the limit for the program. */
static void raise_limit(struct rlimit *before)
{
    struct rlimit all;

    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        before->rlim_cur = before->rlim_max = RLIM_INFINITY;
    all = *before;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

enum rendezvous_outcome rendezvous_lead(const struct rendezvous_call *call, int listener,
                                        struct rendezvous_message *answer,
                                        struct gpubind_error *err)
{
    struct peers peers = {.polled = calloc(1, sizeof *peers.polled)};
    struct gpubind_error trouble;
    struct rlimit before;
    int prepared = call->prepare(call->context, err);
    int status = peers.polled ? 0 : error_set(err, "out of memory");

    raise_limit(&before);
    /* After a failure, too, the leader waits for all, so that it is reported once. */
    if (status == 0)
        status = collect(call, listener, &peers, prepared < 0 ? &trouble : err);
    if (prepared < 0 || status < 0) {
        status = -1;
        call->fail(call->context, err);
        send_all(&peers, RENDEZVOUS_REFUSAL, NULL);
    } else {
        status = decide(call, &peers, answer, err);
    }
    for (int g = 0; g < peers.n; g++) {
        close(peers.list[g].fd);
        free(peers.list[g].message.bytes);
    }
    setrlimit(RLIMIT_NOFILE, &before);
    free(peers.list);
    free(peers.polled);
    return status < 0 ? RENDEZVOUS_REFUSED : RENDEZVOUS_DONE;
}
