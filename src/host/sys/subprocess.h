/* Child processes for work that may hang or crash. */
#ifndef GPUBIND_HOST_SYS_SUBPROCESS_H
#define GPUBIND_HOST_SYS_SUBPROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

struct subprocess_end {
    bool in_time; /* else it was killed */
    int status;   /* as from waitpid */
};

/* Runs work in a child whose stderr is closed to the user, and takes what it writes to out,
 * at most size bytes, for at most so many seconds; then the child and what it started
 * are killed. *got becomes the number of bytes. 0, or -1 when there can be no child. */
int subprocess_read(void (*work)(int out, void *context), void *context, int seconds, void *bytes,
                    size_t size, size_t *got, struct subprocess_end *end,
                    struct gpubind_error *err);

/* The same; returns the number of bytes when the child ended by itself with status 0,
 * else -1 with how it ended. */
long subprocess_run(void (*work)(int out, void *context), void *context, int seconds, void *bytes,
                    size_t size, size_t *got, struct gpubind_error *err);

/* The same with a program of PATH, without input, and what it prints, NUL-terminated.
 * argv ends with NULL. Status 127: it is not there. */
long subprocess_command(const char *const *argv, int seconds, char *text, size_t size,
                        struct gpubind_error *err);

#endif
