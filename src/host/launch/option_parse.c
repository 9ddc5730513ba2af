#include "host/launch/option_parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launch/launcher.h"

static void store(struct options *options, const struct row *row, int value)
{
    void *at = (char *)options + row->offset;

    if (row->kind == KIND_FLAG || row->kind == KIND_SWITCH)
        *(bool *)at = value;
    else
        *(int *)at = value;
}

static int read_number(const char *text, int low, int high, const char *from, int *number,
                       struct gpubind_error *err)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || value < low || value > high)
        return error_set(err, "%s: '%s' is not a number from %d to %d", from, text, low, high);
    *number = (int)value;
    return 0;
}

static int read_word(const struct row *row, const char *value, const char *from, int *number,
                     struct gpubind_error *err)
{
    size_t length = strlen(value);
    int position = 0;

    for (const char *word = row->words;; position++) {
        size_t size = strcspn(word, "|");

        if (size == length && memcmp(word, value, length) == 0) {
            *number = position;
            return 0;
        }
        if (!word[size])
            return error_set(err, "%s: '%s' is none of %s", from, value, row->words);
        word += size + 1;
    }
}

static int read_masters(const char *value, const char *from, struct rules *rules,
                        struct gpubind_error *err)
{
    char *copy = strdup(value), *rest = copy, *entry;
    int status = copy ? 0 : error_set(err, "out of memory");
    int masters[RULES_MAX_MASTERS], n = 0;

    while (status == 0 && strcmp(value, "none") != 0 && (entry = strsep(&rest, ","))) {
        if (n == RULES_MAX_MASTERS)
            status = error_set(err, "%s: more than %d masters", from, RULES_MAX_MASTERS);
        else
            status = read_number(entry, 0, INT_MAX, from, &masters[n++], err);
    }
    free(copy);
    if (status == 0) {
        memcpy(rules->masters, masters, (size_t)n * sizeof *masters);
        rules->nmasters = n;
    }
    return status;
}

int option_flag(const char *value, const char *from, int *number, struct gpubind_error *err)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};

    for (int i = 0; i < 8; i++)
        if (strcasecmp(value, words[i]) == 0) {
            *number = i % 2;
            return 0;
        }
    return error_set(err, "%s: '%s' is neither 1 nor 0", from, value);
}

int option_take(struct options *options, const struct row *row, const char *value,
                const char *from, struct gpubind_error *err)
{
    int number = 1, status = 0;

    switch (row->kind) {
    case KIND_ACTION:
        number = row->low;
        break;
    case KIND_FLAG:
        status = value ? option_flag(value, from, &number, err) : 0;
        break;
    case KIND_WORD:
    case KIND_SWITCH:
        status = read_word(row, value, from, &number, err);
        break;
    case KIND_NUMBER:
        status = read_number(value, row->low, row->high, from, &number, err);
        break;
    case KIND_MASTERS:
        return read_masters(value, from, &options->rules, err);
    case KIND_LAUNCHER:
        if (!launcher_known(value))
            return error_set(err, "%s: '%s' is no launcher that gpubind knows", from, value);
        /* fall through */
    case KIND_TEXT:
        if (!*value)
            return error_set(err, "%s: the value is empty", from);
        *(const char **)((char *)options + row->offset) = value;
        return 0;
    }
    if (status == 0)
        store(options, row, number);
    return status;
}

void options_default(struct options *options)
{
    memset(options, 0, sizeof *options);
    policy_default(&options->rules.policy);
    options->prefs.omp = true;
    options->launcher = "auto";
    options->timeout_s = 10;
}

static bool is_given(const char *const *values, const char *name)
{
    for (int i = 0; i < option_nrows; i++)
        if (strcmp(option_rows[i].name, name) == 0)
            return values[i] != NULL;
    return false;
}

/* What has been taken already would be contradicted, or this says nothing about
 * what is done. */
static bool is_beside_the_point(const struct options *options, const struct row *row,
                                const char *const *values)
{
    static const char *const pairs[][2] = {{"map", "policy"}, {"ranks", "ranks-file"}};

    if (row->kind == KIND_ACTION || is_given(values, row->name) ||
        !option_is_for(row, options->action))
        return true;
    for (int i = 0; i < 2; i++)
        if ((strcmp(row->name, pairs[i][0]) == 0 && is_given(values, pairs[i][1])) ||
            (strcmp(row->name, pairs[i][1]) == 0 && is_given(values, pairs[i][0])))
            return true;
    return false;
}

int options_take_rest(struct options *options, const char **values, option_getter *get,
                      const void *context, struct text *refused, struct gpubind_error *err)
{
    for (int i = 0; i < option_nrows; i++) {
        char from[64];
        const char *value;

        if (is_beside_the_point(options, &option_rows[i], values))
            continue;
        value = get(context, &option_rows[i], from, sizeof from);
        if (!value || !*value)
            continue;
        if (option_take(options, &option_rows[i], value, from, err) == 0)
            values[i] = value;
        else if (refused)
            text_add(refused, "%s; passed over\n", err->text);
        else
            return -1;
    }
    return 0;
}

void option_variable(const struct row *row, char *name, size_t size)
{
    size_t length = (size_t)snprintf(name, size, "GPUBIND_%s", row->name);

    for (size_t i = 8; i < length && i < size; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

/* FNV-1a (Fowler, Noll, Vo). */
static uint64_t mix(uint64_t digest, const char *text)
{
    do
        digest = (digest ^ (unsigned char)*text) * 0x100000001b3u;
    while (*text++);
    return digest;
}

uint64_t options_digest(const char *const *values, enum group last)
{
    uint64_t digest = 0;

    for (int i = 0; i < option_nrows; i++)
        if (values[i] && option_rows[i].group <= last)
            digest = mix(mix(digest, option_rows[i].name), values[i]);
    return digest;
}

bool option_is_off(const char *value)
{
    static const char *const off_words[] = {"off", "0", "no", "false"};

    for (int i = 0; value && i < 4; i++)
        if (strcasecmp(value, off_words[i]) == 0)
            return true;
    return false;
}

int options_check(const struct options *options, struct gpubind_error *err)
{
    if (options->ranks && options->ranks_file)
        return error_set(err, "--ranks and --ranks-file exclude each other");
    if (options->rules.map && options->rules.policy.gpus != POLICY_CLOSEST)
        return error_set(err, "--map and --policy exclude each other: a map is in the user's order");
    return 0;
}
