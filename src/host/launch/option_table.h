/* The table of options: what --help prints, what the command line, the
 * environment and the plugin's parameters know, and where a value goes. */
#ifndef GPUBIND_HOST_LAUNCH_OPTION_TABLE_H
#define GPUBIND_HOST_LAUNCH_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "host/launch/options.h"

/* A switch is a choice of two words that is kept as bool. */
enum kind {
    KIND_FLAG,
    KIND_WORD,
    KIND_SWITCH,
    KIND_NUMBER,
    KIND_TEXT,
    KIND_MASTERS,
    KIND_LAUNCHER,
    KIND_ACTION
};

/* What an option belongs to. */
enum group { PLACEMENT, PROGRAM, RUNNING, PLANNING, ACTIONS, GROUPS };

/* Its environment variable is GPUBIND_ and the name in capitals, with _ for -;
 * actions have none. */
struct row {
    enum group group;
    enum kind kind;
    char letter;
    const char *name, *argument, *help;
    const char *words; /* KIND_WORD, KIND_SWITCH: "a|b|c", the value is the position */
    size_t offset;     /* in struct options; int, bool or const char * */
    int low, high;     /* KIND_NUMBER; the value of KIND_ACTION is low */
};

#define OPTION_MAX 64
extern const struct row option_rows[];
extern const int option_nrows;

/* Whether the row means anything to what is done. */
bool option_is_for(const struct row *row, enum action action);

/* Whether the row is a setting of the plugin too. */
bool option_is_plugins(const struct row *row);

#endif
