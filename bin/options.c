#include "bin/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launch/option_parse.h"

static const char *get_variable(const void *context, const struct row *row, char *from,
                                size_t size)
{
    (void)context;
    option_variable(row, from, size);
    /* What an outer gpubind exported is not a setting. */
    if (strcmp(row->name, "nic") == 0 && getenv("GPUBIND_PLAN"))
        return NULL;
    return getenv(from);
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
    const struct row *planning = NULL, *other = NULL;
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
        /* Actions may come behind; one that fits neither speaks for all. */
        if (row->group == PLANNING && (!planning || option_is_for(planning, ACTION_LIST)))
            planning = row;
        else if (row->kind != KIND_ACTION && !option_is_for(row, ACTION_DOCTOR))
            other = row;
        if (row->kind == KIND_ACTION && options->action != ACTION_RUN &&
            (int)options->action != row->low)
            return error_set(err, "%s cannot be combined with another action", from);
        if (option_take(options, row, optarg, from, err) < 0)
            return -1;
        values[row - option_rows] = optarg ? optarg : "1";
    }
    if (planning && !option_is_for(planning, options->action) && options->action != ACTION_HELP)
        return error_set(err, "--%s goes with --plan%s only", planning->name,
                         option_is_for(planning, ACTION_LIST) ? ", --list and --doctor" : "");
    if (other && options->action == ACTION_DOCTOR)
        return error_set(err, "--%s does not go with --doctor", other->name);
    options->command = argv + optind;
    return 0;
}

static int check_command(const struct options *options, struct gpubind_error *err)
{
    const char *command = options->command[0];

    if (options->action == ACTION_RUN && !command)
        return error_set(err, "no command is given (gpubind --help shows how)");
    if (options->action != ACTION_RUN && command)
        return error_set(err, "'%s' is one word too many: no command is run here", command);
    return 0;
}

int options_read(int argc, char **argv, struct options *options, struct gpubind_error *err)
{
    const char *values[OPTION_MAX] = {NULL};

    options_default(options);
    options->prefs.ze = visible_ze_order(getenv("ZE_FLAT_DEVICE_HIERARCHY"),
                                         getenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER"));
    if (read_arguments(argc, argv, options, values, err) < 0)
        return -1;
    /* The environment is read after the options, which win. */
    if ((options->action == ACTION_RUN || options->action == ACTION_PLAN ||
         options->action == ACTION_LIST || options->action == ACTION_DOCTOR) &&
        options_take_rest(options, values, get_variable, NULL, NULL, err) < 0)
        return -1;
    options->rules_digest = options_digest(values, PLACEMENT);
    options->wishes_digest = options_digest(values, PROGRAM);
    if (check_command(options, err) < 0)
        return -1;
    return options_check(options, err);
}
