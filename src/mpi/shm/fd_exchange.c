/* Passes file descriptors over datagram sockets (SCM_RIGHTS). */
#include "mpi/shm/fd_exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT 10.0 /* seconds */

struct datagram {
    uint64_t token; /* the receiver's, which other programs do not know */
    int64_t from;
};

/* Room for one descriptor. */
union control {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static socklen_t name(uint64_t number, struct sockaddr_un *address)
{
    int length;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "gpubind/%016llx",
                      (unsigned long long)number);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Has the kernel drop what does not begin with the token, at its sender, so that other programs cannot
 * fill the queue. Where that is refused the queue may fill, and a descriptor not come in time. */
static void filter_by(int fd, uint64_t token)
{
    uint32_t words[2];
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* what is shorter is dropped, too */
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, sizeof words[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, sizeof(struct datagram)),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    const struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};

    memcpy(words, &token, sizeof words);
    steps[1].k = ntohl(words[0]); /* a filter loads in network byte order */
    steps[3].k = ntohl(words[1]);
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

int fd_exchange_open(struct fd_address *address, struct gpubind_error *err)
{
    struct sockaddr_un to;
    socklen_t length;
    int fd = -1;

    if (getrandom(address, sizeof *address, 0) == sizeof *address)
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        filter_by(fd, address->token);
    length = name(address->name, &to);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&to, length) == 0)
        return fd;
    error_set(err, "a socket for descriptors cannot be made: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Sends. 1: done; 0: try again later; -1 with a sentence. */
static int give(int socket, const struct fd_peer *other, int me, int fd, struct gpubind_error *err)
{
    struct datagram datagram = {other->address.token, me};
    struct iovec part = {&datagram, sizeof datagram};
    union control control = {{0}};
    struct sockaddr_un to;
    struct msghdr message = {.msg_name = &to,
                             .msg_namelen = name(other->address.name, &to),
                             .msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    if (sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 1;
    if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ETOOMANYREFS)
        return 0;
    return error_set(err, "a descriptor cannot be sent: %s", strerror(errno));
}

/* The descriptor in a message; -1: none. */
static int descriptor_in(struct msghdr *message)
{
    int fd = -1;

    for (struct cmsghdr *head = CMSG_FIRSTHDR(message); head; head = CMSG_NXTHDR(message, head))
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
            head->cmsg_len == CMSG_LEN(sizeof fd))
            memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

/* Drops the next datagram where another program has sent it, together with its descriptors: to have
 * them here, and close them, may take as long as their file system likes. Returns 1 when it did; 0: the
 * datagram is ours, or there is none, or it cannot be looked at. */
static int drop_foreign(int socket, uint64_t token)
{
    struct datagram datagram = {0};
    const ssize_t nbytes = recv(socket, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_PEEK);

    if (nbytes < 0 || (nbytes == sizeof datagram && datagram.token == token))
        return 0;
    return recv(socket, &datagram, sizeof datagram, MSG_DONTWAIT) >= 0;
}

/* Receives, and returns as give. Datagrams with another token are dropped. */
static int take(int socket, struct fd_peer *others, int n, uint64_t token,
                struct gpubind_error *err)
{
    struct datagram datagram = {0};
    struct iovec part = {&datagram, sizeof datagram};
    union control control = {{0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = CMSG_LEN(sizeof(int))}; /* one, no more */
    ssize_t nbytes;
    int fd;

    if (drop_foreign(socket, token))
        return 1;
    nbytes = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (nbytes < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (nbytes < 0)
        return error_set(err, "a descriptor cannot be received: %s", strerror(errno));
    fd = descriptor_in(&message);
    if (nbytes == sizeof datagram && datagram.token == token && datagram.from >= 0 &&
        datagram.from < n && others[datagram.from].gives && others[datagram.from].fd < 0) {
        others[datagram.from].fd = fd;
        return fd >= 0 ? 1 : error_set(err, "a descriptor was lost (ulimit -n?)");
    }
    if (fd >= 0)
        close(fd);
    return 1;
}

/* Sends and receives what is possible now. Returns how many transfers are left; -1 with a
 * sentence. */
static int step(int socket, struct fd_peer *others, int n, int me, uint64_t token, int fd,
                struct gpubind_error *err)
{
    int status, left = 0, most = n + 64; /* other programs may send faster than this reads */

    do
        status = take(socket, others, n, token, err);
    while (status > 0 && --most > 0);
    for (int i = 0; i < n && status >= 0; i++) {
        if (others[i].takes)
            status = give(socket, &others[i], me, fd, err);
        if (status > 0)
            others[i].takes = false;
        left += others[i].takes + (others[i].gives && others[i].fd < 0);
        status = status > 0 ? 0 : status;
    }
    return status < 0 ? -1 : left;
}

int fd_exchange_all(int socket, struct fd_peer *others, int n, int me,
                    const struct fd_address *mine, int fd, struct gpubind_error *err)
{
    const double until = now() + TIMEOUT;
    struct pollfd wanted = {.fd = socket, .events = POLLIN};
    int left;

    for (left = 1; left > 0 && now() < until;) {
        left = step(socket, others, n, me, mine->token, fd, err);
        if (left > 0)
            poll(&wanted, 1, 1); /* or until a receiver has room again */
    }
    if (left > 0)
        return error_set(err, "descriptors of %d ranks did not come", left);
    return left;
}
