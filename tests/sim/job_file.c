/* The job's shared memory: one file without a name (memfd), which goes with the last
 * process that has it open, however that ends.
 *
 * A process finds the file through those that have it: each binds an abstract socket
 * whose name tells process and descriptor, so /proc/net/unix lists them, and opens
 * /proc/PID/fd/N. Another socket is the lock of this search. Processes that do not
 * see each other so (network or PID namespaces) have each a job of their own, and
 * handles of the other are refused. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sim/sim.h"

#define READY 0x67707562696e6431u /* the first word of the job's file */

/* The beginning of the names of the job's sockets. */
static void name_sockets(char *name, size_t nbytes)
{
    const char *text = getenv("GPUBIND_SIM_JOB");
    uint64_t hash = device_host();

    for (text = text && *text ? text : "default"; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    snprintf(name, nbytes, "gpubind-sim/%u/%016llx/", (unsigned)geteuid(),
             (unsigned long long)hash);
}

/* A socket of that name in the abstract namespace; -1 when there is one already. */
static int bind_socket(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, SIM_PROTOCOL);

    if (socket_fd < 0 || length + 1 > sizeof address.sun_path)
        sim_die("no socket: %s", strerror(errno));
    memcpy(address.sun_path + 1, name, length);
    length += offsetof(struct sockaddr_un, sun_path) + 1;
    if (bind(socket_fd, (const struct sockaddr *)&address, (socklen_t)length) == 0)
        return socket_fd;
    close(socket_fd);
    return -1;
}

/* The process may be gone, and its descriptor be another file's. */
static int open_of_process(const char *tail, off_t nbytes)
{
    char path[64];
    uint64_t first = 0;
    int pid, fd;

    if (sscanf(tail, "%d/%d", &pid, &fd) != 2)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (lseek(fd, 0, SEEK_END) == nbytes && pread(fd, &first, sizeof first, 0) == sizeof first &&
        first == READY)
        return fd;
    close(fd);
    return -1;
}

/* -1 when no living process has one. */
static int open_file(const char *prefix, off_t nbytes)
{
    FILE *sockets = fopen("/proc/net/unix", "re");
    char line[512];
    int fd = -1;

    while (sockets && fd < 0 && fgets(line, sizeof line, sockets)) {
        const char *at = strstr(line, prefix);

        if (at)
            fd = open_of_process(at + strlen(prefix), nbytes);
    }
    if (sockets)
        fclose(sockets);
    return fd;
}

static int make_file(off_t nbytes)
{
    int fd = memfd_create("gpubind-sim", SIM_MEMFD);

    if (fd < 0 || ftruncate(fd, nbytes) < 0)
        sim_die("no shared memory: %s", strerror(errno));
    return fd;
}

static void *map_head(int fd, size_t nbytes)
{
    void *head = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (head == MAP_FAILED)
        sim_die("no shared memory: %s", strerror(errno));
    return head;
}

int job_file_open(uint64_t nbytes, size_t head_bytes, uint64_t **head, void (*start)(uint64_t *))
{
    char prefix[64], name[100];
    int fd, search;

    name_sockets(prefix, sizeof prefix);
    snprintf(name, sizeof name, "%slock", prefix);
    for (search = bind_socket(name); search < 0; search = bind_socket(name))
        usleep(500);
    fd = open_file(prefix, (off_t)nbytes);
    if (fd >= 0) {
        *head = map_head(fd, head_bytes);
    } else {
        fd = make_file((off_t)nbytes);
        *head = map_head(fd, head_bytes);
        start(*head);
        (*head)[0] = READY;
    }
    snprintf(name, sizeof name, "%s%d/%d", prefix, (int)getpid(), fd);
    if (bind_socket(name) < 0) /* never closed */
        sim_die("the job has this process already");
    close(search);
    return fd;
}
