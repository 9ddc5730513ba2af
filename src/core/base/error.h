/* One sentence that travels up to the shell that prints it. */
#ifndef GPUBIND_CORE_BASE_ERROR_H
#define GPUBIND_CORE_BASE_ERROR_H

struct gpubind_error {
    char text[512];
};

/* Writes the sentence into err (which may be NULL) and returns -1, so that a
 * failing function can end with `return error_set(err, ...)`. It stays one line,
 * whatever is quoted in it. */
int error_set(struct gpubind_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "what: " in front of the sentence, and returns -1. */
int error_of(struct gpubind_error *err, const char *what);

#endif
