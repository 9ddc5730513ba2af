#include "bin/option_rows.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launcher.h"

static void store(struct options *options, const struct row *row, int value)
{
    void *at = (char *)options + row->offset;

    if (row->kind == KIND_FLAG || row->kind == KIND_SWITCH)
        *(bool *)at = value;
    else
        *(int *)at = value;
}

/* Where a value came from, for sentences: "--map" or "GPUBIND_MAP". */
typedef const char *source;

static int read_number(const char *text, int low, int high, source from, int *number,
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

static int read_word(const struct row *row, const char *value, source from, int *number,
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

static int read_masters(const char *value, source from, struct rules *rules,
                        struct gpubind_error *err)
{
    char *copy = strdup(value), *rest = copy, *entry;
    int status = copy ? 0 : error_set(err, "out of memory");

    rules->nmasters = 0;
    while (status == 0 && strcmp(value, "none") != 0 && (entry = strsep(&rest, ","))) {
        if (rules->nmasters == RULES_MAX_MASTERS)
            status = error_set(err, "%s: more than %d masters", from, RULES_MAX_MASTERS);
        else
            status = read_number(entry, 0, INT_MAX, from, &rules->masters[rules->nmasters++], err);
    }
    free(copy);
    return status;
}

static int read_flag(const char *value, source from, int *number, struct gpubind_error *err)
{
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on"};

    for (int i = 0; i < 8; i++)
        if (strcasecmp(value, words[i]) == 0) {
            *number = i % 2;
            return 0;
        }
    return error_set(err, "%s: '%s' is neither 1 nor 0", from, value);
}

/* Takes one value; NULL for an option without argument. */
static int take(struct options *options, const struct row *row, const char *value, source from,
                struct gpubind_error *err)
{
    int number = 1, status = 0;

    switch (row->kind) {
    case KIND_ACTION:
        number = row->low;
        break;
    case KIND_FLAG:
        status = value ? read_flag(value, from, &number, err) : 0;
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

static void variable_name(const struct row *row, char *name, size_t size)
{
    size_t length = (size_t)snprintf(name, size, "GPUBIND_%s", row->name);

    for (size_t i = 8; i < length && i < size; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
}

static void add_digest(struct options *options, const struct row *row, const char *value)
{
    /* FNV-1a over name and value. */
    for (const char *c = row->name; *c; c++)
        options->rules_digest = (options->rules_digest ^ (unsigned char)*c) * 0x100000001b3u;
    for (const char *c = value ? value : "1"; *c; c++)
        options->rules_digest = (options->rules_digest ^ (unsigned char)*c) * 0x100000001b3u;
}

static bool is_given(const char *const *values, const char *name)
{
    for (int i = 0; i < option_nrows; i++)
        if (strcmp(option_rows[i].name, name) == 0)
            return values[i] != NULL;
    return false;
}

/* An option is there already that this variable would contradict, or it says
 * nothing about what is done. */
static bool is_beside_the_point(const struct options *options, const struct row *row,
                                const char *const *values)
{
    static const char *const pairs[][2] = {{"map", "policy"}, {"ranks", "ranks-file"}};

    if (row->kind == KIND_ACTION || is_given(values, row->name) ||
        (row->group == PLANNING && options->action != ACTION_PLAN))
        return true;
    for (int i = 0; i < 2; i++)
        if ((strcmp(row->name, pairs[i][0]) == 0 && is_given(values, pairs[i][1])) ||
            (strcmp(row->name, pairs[i][1]) == 0 && is_given(values, pairs[i][0])))
            return true;
    /* What an outer gpubind exported is not a setting. */
    return strcmp(row->name, "nic") == 0 && getenv("GPUBIND_PLAN");
}

/* Read after the options, which win. */
static int read_environment(struct options *options, const char **values,
                            struct gpubind_error *err)
{
    if (options->action != ACTION_RUN && options->action != ACTION_PLAN)
        return 0;

    for (int i = 0; i < option_nrows; i++) {
        char name[64];
        const char *value;

        variable_name(&option_rows[i], name, sizeof name);
        value = is_beside_the_point(options, &option_rows[i], values) ? NULL : getenv(name);
        if (!value || !*value)
            continue;
        if (take(options, &option_rows[i], value, name, err) < 0)
            return -1;
        values[i] = value;
    }
    return 0;
}

static int usage_error(int code, char **argv, const struct option *longs,
                       struct gpubind_error *err)
{
    const char *word = argv[optind - 1];

    if (code == ':' && optopt > 0 && optopt < 256)
        return error_set(err, "option '-%c' needs a value", optopt);
    if (code == ':')
        return error_set(err, "option '%s' needs a value", word);
    for (; longs->name; longs++)
        if (strncmp(word, "--", 2) == 0 && strchr(word, '=') && longs->has_arg == no_argument &&
            strncmp(word + 2, longs->name, strlen(longs->name)) == 0)
            return error_set(err, "option '--%s' takes no value", longs->name);
    if (optopt > 0 && optopt < 256 && isprint(optopt))
        return error_set(err, "unknown option '-%c' (gpubind --help lists them)", optopt);
    return error_set(err, "unknown option '%s' (gpubind --help lists them)", word);
}

/* Long options carry 256 + the row, letters themselves. */
static const struct row *find_row(int code)
{
    if (code >= 256)
        return &option_rows[code - 256];
    for (int i = 0; i < option_nrows; i++)
        if (option_rows[i].letter == code)
            return &option_rows[i];
    return NULL;
}

static int read_arguments(int argc, char **argv, struct options *options, const char **values,
                          struct gpubind_error *err)
{
    struct option longs[OPTION_MAX + 1];
    char letters[OPTION_MAX + 3] = "+:";
    const char *only_plan = NULL;
    int code;

    memset(longs, 0, sizeof longs);
    for (int i = 0; i < option_nrows; i++) {
        longs[i] = (struct option){option_rows[i].name,
                                   option_rows[i].argument ? required_argument : no_argument, NULL,
                                   256 + i};
        if (option_rows[i].letter)
            letters[strlen(letters)] = option_rows[i].letter;
    }
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const struct row *row = code == '?' || code == ':' ? NULL : find_row(code);
        char from[64];

        if (!row)
            return usage_error(code, argv, longs, err);
        snprintf(from, sizeof from, "--%s", row->name);
        if (row->group == PLANNING)
            only_plan = row->name;
        if (row->kind == KIND_ACTION && options->action != ACTION_RUN &&
            (int)options->action != row->low)
            return error_set(err, "%s cannot be combined with another action", from);
        if (take(options, row, optarg, from, err) < 0)
            return -1;
        values[row - option_rows] = optarg ? optarg : "1";
    }
    if (only_plan && options->action != ACTION_PLAN && options->action != ACTION_HELP)
        return error_set(err, "--%s goes with --plan only", only_plan);
    options->command = argv + optind;
    return 0;
}

static int check_options(const struct options *options, struct gpubind_error *err)
{
    const char *command = options->command[0];

    if (options->action == ACTION_RUN && !command)
        return error_set(err, "no command is given (gpubind --help shows how)");
    if (options->action != ACTION_RUN && command)
        return error_set(err, "'%s' is one word too many: no command is run here", command);
    if (options->ranks && options->ranks_file)
        return error_set(err, "--ranks and --ranks-file exclude each other");
    if (options->rules.map && options->rules.policy.gpus != POLICY_CLOSEST)
        return error_set(err, "--map and --policy exclude each other: a map is in the user's order");
    return 0;
}

int options_read(int argc, char **argv, struct options *options, struct gpubind_error *err)
{
    const char *values[OPTION_MAX] = {NULL};

    memset(options, 0, sizeof *options);
    policy_default(&options->rules.policy);
    options->prefs.omp = true;
    options->launcher = "auto";
    options->timeout_s = 10;
    if (read_arguments(argc, argv, options, values, err) < 0 ||
        read_environment(options, values, err) < 0)
        return -1;
    for (int i = 0; i < option_nrows; i++)
        if (values[i] && option_rows[i].group == PLACEMENT)
            add_digest(options, &option_rows[i], values[i]);
    return check_options(options, err);
}
