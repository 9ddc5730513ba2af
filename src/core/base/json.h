/* Writes JSON into a text: objects, arrays and values, with the commas between them. */
#ifndef GPUBIND_CORE_BASE_JSON_H
#define GPUBIND_CORE_BASE_JSON_H

#include <stdbool.h>

#include "core/base/idset.h"
#include "core/base/text.h"

/* Starts as {.text = TEXT}. A value in an object has a key; one in an array has NULL for it. */
struct json {
    struct text *text;
    bool spaced; /* a blank after each comma and colon */
    bool comma;  /* the next value is not the first of its object or array */
    int newline; /* see json_newline */
};

/* BRACKET is '{' or '[', '}' or ']'. */
void json_open(struct json *json, const char *key, char bracket);
void json_close(struct json *json, char bracket);

/* UTF-8; a byte that is none is written as if it were ISO 8859-1. NULL and "" become null. */
void json_string(struct json *json, const char *key, const char *value);

/* A value that is formatted already: a number, true, null. */
void json_value(struct json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void json_bool(struct json *json, const char *key, bool value);

/* A string such as "0-3,8"; of an empty set, "". */
void json_ids(struct json *json, const char *key, const struct idset *ids);

/* An array with a string for each line; on lines of their own if INDENT is not 0. LINES may
 * be NULL. */
void json_lines(struct json *json, const char *key, const char *lines, int indent);

/* The next value or closing bracket begins on a new line, after INDENT > 0 blanks. */
void json_newline(struct json *json, int indent);

#endif
