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

/* A process that came. Its socket is open until the end; said.bytes is NULL as
 * long as it has not spoken. */
struct guest {
    int fd;
    struct meet_message said;
};

struct assembly {
    int n, spoken;
    struct guest *guests;
    struct pollfd *polled; /* n + 1: the guests, then the listener */
};

static int welcome(struct assembly *assembly, int fd)
{
    size_t n = (size_t)assembly->n + 1;
    struct guest *guests = realloc(assembly->guests, n * sizeof *guests);
    struct pollfd *polled;

    if (guests)
        assembly->guests = guests;
    polled = realloc(assembly->polled, (n + 1) * sizeof *polled);
    if (polled)
        assembly->polled = polled;
    if (!guests || !polled)
        return -1;
    guests[assembly->n++] = (struct guest){.fd = fd};
    return 0;
}

static int accept_guest(struct assembly *assembly, int listener, struct gpubind_error *err)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0 && (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED))
        return 0;
    if (fd < 0)
        return error_set(err, "the node's launcher processes cannot meet: %s", strerror(errno));
    if (meet_same_user(fd) && welcome(assembly, fd) == 0)
        return 0;
    close(fd);
    return 0;
}

/* Hears a guest; one that is gone, or says nothing, leaves. */
static void hear(struct assembly *assembly, int g)
{
    static char buffer[MEET_MAX];
    struct guest *guest = &assembly->guests[g];
    ssize_t got = recv(guest->fd, buffer, sizeof buffer, 0);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0 && (guest->said.bytes = malloc((size_t)got))) {
        memcpy(guest->said.bytes, buffer, (size_t)got);
        guest->said.size = (size_t)got;
        guest->said.pid = meet_peer(guest->fd);
        assembly->spoken++;
        return;
    }
    close(guest->fd);
    assembly->guests[g] = assembly->guests[--assembly->n];
}

static int poll_once(struct assembly *assembly, int listener, double seconds)
{
    for (int g = 0; g < assembly->n; g++) {
        bool spoken = assembly->guests[g].said.bytes != NULL;

        assembly->polled[g] =
            (struct pollfd){.fd = spoken ? -1 : assembly->guests[g].fd, .events = POLLIN};
    }
    assembly->polled[assembly->n] = (struct pollfd){.fd = listener, .events = POLLIN};
    return poll(assembly->polled, (nfds_t)assembly->n + 1, (int)(seconds * 1000) + 1);
}

/* Waits until all have spoken or nobody has come for too long. */
static int gather(const struct meet_call *call, int listener, struct assembly *assembly,
                  struct gpubind_error *err)
{
    double last = meet_now();

    while (assembly->spoken + 1 < call->expected) {
        double silence = meet_now() - last, left = call->patience_s - silence;
        int before = assembly->spoken, n = assembly->n, ready;
        bool arrived;

        if (left <= 0 || (silence > SILENCE_S && call->complete &&
                          call->complete(call->context, assembly->spoken + 1)))
            return 0;
        ready = poll_once(assembly, listener, left < SILENCE_S ? left : SILENCE_S);
        if (ready < 0 && errno != EINTR)
            return error_set(err, "the node's launcher processes cannot meet: %s",
                             strerror(errno));
        if (ready <= 0)
            continue;
        arrived = assembly->polled[n].revents != 0;
        for (int g = n - 1; g >= 0; g--)
            if (assembly->polled[g].revents)
                hear(assembly, g);
        if (arrived && accept_guest(assembly, listener, err) < 0)
            return -1;
        if (assembly->spoken > before)
            last = meet_now();
    }
    return 0;
}

static void tell(const struct assembly *assembly, enum meet_tag tag,
                 const struct meet_message *answers)
{
    for (int g = 0, next = 0; g < assembly->n; g++) {
        char first = (char)tag;
        struct iovec parts[2] = {{.iov_base = &first, .iov_len = 1}};
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = 1};

        if (!assembly->guests[g].said.bytes)
            continue;
        if (answers) {
            parts[1].iov_base = answers[next].bytes;
            parts[1].iov_len = answers[next++].size;
            message.msg_iovlen = 2;
        }
        /* One that died meanwhile is its launcher's business. */
        (void)sendmsg(assembly->guests[g].fd, &message, MSG_NOSIGNAL);
    }
}

/* Everybody's words, the leader's first; answers in the same order. */
static int decide(const struct meet_call *call, struct assembly *assembly,
                  struct meet_message *answer, struct gpubind_error *err)
{
    int n = assembly->spoken + 1, next = 1, status = -1;
    struct meet_message *said = calloc((size_t)n, sizeof *said);
    struct meet_message *answers = calloc((size_t)n, sizeof *answers);

    if (said && answers) {
        said[0] = call->mine;
        said[0].pid = getpid();
        for (int g = 0; g < assembly->n; g++)
            if (assembly->guests[g].said.bytes)
                said[next++] = assembly->guests[g].said;
        status = call->decide(call->context, said, n, answers, err);
    } else {
        error_set(err, "out of memory");
    }
    if (status < 0)
        call->fail(call->context, err);
    tell(assembly, status < 0 ? MEET_REFUSAL : MEET_ANSWER, status < 0 ? NULL : answers + 1);
    if (status == 0) {
        *answer = answers[0];
        answers[0].bytes = NULL;
    }
    for (int i = 0; answers && i < n; i++)
        free(answers[i].bytes);
    free(said);
    free(answers);
    return status;
}

/* Every guest takes a descriptor; the program gets its limit back. */
static void lift_limit(struct rlimit *before)
{
    struct rlimit all;

    if (getrlimit(RLIMIT_NOFILE, before) < 0)
        before->rlim_cur = before->rlim_max = RLIM_INFINITY;
    all = *before;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

enum meet_outcome meet_lead(const struct meet_call *call, int listener,
                            struct meet_message *answer, struct gpubind_error *err)
{
    struct assembly assembly = {.polled = calloc(1, sizeof *assembly.polled)};
    struct gpubind_error trouble;
    struct rlimit before;
    int prepared = call->prepare(call->context, err);
    int status = assembly.polled ? 0 : error_set(err, "out of memory");

    lift_limit(&before);
    /* A failure is everybody's: wait for all, so that it is said once. */
    if (status == 0)
        status = gather(call, listener, &assembly, prepared < 0 ? &trouble : err);
    if (prepared < 0 || status < 0) {
        status = -1;
        call->fail(call->context, err);
        tell(&assembly, MEET_REFUSAL, NULL);
    } else {
        status = decide(call, &assembly, answer, err);
    }
    for (int g = 0; g < assembly.n; g++) {
        close(assembly.guests[g].fd);
        free(assembly.guests[g].said.bytes);
    }
    setrlimit(RLIMIT_NOFILE, &before);
    free(assembly.guests);
    free(assembly.polled);
    return status < 0 ? MEET_TOLD : MEET_DONE;
}
