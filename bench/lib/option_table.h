/* The table of options of all subcommands: what --help prints and what the parser
 * knows. */
#ifndef GPUBIND_BENCH_LIB_OPTION_TABLE_H
#define GPUBIND_BENCH_LIB_OPTION_TABLE_H

#include <stddef.h>

#include "bench/lib/options.h"

enum option_kind {
    OPTION_FLAG,
    OPTION_WORD, /* the value is the position in words */
    OPTION_NAME, /* one of words, kept as it is */
    OPTION_NUMBER,
    OPTION_SIZE,
    OPTION_SIZES,
    OPTION_MEASURES, /* some of words, with commas: bit 1 << position; all unless given */
    OPTION_TEXT,
    OPTION_ACTION
};

enum option_group { GROUP_WHAT, GROUP_HOW, GROUP_OUTPUT, GROUP_ACTIONS, GROUPS };

struct option_row {
    unsigned subcommands; /* the subcommands that take it: bit 1 << enum subcommand_id */
    enum option_group group;
    enum option_kind kind;
    char letter;
    const char *name, *argument;
    const char *preset; /* the value unless one is given; NULL: 0, or as help says */
    const char *help;
    const char *words; /* "a|b|c" */
    size_t offset;     /* in struct bench_options */
    int low, high;     /* OPTION_NUMBER; the value of OPTION_ACTION is low */
};

#define OPTION_TABLE_MAX 96
extern const struct option_row option_table[];
extern const int option_table_length;

static inline bool option_row_is_for(const struct option_row *row, enum subcommand_id subcommand)
{
    return row->subcommands >> subcommand & 1;
}

#endif
