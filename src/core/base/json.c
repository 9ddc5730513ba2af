/* The JSON writer. */
#include "core/base/json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void end_line(struct json *json)
{
    text_add(json->text, "\n%*s", json->newline, "");
    json->newline = 0;
}

/* What stands before a value. */
static void begin(struct json *json, const char *key)
{
    if (json->comma)
        text_add(json->text, ",");
    if (json->newline)
        end_line(json);
    else if (json->comma && json->spaced)
        text_add(json->text, " ");
    if (key)
        text_add(json->text, "\"%s\":%s", key, json->spaced ? " " : "");
    json->comma = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
    begin(json, key);
    text_add(json->text, "%c", bracket);
    json->comma = false;
}

void json_close(struct json *json, char bracket)
{
    if (json->newline)
        end_line(json);
    text_add(json->text, "%c", bracket);
    json->comma = true;
}

void json_newline(struct json *json, int indent)
{
    json->newline = indent;
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

/* Length of the UTF-8 sequence of more than one byte that starts here, or 0. Overlong
 * sequences, surrogates and values beyond the last character are not UTF-8 (RFC 3629). */
static int utf8_length(const unsigned char *at)
{
    unsigned char low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    int length = at[0] >= 0xc2 && at[0] < 0xe0   ? 2
                 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                 : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                 : 0;

    if (length && (at[1] < low || at[1] > high))
        return 0;
    for (int i = 2; i < length; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

static void add_quoted(struct text *text, const char *string)
{
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

void json_string(struct json *json, const char *key, const char *value)
{
    begin(json, key);
    if (value && *value)
        add_quoted(json->text, value);
    else
        text_add(json->text, "null");
}

void json_value(struct json *json, const char *key, const char *format, ...)
{
    va_list args;

    begin(json, key);
    va_start(args, format);
    text_vadd(json->text, format, args);
    va_end(args);
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_value(json, key, value ? "true" : "false");
}

void json_ids(struct json *json, const char *key, const struct idset *ids)
{
    char *list = idlist_text(ids);

    json_value(json, key, "\"%s\"", list ? list : "");
    json->text->failed |= !list;
    free(list);
}

void json_lines(struct json *json, const char *key, const char *lines, int indent)
{
    json_open(json, key, '[');
    for (const char *at = lines ? lines : ""; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        struct text line = {0};

        text_add(&line, "%.*s", (int)strcspn(at, "\n"), at);
        json_newline(json, indent);
        json_string(json, NULL, line.bytes);
        json->text->failed |= line.failed;
        text_clear(&line);
    }
    json_close(json, ']');
}
