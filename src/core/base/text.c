/* A string that grows; text that is safe to print. */
#include "core/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct text *text, size_t more)
{
    size_t size = text->size ? text->size : 256;
    char *bytes;

    while (size < text->length + more + 1)
        size *= 2;
    if (size == text->size)
        return true;
    bytes = realloc(text->bytes, size);
    if (!bytes) {
        text->failed = true;
        return false;
    }
    text->bytes = bytes;
    text->size = size;
    return true;
}

void text_vadd(struct text *text, const char *format, va_list args)
{
    size_t room = text->size - text->length;
    va_list again;
    int length;

    va_copy(again, args);
    /* The first call suffices if the text fits. */
    length = vsnprintf(room ? text->bytes + text->length : NULL, room, format, args);
    if (length < 0)
        text->failed = true;
    else if ((size_t)length >= room && !text->failed && make_room(text, (size_t)length))
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, again);
    if (!text->failed)
        text->length += (size_t)length;
    else if (room)
        text->bytes[text->length] = '\0';
    va_end(again);
}

void text_add(struct text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_vadd(text, format, args);
    va_end(args);
}

void text_clean(char *string)
{
    unsigned char *at = (unsigned char *)string;

    for (; *at; at++)
        if (*at < 0x20 || *at == 0x7f)
            *at = '?';
        else if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0) /* the same of ISO 8859 */
            at[0] = at[1] = '?';
}

void text_copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    text_clean(to);
}

void text_clear(struct text *text)
{
    free(text->bytes);
    memset(text, 0, sizeof *text);
}

void text_add_wrapped(struct text *text, const char *words, int indent)
{
    int column = indent;

    text_add(text, "%*s", indent, "");
    while (*words) {
        int length = (int)strcspn(words, " ");

        if (column > indent && column + 1 + length > 79) {
            text_add(text, "\n%*s", indent, "");
            column = indent;
        }
        text_add(text, "%s%.*s", column > indent ? " " : "", length, words);
        column += length + (column > indent);
        words += length;
        words += *words == ' ';
    }
    text_add(text, "\n");
}
