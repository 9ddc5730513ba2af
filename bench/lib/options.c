#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/option_table.h"

static int read_number(const struct option_row *row, const char *text, int *number,
                       struct gpubind_error *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < row->low || value > row->high)
        return error_set(err, "--%s: '%s' is not a number from %d to %d", row->name, text,
                         row->low, row->high);
    *number = (int)value;
    return 0;
}

int bench_size_read(const char *text, size_t length, const char *from, size_t *nbytes,
                    struct gpubind_error *err)
{
    static const char suffixes[] = "KMG";
    const char *suffix;
    size_t at = 0, value = 0;

    for (; at < length && isdigit((unsigned char)text[at]) && value < SIZE_MAX / 100; at++)
        value = value * 10 + (size_t)(text[at] - '0');
    suffix = at > 0 && at + 1 == length ? strchr(suffixes, toupper((unsigned char)text[at])) : NULL;
    if (suffix && value <= SIZE_MAX >> 30) {
        value <<= 10 * (suffix - suffixes + 1);
        at++;
    }
    if (at < length || !value)
        return error_set(err, "--%s: '%.*s' is no size, as 8, 64K, 256M or 1G is", from,
                         (int)length, text);
    *nbytes = value;
    return 0;
}

static int add_size(struct bench_options *options, size_t nbytes, const char *from,
                    struct gpubind_error *err)
{
    if (nbytes > BENCH_MAX_SIZE)
        return error_set(err, "--%s: %zu bytes are more than 1G", from, nbytes);
    if (options->nsizes == BENCH_MAX_SIZES)
        return error_set(err, "--%s: more than %d sizes", from, BENCH_MAX_SIZES);
    options->sizes[options->nsizes++] = nbytes;
    return 0;
}

/* SIZE or SIZE-SIZE, of length characters. */
static int read_range(const char *text, size_t length, const char *from,
                      struct bench_options *options, struct gpubind_error *err)
{
    const char *dash = memchr(text, '-', length);
    size_t low, high, first = dash ? (size_t)(dash - text) : length;

    if (bench_size_read(text, first, from, &low, err) < 0)
        return -1;
    high = low;
    if (dash && bench_size_read(dash + 1, length - first - 1, from, &high, err) < 0)
        return -1;
    if (high < low)
        return error_set(err, "--%s: '%.*s' goes down", from, (int)length, text);
    for (; low <= high; low *= 2)
        if (add_size(options, low, from, err) < 0)
            return -1;
    return 0;
}

static int read_sizes(const char *text, const char *from, struct bench_options *options,
                      struct gpubind_error *err)
{
    options->nsizes = 0;
    for (;;) {
        size_t length = strcspn(text, ",");

        if (read_range(text, length, from, options, err) < 0)
            return -1;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* The position of the word in "a|b|c", or -1. */
static int find_word(const char *words, const char *word, size_t length)
{
    for (int position = 0;; position++) {
        size_t size = strcspn(words, "|");

        if (size == length && memcmp(words, word, length) == 0)
            return position;
        if (!words[size])
            return -1;
        words += size + 1;
    }
}

/* A bit for each. */
static unsigned all_words(const char *words)
{
    unsigned all = 1;

    for (; (words = strchr(words, '|')) != NULL; words++)
        all = all << 1 | 1;
    return all;
}

static int no_such_word(const struct option_row *row, const char *word, size_t length,
                        struct gpubind_error *err)
{
    return error_set(err, "--%s: '%.*s' is none of %s", row->name, (int)length, word, row->words);
}

static int read_measures(const struct option_row *row, const char *text, unsigned *measures,
                         struct gpubind_error *err)
{
    *measures = 0;
    for (;;) {
        size_t length = strcspn(text, ",");
        int position = find_word(row->words, text, length);

        if (position < 0)
            return no_such_word(row, text, length, err);
        *measures |= 1u << position;
        if (!text[length])
            return 0;
        text += length + 1;
    }
}

/* Takes one value; NULL for an option without argument. */
static int take(struct bench_options *options, const struct option_row *row, const char *value,
                struct gpubind_error *err)
{
    void *at = (char *)options + row->offset;
    int position;

    if (value && !*value)
        return error_set(err, "--%s: the value is empty", row->name);
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case OPTION_ACTION:
        *(int *)at = row->low;
        return 0;
    case OPTION_NUMBER:
        return read_number(row, value, at, err);
    case OPTION_SIZE:
        return bench_size_read(value, strlen(value), row->name, at, err);
    case OPTION_SIZES:
        return read_sizes(value, row->name, options, err);
    case OPTION_MEASURES:
        return read_measures(row, value, at, err);
    case OPTION_WORD:
    case OPTION_NAME:
        position = find_word(row->words, value, strlen(value));
        if (position < 0)
            return no_such_word(row, value, strlen(value), err);
        if (row->kind == OPTION_WORD)
            *(int *)at = position;
        else
            *(const char **)at = value;
        return 0;
    case OPTION_TEXT:
        *(const char **)at = value;
        return 0;
    }
    return 0;
}

static int usage_error(int code, const char *subcommand, const char *word,
                       const struct option *longs, struct gpubind_error *err)
{
    if (code == ':')
        return error_set(err, "option '%s' needs a value", word);
    for (; longs->name; longs++)
        if (strncmp(word, "--", 2) == 0 && strchr(word, '=') && longs->has_arg == no_argument &&
            strncmp(word + 2, longs->name, strlen(longs->name)) == 0)
            return error_set(err, "option '--%s' takes no value", longs->name);
    if (optopt > 0 && optopt < 256 && isprint(optopt))
        return error_set(err, "unknown option '-%c' (gpubind-bench %s --help lists them)", optopt,
                         subcommand);
    return error_set(err, "unknown option '%s' (gpubind-bench %s --help lists them)", word,
                     subcommand);
}

/* Long options carry 256 + the row, letters themselves. */
static const struct option_row *find_row(enum subcommand_id subcommand, int code)
{
    if (code >= 256)
        return &option_table[code - 256];
    for (int i = 0; i < option_table_length; i++)
        if (option_row_is_for(&option_table[i], subcommand) && option_table[i].letter == code)
            return &option_table[i];
    return NULL;
}

/* The mode's rows as getopt takes them. */
static void make_tables(enum subcommand_id subcommand, struct option *longs, char *letters)
{
    for (int i = 0; i < option_table_length; i++) {
        const struct option_row *row = &option_table[i];

        if (!option_row_is_for(row, subcommand))
            continue;
        *longs++ = (struct option){row->name, row->argument ? required_argument : no_argument,
                                   NULL, 256 + i};
        if (row->letter)
            letters[strlen(letters)] = row->letter;
    }
}

static int read_arguments(int argc, char **argv, struct bench_options *options,
                          struct gpubind_error *err)
{
    struct option longs[OPTION_TABLE_MAX + 1];
    char letters[OPTION_TABLE_MAX + 3] = "+:";
    int code;

    memset(longs, 0, sizeof longs);
    make_tables(options->subcommand, longs, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct option_row *row =
            code == '?' || code == ':' ? NULL : find_row(options->subcommand, code);

        if (!row)
            return usage_error(code, argv[0], argv[optind - 1], longs, err);
        if (take(options, row, optarg, err) < 0)
            return -1;
    }
    if (optind < argc)
        return error_set(err, "'%s' is one word too many", argv[optind]);
    return 0;
}

static int check_options(const struct bench_options *options, struct gpubind_error *err)
{
    if (options->csv && options->json)
        return error_set(err, "--csv and --json exclude each other");
    if (options->path && options->api == API_MPI && !options->compare)
        return error_set(err, "--path goes with the calls of gpubind.h, not with --api mpi");
    if (options->ceiling == CEILING_PEER && options->buffers != BUFFERS_DD)
        return error_set(err, "--ceiling peer goes with --buffers dd: the copy is from GPU to GPU");
    if (options->ceiling == CEILING_STAGED && options->buffers == BUFFERS_HH)
        return error_set(err, "--ceiling staged needs a GPU: --buffers hh has none");
    return 0;
}

int bench_options_default(enum subcommand_id subcommand, struct bench_options *options,
                          struct gpubind_error *err)
{
    memset(options, 0, sizeof *options);
    options->subcommand = subcommand;
    for (int i = 0; i < option_table_length; i++) {
        const struct option_row *row = &option_table[i];

        if (!option_row_is_for(row, options->subcommand))
            continue;
        if (row->preset && take(options, row, row->preset, err) < 0)
            return -1;
        if (row->kind == OPTION_MEASURES)
            *(unsigned *)(void *)((char *)options + row->offset) = all_words(row->words);
    }
    return 0;
}

int bench_options_read(enum subcommand_id subcommand, int argc, char **argv,
                       struct bench_options *options, struct gpubind_error *err)
{
    if (bench_options_default(subcommand, options, err) < 0 ||
        read_arguments(argc, argv, options, err) < 0)
        return -1;
    return check_options(options, err);
}

const char *bench_buffers_word(int buffers)
{
    static const char *const words[] = {"dd", "dh", "hd", "hh"};

    return words[buffers];
}
