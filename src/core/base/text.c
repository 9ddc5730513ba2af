#include "core/base/text.h"

#include <stdarg.h>
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

void text_add(struct text *text, const char *format, ...)
{
    size_t room = text->size - text->length;
    va_list args, again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    /* Mostly there is room, and once is enough. */
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
    va_end(args);
}

/* How many bytes JSON takes as they are. */
static int plain_length(const char *string)
{
    int length = 0;

    while (string[length] >= ' ' && string[length] < 0x7f && string[length] != '"' &&
           string[length] != '\\')
        length++;
    return length;
}

/* Length of the UTF-8 sequence of more than one byte that starts here, or 0. What is
 * longer than it need be, a surrogate, or beyond the last character is none (RFC 3629). */
static int utf8_length(const unsigned char *at)
{
    unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    int length = at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                 : at[0] >= 0xf0 && at[0] < 0xf5                                   ? 4
                                                                                   : 0;

    if (length && (at[1] < low || at[1] > high))
        return 0;
    for (int i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

void text_add_json(struct text *text, const char *string)
{
    if (!string || !*string) {
        text_add(text, "null");
        return;
    }
    text_add(text, "\"");
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        int length = plain_length(string);

        if (!length)
            length = utf8_length((const unsigned char *)string);
        if (length) {
            text_add(text, "%.*s", length, string);
            string += length - 1;
        } else if (c == '"' || c == '\\')
            text_add(text, "\\%c", c);
        else
            text_add(text, "\\u%04x", c);
    }
    text_add(text, "\"");
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
