#include "host/sys/file_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Closes fd. */
static int write_to(int fd, const char *bytes, size_t nbytes)
{
    int failed = 0;

    while (nbytes > 0 && !failed) {
        ssize_t wrote = write(fd, bytes, nbytes);

        if (wrote > 0) {
            bytes += wrote;
            nbytes -= (size_t)wrote;
        } else if (wrote == 0 || errno != EINTR) {
            failed = wrote == 0 ? EIO : errno;
        }
    }
    if (close(fd) < 0 && !failed)
        failed = errno;
    errno = failed;
    return failed ? -1 : 0;
}

/* What open would give a new file. */
static mode_t new_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* A file that is there keeps its mode. */
static int replace(const char *path, mode_t mode, const char *bytes, size_t nbytes)
{
    size_t size = strlen(path) + 8;
    char *temporary = malloc(size);
    int fd, why;

    if (!temporary)
        return -1;
    snprintf(temporary, size, "%s.XXXXXX", path);
    fd = mkostemp(temporary, O_CLOEXEC);
    /* Some file systems know no modes. */
    if (fd >= 0)
        (void)fchmod(fd, mode);
    if (fd >= 0 && (write_to(fd, bytes, nbytes) < 0 || rename(temporary, path) < 0)) {
        why = errno;
        unlink(temporary);
        errno = why;
        fd = -1;
    }
    free(temporary);
    return fd < 0 ? -1 : 0;
}

int file_write(const char *path, const char *bytes, size_t nbytes, struct gpubind_error *err)
{
    /* Not a link to the file is replaced, but the file. */
    char *real = realpath(path, NULL);
    struct stat about;
    bool is_there = stat(path, &about) == 0;
    int status, fd;

    /* What is open under such a name would go on in a file that is no more there. */
    if ((is_there && !S_ISREG(about.st_mode)) || strncmp(path, "/dev/", 5) == 0) {
        fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
        status = fd < 0 ? -1 : write_to(fd, bytes, nbytes);
    } else {
        status = replace(real ? real : path, is_there ? about.st_mode & 07777 : new_mode(), bytes,
                         nbytes);
    }
    if (status < 0)
        error_set(err, "cannot write %s: %s", path, strerror(errno));
    free(real);
    return status;
}
