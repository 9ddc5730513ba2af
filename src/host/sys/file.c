/* Reads and writes whole files. */
#include "host/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SIZE ((size_t)16 << 20)

static char *read_stream(FILE *file, const char *path, struct gpubind_error *err)
{
    size_t length = 0, size = 4096;
    char *bytes = malloc(size);

    while (bytes) {
        length += fread(bytes + length, 1, size - 1 - length, file);
        if (length < size - 1 || size > MAX_SIZE)
            break;
        size *= 2;
        char *more = realloc(bytes, size);

        if (!more)
            free(bytes);
        bytes = more;
    }
    if (!bytes)
        error_set(err, "out of memory");
    else if (ferror(file))
        error_set(err, "%s: %s", path, strerror(errno));
    else if (length >= MAX_SIZE)
        error_set(err, "%s is larger than 16 MiB", path);
    else if (memchr(bytes, '\0', length))
        error_set(err, "%s is no text file", path);
    else {
        bytes[length] = '\0';
        return bytes;
    }
    free(bytes);
    return NULL;
}

/* Closes file, which is NULL where errno tells why. */
static char *read_and_close(FILE *file, const char *path, struct gpubind_error *err)
{
    char *bytes;

    if (!file) {
        error_set(err, "%s: %s", path, strerror(errno));
        return NULL;
    }
    bytes = read_stream(file, path, err);
    fclose(file);
    return bytes;
}

char *file_read(const char *path, struct gpubind_error *err)
{
    return read_and_close(fopen(path, "re"), path, err);
}

char *file_read_within(const char *path, int seconds, struct gpubind_error *err)
{
    /* Without O_NONBLOCK opening a pipe waits for a writer. */
    struct pollfd ready = {.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), .events = POLLIN};
    int status;

    if (ready.fd < 0)
        return read_and_close(NULL, path, err);
    do
        status = poll(&ready, 1, seconds * 1000);
    while (status < 0 && errno == EINTR);
    if (status == 0)
        error_set(err, "%s: nothing to read within %d s", path, seconds);
    else if (status > 0 && fcntl(ready.fd, F_SETFL, 0) == 0)
        return read_and_close(fdopen(ready.fd, "r"), path, err);
    else
        error_set(err, "%s: %s", path, strerror(errno));
    close(ready.fd);
    return NULL;
}

char *file_read_list(const char *path, struct gpubind_error *err)
{
    char *list = *path ? file_read(path, err) : NULL;
    size_t length = 0;
    bool between = false;

    if (!*path)
        error_set(err, "the file has no name");
    for (const char *at = list; at && *at; at++) {
        if (*at == '#')
            at += strcspn(at, "\n") - 1;
        else if (strchr(", \t\r\n", *at))
            between = length > 0;
        else {
            if (between)
                list[length++] = ',';
            between = false;
            list[length++] = *at;
        }
    }
    if (list)
        list[length] = '\0';
    return list;
}

/* ---- writing */

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
    /* A link is followed, so that its target is replaced. */
    char *real = realpath(path, NULL);
    struct stat about;
    bool is_there = stat(path, &about) == 0;
    int status, fd;

    /* Other holders of an open descriptor would go on writing to the replaced file. */
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
