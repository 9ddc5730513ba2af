#include "aware/message/direct_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An abstract name, which ends with its socket. */
socklen_t direct_socket_name(struct sockaddr_un *address, uint64_t job, int rank)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                       (size_t)snprintf(address->sun_path + 1, sizeof address->sun_path - 1,
                                        DIRECT_NAME "/%u/%016llx/%d", (unsigned)getuid(),
                                        (unsigned long long)job, rank));
}

/* The process that listens as a rank, of this user. 0: none, and errno says why. */
static pid_t process_of(uint64_t job, int rank)
{
    int error = 0;
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct ucred peer = {0};
    struct sockaddr_un address;
    const socklen_t length = direct_socket_name(&address, job, rank);

    if (fd < 0)
        return 0;
    if (connect(fd, (struct sockaddr *)&address, length) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer}) < 0)
        error = errno;
    else if (peer.uid != getuid())
        error = ECONNREFUSED;
    close(fd);
    errno = error;
    return error ? 0 : peer.pid;
}

void *direct_map_file(pid_t pid, const char *fd, size_t nbytes, bool write)
{
    char path[64];
    void *at = MAP_FAILED;
    int file;

    snprintf(path, sizeof path, "/proc/%d/fd/%s", (int)pid, fd);
    file = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file < 0)
        return NULL;
    if (lseek(file, 0, SEEK_END) >= (off_t)nbytes)
        at = mmap(NULL, nbytes, PROT_READ | (write ? PROT_WRITE : 0), MAP_SHARED, file, 0);
    close(file);
    return at == MAP_FAILED ? NULL : at;
}

static bool is_segment(int folder, const char *name)
{
    static const char expected[] = "/memfd:" DIRECT_NAME " (deleted)";
    char target[sizeof expected];

    return readlinkat(folder, name, target, sizeof target) == (ssize_t)sizeof target - 1 &&
           memcmp(target, expected, sizeof target - 1) == 0;
}

/* The file of that process is the segment of that rank. NULL: it is not. */
static struct direct_segment *map_segment(pid_t pid, uint64_t job, int rank, int folder,
                                          const char *fd)
{
    struct direct_segment *found = is_segment(folder, fd)
                                       ? direct_map_file(pid, fd, sizeof *found, true)
                                       : NULL;

    if (found && (found->magic != DIRECT_MAGIC || found->job != job || found->rank != rank ||
                  found->pid != pid)) {
        munmap(found, sizeof *found);
        found = NULL;
    }
    return found;
}

bool direct_search_again(int error)
{
    return error == EAGAIN || error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

/* Ranks of one program open the same files before: the number is likely to be this process's. NULL: errno says
 * why. */
static struct direct_segment *segment_of(pid_t pid, uint64_t job, int rank, int likely)
{
    struct direct_segment *found = NULL;
    struct dirent *entry;
    char path[32], name[16];
    DIR *folder;
    int error = ENOENT;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(name, sizeof name, "%d", likely);
    folder = opendir(path);
    if (!folder)
        return NULL;
    found = map_segment(pid, job, rank, dirfd(folder), name);
    while (!found && (entry = readdir(folder))) {
        error = direct_search_again(errno) ? errno : error;
        found = map_segment(pid, job, rank, dirfd(folder), entry->d_name);
    }
    closedir(folder);
    errno = error;
    return found;
}

struct direct_segment *direct_search(uint64_t job, int rank, int likely)
{
    const pid_t pid = process_of(job, rank);

    return pid ? segment_of(pid, job, rank, likely) : NULL;
}
