/* Opens the shared memory file of a node, with or without a name, and allocates its pages. */
#include "mpi/shm/shm_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "mpi/shm/fd_exchange.h"

#define STEP (256u << 10) /* bytes per fallocate, which a signal makes start over */
#define BATCH 128         /* descriptors under way at a time, which `ulimit -n` limits */

int node_agree(MPI_Comm node, bool good, struct gpubind_error *err)
{
    struct gpubind_error text = {{0}};
    int me, n, mine, first;

    PMPI_Comm_rank(node, &me);
    PMPI_Comm_size(node, &n);
    mine = good ? n : me;
    PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, node);
    if (first == n)
        return 0;
    if (first == me)
        text = *err;
    PMPI_Bcast(text.text, sizeof text.text, MPI_CHAR, first, node);
    *err = text;
    return -1;
}

bool shm_file_allocate(int fd, size_t from, size_t nbytes)
{
    const size_t end = from + nbytes;

    while (from < end) {
        const size_t step = end - from < STEP ? end - from : STEP;

        if (fallocate(fd, 0, (off_t)from, (off_t)step) == 0)
            from += step;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

/* Checks `ulimit -f` first, as exceeding it is a signal and not an error. */
static int resize(int fd, size_t nbytes, struct gpubind_error *err)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < nbytes)
        return error_set(err,
                         "%zu bytes of shared memory are more than a file may have "
                         "(ulimit -f)",
                         nbytes);
    if (ftruncate(fd, (off_t)nbytes) < 0)
        return error_set(err, "%zu bytes of shared memory cannot be had: %s", nbytes,
                         strerror(errno));
    return 0;
}

/* ---- a file without a name */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif

static int create_unnamed(size_t nbytes, struct gpubind_error *err)
{
    int fd = memfd_create("gpubind", MFD_CLOEXEC | MFD_NOEXEC_SEAL);

    if (fd < 0 && errno == EINVAL) /* before Linux 6.3 */
        fd = memfd_create("gpubind", MFD_CLOEXEC);
    if (fd < 0)
        return error_set(err, "memfd_create: %s", strerror(errno));
    if (resize(fd, nbytes, err) == 0)
        return fd;
    close(fd);
    return -1;
}

struct rank_socket {
    struct fd_address address;
    int socket; /* in that process; -1: none */
};

/* Rank 0 sends first and tells the others whether it could, before they wait to receive. */
static int pass_to_batch(MPI_Comm node, const struct rank_socket *sockets, struct fd_peer *others,
                         int first, int *fd, struct gpubind_error *err)
{
    int me, n, status = 0, sent;

    PMPI_Comm_rank(node, &me);
    PMPI_Comm_size(node, &n);
    for (int i = 0; i < n; i++)
        others[i] = (struct fd_peer){.address = sockets[i].address,
                                     .fd = -1,
                                     .takes = me == 0 && i >= first && i < first + BATCH};
    if (me == 0)
        status = fd_exchange_all(sockets[0].socket, others, n, 0, &sockets[0].address, *fd, err);
    sent = status == 0;
    PMPI_Bcast(&sent, 1, MPI_INT, 0, node);
    if (!sent || me < first || me >= first + BATCH)
        return sent ? status : -1;
    others[0].gives = true;
    status = fd_exchange_all(sockets[me].socket, others, n, me, &sockets[me].address, -1, err);
    *fd = others[0].fd;
    return status;
}

static int pass_on(MPI_Comm node, int socket, const struct fd_address *address, int *fd,
                   struct gpubind_error *err)
{
    const struct rank_socket mine = {*address, socket};
    struct fd_peer *others;
    struct rank_socket *sockets;
    int n, status = 0;

    PMPI_Comm_size(node, &n);
    sockets = calloc((size_t)n, sizeof *sockets);
    others = calloc((size_t)n, sizeof *others);
    if (!sockets || !others)
        PMPI_Abort(node, MPI_ERR_NO_MEM);
    PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, sockets, sizeof mine, MPI_BYTE, node);
    for (int first = 1; first < n && status == 0; first += BATCH)
        status = node_agree(node, pass_to_batch(node, sockets, others, first, fd, err) == 0, err);
    free(sockets);
    free(others);
    return status;
}

/* 0, or -1 on all ranks with a sentence. The caller closes *fd in any case. */
static int open_unnamed(MPI_Comm node, size_t nbytes, int *fd, struct gpubind_error *err)
{
    struct fd_address address = {0, 0};
    int me, n, socket = -1, status = 0;

    PMPI_Comm_rank(node, &me);
    PMPI_Comm_size(node, &n);
    if (n > 1)
        status = socket = fd_exchange_open(&address, err);
    if (me == 0 && status >= 0)
        status = *fd = create_unnamed(nbytes, err);
    status = node_agree(node, status >= 0, err);
    if (status == 0)
        status = pass_on(node, socket, &address, fd, err);
    if (socket >= 0)
        close(socket);
    return status;
}

/* ---- a file in /dev/shm, unlinked when all ranks have opened it */

static bool has_room(int fd, size_t expected, struct gpubind_error *err)
{
    struct statvfs room;

    if (fstatvfs(fd, &room) < 0 || room.f_blocks == 0 || /* without a limit */
        room.f_bavail >= expected / room.f_frsize)
        return true;
    error_set(err, "/dev/shm has %llu MiB left, and shared memory may come to take %zu MiB",
              (unsigned long long)room.f_bavail * room.f_frsize >> 20, expected >> 20);
    return false;
}

/* Creates a file with a new name, which rank 0 broadcasts afterwards. Without a file name is
 * empty. */
static int create_named(char *name, size_t room, size_t nbytes, size_t expected,
                        struct gpubind_error *err)
{
    struct timespec now;
    int fd = -1;

    for (int i = 0; i < 100 && fd < 0; i++) {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, room, "/gpubind.%ld.%lx%d", (long)getpid(), (unsigned long)now.tv_nsec, i);
        fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0) {
        name[0] = '\0';
        return error_set(err, "shared memory cannot be made: %s", strerror(errno));
    }
    if (resize(fd, nbytes, err) == 0 && has_room(fd, expected, err))
        return fd;
    shm_unlink(name);
    close(fd);
    name[0] = '\0';
    return -1;
}

static int open_named(MPI_Comm node, size_t nbytes, size_t expected, int *fd,
                      struct gpubind_error *err)
{
    char name[64] = "";
    int me, status;

    PMPI_Comm_rank(node, &me);
    if (me == 0)
        *fd = create_named(name, sizeof name, nbytes, expected, err);
    PMPI_Bcast(name, sizeof name, MPI_CHAR, 0, node);
    if (me > 0 && name[0])
        *fd = shm_open(name, O_RDWR | O_CLOEXEC, 0600);
    if (me > 0 && *fd < 0)
        error_set(err, "shared memory of this node cannot be used: %s", strerror(errno));
    status = node_agree(node, *fd >= 0, err);
    if (me == 0 && name[0])
        shm_unlink(name);
    return status;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int shm_file_open(MPI_Comm node, size_t nbytes, size_t expected, struct gpubind_error *err)
{
    struct gpubind_error unnamed = {{0}}, named = {{0}};
    int me, fd = -1;

    if (open_unnamed(node, nbytes, &fd, &unnamed) == 0)
        return fd;
    close_fd(&fd);
    PMPI_Comm_rank(node, &me);
    if (open_named(node, nbytes, expected, &fd, &named) < 0) {
        close_fd(&fd);
        return error_set(err, "%s; %s", unnamed.text, named.text);
    }
    if (me == 0)
        error_set(err, "%s; shared memory is a file in /dev/shm", unnamed.text);
    return fd;
}
