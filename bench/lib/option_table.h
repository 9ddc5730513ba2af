/* The table of options of all subcommands: what --help prints and what the parser
 * knows. */
#ifndef GPUBIND_BENCH_LIB_OPTION_TABLE_H
#define GPUBIND_BENCH_LIB_OPTION_TABLE_H

#include <stddef.h>

#include "bench/lib/options.h"

enum bench_kind {
    BENCH_FLAG,
    BENCH_WORD, /* the value is the position in words */
    BENCH_NAME, /* one of words, kept as it is */
    BENCH_NUMBER,
    BENCH_SIZE,
    BENCH_SIZES,
    BENCH_MEASURES, /* some of words, with commas: bit 1 << position; all unless given */
    BENCH_TEXT,
    BENCH_ACTION
};

enum bench_group { BENCH_WHAT, BENCH_HOW, BENCH_OUTPUT, BENCH_ACTIONS, BENCH_GROUPS };

struct bench_row {
    unsigned modes; /* the subcommands that take it: bit 1 << enum bench_mode_name */
    enum bench_group group;
    enum bench_kind kind;
    char letter;
    const char *name, *argument;
    const char *preset; /* the value unless one is given; NULL: 0, or as help says */
    const char *help;
    const char *words; /* "a|b|c" */
    size_t offset;     /* in struct bench_options */
    int low, high;     /* BENCH_NUMBER; the value of BENCH_ACTION is low */
};

#define BENCH_MAX_ROWS 96
extern const struct bench_row bench_rows[];
extern const int bench_nrows;

static inline bool bench_row_is_for(const struct bench_row *row, enum bench_mode_name mode)
{
    return row->modes >> mode & 1;
}

#endif
