/* Processes that give each other a file, with a stranger among them. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/shm/fd_exchange.h"
#include "tests/tap.h"

enum { MOST = 40 };

static struct table {
    struct fd_address address[MOST];
} * table;

static int descriptors(void)
{
    int n = 0;

    for (int fd = 0; fd < 1024; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A file with the process's number in it. */
static int file_of(int me)
{
    int fd = memfd_create("unit-handover", MFD_CLOEXEC);

    return fd >= 0 && pwrite(fd, &me, sizeof me, 0) == sizeof me ? fd : -1;
}

/* Every third process gives nothing. */
static int gives(int rank)
{
    return rank % 3 != 2;
}

static int holds(int fd, int number)
{
    int found = -1;

    return pread(fd, &found, sizeof found, 0) == sizeof found && found == number &&
           fcntl(fd, F_GETFD) == FD_CLOEXEC;
}

/* Letters with a wrong token, too short, and without a descriptor. */
static void disturb(const struct fd_address *address)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    uint64_t junk[2] = {address->name, 0};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    int length = snprintf(to.sun_path + 1, sizeof to.sun_path - 1, "gpubind/%016llx",
                          (unsigned long long)address->name);

    for (size_t nbytes = 0; nbytes <= sizeof junk; nbytes += 4)
        (void)!sendto(fd, junk, nbytes, MSG_DONTWAIT, (const struct sockaddr *)&to,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length));
    close(fd);
}

static int exchange(int socket, int me, int n)
{
    struct fd_peer others[MOST];
    struct gpubind_error err;
    int fd = gives(me) ? file_of(me) : -1, good;

    for (int i = 0; i < n; i++)
        others[i] = (struct fd_peer){table->address[i], i != me && gives(me), i != me && gives(i),
                                     -1};
    good = fd_exchange_all(socket, others, n, me, &table->address[me], fd, &err) == 0;
    if (!good)
        fprintf(stderr, "# process %d: %s\n", me, err.text);
    for (int i = 0; i < n; i++) {
        good &= i == me || !gives(i) ? others[i].fd < 0 : holds(others[i].fd, i);
        if (others[i].fd >= 0)
            close(others[i].fd);
    }
    if (fd >= 0)
        close(fd);
    return good;
}

/* The sockets are there before the processes are; each closes the others'. */
static void together(int n)
{
    struct gpubind_error err;
    int sockets[MOST], good = 1;

    for (int i = 0; i < n; i++) {
        sockets[i] = fd_exchange_open(&table->address[i], &err);
        good &= sockets[i] >= 0;
    }
    disturb(&table->address[0]);
    for (int me = 0; me < n; me++)
        if (fork() == 0) {
            for (int i = 0; i < n; i++)
                if (i != me)
                    close(sockets[i]);
            good = descriptors();
            good = exchange(sockets[me], me, n) && descriptors() == good;
            _exit(!good);
        }
    for (int i = 0; i < n; i++)
        close(sockets[i]);
    for (int i = 0; i < n; i++) {
        int status = 1;

        wait(&status);
        good &= status == 0;
    }
    tap_ok(good, "%d processes give each other files, a stranger none", n);
}

static void gone(void)
{
    struct fd_peer other = {.takes = true, .fd = -1};
    struct fd_address mine;
    struct gpubind_error err = {{0}};
    int socket = fd_exchange_open(&mine, &err), closed = fd_exchange_open(&other.address, &err),
        status;

    close(closed);
    status = fd_exchange_all(socket, &other, 1, 0, &mine, 0, &err);
    tap_ok(status < 0 && strstr(err.text, "cannot be sent"), "a process that is gone: %s",
           err.text);
    close(socket);
}

/* A sender that goes first, as the receiver waits to hear from it, and finds a full queue. */
static void flooded(void)
{
    struct fd_peer other = {.takes = true, .fd = -1}, sender = {.gives = true, .fd = -1};
    struct gpubind_error err = {{0}};
    const int to = fd_exchange_open(&other.address, &err),
              from = fd_exchange_open(&sender.address, &err), fd = file_of(7);
    int good;

    for (int i = 0; i < 1000; i++)
        disturb(&other.address);
    good = fd_exchange_all(from, &other, 1, 0, &sender.address, fd, &err) == 0 &&
           fd_exchange_all(to, &sender, 1, 1, &other.address, -1, &err) == 0 && holds(sender.fd, 7);
    tap_ok(good, "a stranger cannot fill a queue that nobody reads yet: %s", err.text);
    close(to);
    close(from);
    close(fd);
}

int main(void)
{
    table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    alarm(60);
    together(1);
    together(2);
    together(5);
    together(MOST); /* more than a socket's queue has room for */
    gone();
    flooded();
    return tap_done();
}
