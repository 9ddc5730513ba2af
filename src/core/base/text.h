/* A string that grows. */
#ifndef GPUBIND_CORE_BASE_TEXT_H
#define GPUBIND_CORE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialised is empty. bytes is NUL-terminated, or NULL while empty. Once
 * memory has run out, failed stays set and nothing more is added. */
struct text {
    char *bytes;
    size_t length, size;
    bool failed;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vadd(struct text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Words up to the 79th column, further lines below the first, all indented. */
void text_add_wrapped(struct text *text, const char *words, int indent);
void text_clear(struct text *text);
/* Replaces control characters, which include line ends, by '?'. */
void text_clean(char *string);
/* Copies text of another program, cleaned like this and cut to size bytes with its NUL. */
void text_copy(char *to, size_t size, const char *from);

#endif
