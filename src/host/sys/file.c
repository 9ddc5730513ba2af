#include "host/sys/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
    /* Without O_NONBLOCK opening a pipe waits for one who writes to it. */
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
    char *list = file_read(path, err);
    size_t length = 0;
    bool between = false;

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
