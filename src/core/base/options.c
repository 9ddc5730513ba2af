/* Options by a table: values, the command line, the text of --help. */
#include "core/base/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/similar.h"

int option_find_word(const char *words, const char *word, size_t length)
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

/* Reads the value of an int or bool. */
static int read_int(const struct option_row *row, const char *value, const char *from, int *number,
                    struct gpubind_error *err)
{
    const char *words = row->words ? row->words : row->argument;

    switch (row->kind) {
    case OPTION_FLAG:
        *number = 1;
        return value ? switch_parse(value, from, number, err) : 0;
    case OPTION_ACTION:
        *number = row->low;
        return 0;
    case OPTION_NUMBER:
        return number_parse(value, row->low, row->high, from, number, err);
    default:
        *number = option_find_word(words, value, strlen(value));
        return *number < 0 ? error_set(err, "%s: '%s' is none of %s", from, value, words) : 0;
    }
}

int option_set(const struct option_row *row, const char *value, const char *from, void *options,
               struct gpubind_error *err)
{
    void *at = (char *)options + row->offset;
    int number;

    if (row->kind == OPTION_READ)
        return row->read(row, value, from, options, err);
    if (row->kind == OPTION_TEXT && !*value)
        return error_set(err, "%s: the value is empty", from);
    if (row->kind != OPTION_TEXT && read_int(row, value, from, &number, err) < 0)
        return -1;
    if (row->kind == OPTION_TEXT || row->kind == OPTION_NAME)
        *(const char **)at = value;
    else if (row->kind == OPTION_FLAG || row->kind == OPTION_SWITCH)
        *(bool *)at = number;
    else
        *(int *)at = number;
    return 0;
}

int options_set_presets(const struct option_table *table, unsigned modes, void *options,
                        struct gpubind_error *err)
{
    for (const struct option_row *row = table->rows; row < table->rows + table->nrows; row++)
        if (row->modes & modes && row->preset &&
            option_set(row, row->preset, row->name, options, err) < 0)
            return -1;
    return 0;
}

/* The long option that the word, "--NAME" or "--NAME=VALUE", is likely to mean; NULL: none is like it. */
static const char *most_similar(const char *word, const struct option *longs)
{
    const int length = (int)strcspn(word, "=") - 2;
    char name[SIMILAR_LONGEST + 1];
    struct similar similar = {.word = name, .least = length / 3 + 1};

    if (strncmp(word, "--", 2) != 0 || length < 1 || length > SIMILAR_LONGEST)
        return NULL;
    text_copy(name, (size_t)length + 1, word + 2);
    for (; longs->name; longs++)
        similar_try(&similar, longs->name);
    return similar.best;
}

static int usage_error(int code, const char *word, const struct option *longs, const char *help,
                       struct gpubind_error *err)
{
    const char *similar = most_similar(word, longs);

    if (code == ':')
        return error_set(err, "option '%s' needs a value", word);
    for (; longs->name; longs++)
        if (strncmp(word, "--", 2) == 0 && strchr(word, '=') && longs->has_arg == no_argument &&
            strncmp(word + 2, longs->name, strlen(longs->name)) == 0)
            return error_set(err, "option '--%s' takes no value", longs->name);
    if (optopt > 0 && optopt < 256 && isprint(optopt))
        return error_set(err, "unknown option '-%c' (%s lists them)", optopt, help);
    if (similar)
        return error_set(err, "unknown option '%s'; the nearest is --%s (%s lists them)", word,
                         similar, help);
    return error_set(err, "unknown option '%s' (%s lists them)", word, help);
}

/* What getopt_long returns for a row: 256 + its position, and for its letter the letter. */
static const struct option_row *find_row(const struct option_table *table, unsigned modes, int code)
{
    if (code >= 256)
        return &table->rows[code - 256];
    for (const struct option_row *row = table->rows; row < table->rows + table->nrows; row++)
        if (row->modes & modes && row->letter == code)
            return row;
    return NULL;
}

/* The rows as getopt_long takes them; all is zero beforehand. */
static void make_tables(const struct option_table *table, unsigned modes, struct option *longs,
                        char *letters)
{
    *letters++ = '+';
    *letters++ = ':';
    for (int i = 0; i < table->nrows; i++) {
        const struct option_row *row = &table->rows[i];

        if (!(row->modes & modes))
            continue;
        *longs++ = (struct option){row->name,
                                   row->bare       ? optional_argument
                                   : row->argument ? required_argument
                                                   : no_argument,
                                   NULL, 256 + i};
        if (row->letter)
            *letters++ = row->letter;
        if (row->letter && row->argument)
            *letters++ = ':';
    }
}

int options_read_arguments(const struct option_table *table, unsigned modes, int argc, char **argv,
                           const char *help,
                           int (*take)(void *context, const struct option_row *row,
                                       const char *value, struct gpubind_error *err),
                           void *context, struct gpubind_error *err)
{
    struct option longs[OPTIONS_MAX + 1] = {{0}};
    char letters[2 * OPTIONS_MAX + 3] = "";
    const struct option_row *row;
    int code;

    make_tables(table, modes, longs, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        if (code == '?' || code == ':')
            return usage_error(code, argv[optind - 1], longs, help, err);
        row = find_row(table, modes, code);
        if (take(context, row, optarg ? optarg : row->bare, err) < 0)
            return -1;
    }
    return optind;
}

static void describe(const struct option_row *row, struct text *text)
{
    const char *names = row->add_names ? strstr(row->help, "NAMES") : NULL;
    char letter[] = "-x, ";
    struct text help = {0};

    letter[1] = row->letter;
    text_add(text, "  %s--%s", row->letter ? letter : "    ", row->name);
    if (row->argument)
        text_add(text, row->bare ? "[=%s]" : " %s", row->argument);
    text_add(text, "\n");
    if (names) {
        text_add(&help, "%.*s", (int)(names - row->help), row->help);
        row->add_names(&help);
    }
    text_add(&help, "%s", names ? names + strlen("NAMES") : row->help);
    if (row->preset)
        text_add(&help, " (%s)", row->preset);
    text_add_wrapped(text, help.bytes ? help.bytes : "", 10);
    text->failed |= help.failed;
    text_clear(&help);
}

void options_describe(const struct option_table *table, unsigned modes, struct text *text)
{
    for (int group = 0; group < table->ngroups; group++) {
        bool empty = true;

        for (int i = 0; i < table->nrows; i++) {
            const struct option_row *row = &table->rows[i];

            if (row->group != group || !(row->modes & modes))
                continue;
            if (empty)
                text_add(text, "\n%s:\n", table->groups[group]);
            empty = false;
            describe(row, text);
        }
    }
}
