/* The options of a program by one table, which the command line, the environment, presets
 * and --help read. */
#ifndef GPUBIND_CORE_BASE_OPTIONS_H
#define GPUBIND_CORE_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"
#include "core/base/text.h"

enum option_kind {
    OPTION_FLAG,   /* bool; a value, as the environment has one, is "1", "no" or the like */
    OPTION_WORD,   /* int: the position of the value in the words "a|b|c" */
    OPTION_SWITCH, /* bool: the same of two words */
    OPTION_NAME,   /* const char *: one of the words */
    OPTION_NUMBER, /* int, from low to high */
    OPTION_TEXT,   /* const char *, not empty */
    OPTION_ACTION, /* int, becomes low; no value */
    OPTION_READ    /* by a function */
};

struct option_row;

/* Reads one value; FROM is where it came from, for sentences: "--map", "GPUBIND_MAP". */
typedef int option_reader(const struct option_row *row, const char *value, const char *from,
                          void *options, struct gpubind_error *err);

struct option_row {
    unsigned modes; /* what it goes with: bits of the program's own */
    int group;      /* of --help */
    enum option_kind kind;
    char letter;                 /* or 0 */
    const char *name, *argument; /* argument: NULL without one; the words, unless words is set */
    const char *preset;          /* the value unless one is given, and shown by --help; or NULL */
    const char *help;
    size_t offset; /* of what is set in the structure of options */
    int low, high;
    option_reader *read;
    const char *words;
    const char *bare; /* the value of --NAME alone; another value then stands behind a =, or NULL */
    void (*add_names)(struct text *text); /* what --help has in place of NAMES in help */
};

struct option_table {
    const struct option_row *rows;
    int nrows;
    const char *const *groups; /* titles */
    int ngroups;
};

#define OPTIONS_MAX 96 /* rows of a table */

/* Position of the first LENGTH characters of WORD in "a|b|c"; -1: it is none of them. */
int option_find_word(const char *words, const char *word, size_t length);

/* Sets what ROW stands for in OPTIONS. VALUE is NULL for an option without one. Texts are
 * pointed to, not copied. A failure leaves OPTIONS as they were. */
int option_set(const struct option_row *row, const char *value, const char *from, void *options,
               struct gpubind_error *err);

/* Sets the presets of the rows for any of MODES. */
int options_set_presets(const struct option_table *table, unsigned modes, void *options,
                        struct gpubind_error *err);

/* Calls TAKE for each option of argv that is in a row for any of MODES, until one fails or
 * there is a word that is none. Returns that word's position, or -1. HELP is the command that
 * lists the options. Uses getopt_long and its variables. */
int options_read_arguments(const struct option_table *table, unsigned modes, int argc, char **argv,
                           const char *help,
                           int (*take)(void *context, const struct option_row *row,
                                       const char *value, struct gpubind_error *err),
                           void *context, struct gpubind_error *err);

/* The rows for any of MODES by groups, as --help shows them. */
void options_describe(const struct option_table *table, unsigned modes, struct text *text);

#endif
