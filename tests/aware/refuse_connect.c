/* Loaded before the C library's: REFUSED_RANK (of MPI_COMM_WORLD) finds no other rank's process by its socket:
 * REFUSED_TIMES times, since its backlog is full, or never, as if its files were closed to it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int is_meant(const struct sockaddr *address)
{
    static const char name[] = "\0gpubind-aware/";
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *wanted = getenv("REFUSED_RANK");

    rank = rank ? rank : getenv("PMI_RANK");
    return rank && wanted && strcmp(rank, wanted) == 0 && address->sa_family == AF_UNIX &&
           memcmp(((const struct sockaddr_un *)address)->sun_path, name, sizeof name - 1) == 0;
}

int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    static int ntimes;
    const char *times = getenv("REFUSED_TIMES");

    if (!is_meant(address) || (times && ntimes++ >= atoi(times)))
        return (int)syscall(SYS_connect, fd, address, length);
    errno = times ? EAGAIN : EACCES;
    return -1;
}
