/* Reads the command line and the environment of gpubind; the text of --help. */
#include "bin/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *get_variable(const void *context, const struct option_row *row, char *from,
                                size_t size)
{
    (void)context;
    option_variable(row, from, size);
    /* What an outer gpubind exported is not a setting. */
    if (strcmp(row->name, "nic") == 0 && getenv("GPUBIND_PLAN"))
        return NULL;
    return getenv(from);
}

/* The rows whose values are variables'. */
static bool by_variable[OPTIONS_MAX];

/* Whether the sentence has --NAME as a word. */
static bool names_option(const char *sentence, const char *name)
{
    const size_t length = strlen(name);

    while ((sentence = strstr(sentence, "--"))) {
        sentence += 2;
        if (strncmp(sentence, name, length) == 0 && sentence[length] != '-' &&
            !isalpha((unsigned char)sentence[length]))
            return true;
    }
    return false;
}

void options_name_variables(const char *sentence, struct text *text)
{
    const char *before = " (";

    for (int i = 0; i < option_table.nrows; i++) {
        const struct option_row *row = &option_table.rows[i];
        char variable[64];

        if (!by_variable[i] || !names_option(sentence, row->name))
            continue;
        option_variable(row, variable, sizeof variable);
        text_add(text, "%s--%s is from %s", before, row->name, variable);
        before = ", ";
    }
    text_add(text, "%s", *before == ',' ? ")" : "");
}

/* The state while the command line is read. */
struct arguments {
    struct options *options;
    const char **values;
    const struct option_row *planning; /* see take */
    bool taking;                       /* what take was given last has not been taken */
};

static int take(void *context, const struct option_row *row, const char *value,
                struct gpubind_error *err)
{
    struct arguments *arguments = context;
    struct options *options = arguments->options;
    char from[64];

    arguments->taking = true;
    snprintf(from, sizeof from, "--%s", row->name);
    /* Checked at the end, when the action is known. Of options for --plan, one that goes with
     * no other action is reported first. */
    if (row->group == PLANNING &&
        (!arguments->planning || option_is_for(arguments->planning, ACTION_LIST)))
        arguments->planning = row;
    if (row->kind == OPTION_ACTION && options->action != ACTION_RUN &&
        (int)options->action != row->low)
        return error_set(err, "%s cannot be combined with another action", from);
    if (option_set(row, value, from, options, err) < 0)
        return -1;
    arguments->values[row - option_table.rows] = value ? value : "1";
    arguments->taking = false;
    return 0;
}

/* An option that the action would ignore. Where it belongs is said, too. */
static int refuse(const struct option_row *row, const char *value, enum action action,
                  struct gpubind_error *err)
{
    const char *before = !row->argument ? "" : row->bare ? "=" : " ";

    switch (action) {
    case ACTION_CHECK:
        return error_set(err,
                         "--%s does not go with --check: it belongs to the gpubind before it, "
                         "mpirun ... gpubind --%s%s%s gpubind --check",
                         row->name, row->name, before, row->argument ? value : "");
    case ACTION_LIST:
        return error_set(err, "--%s does not go with --list, which places no ranks; --plan does",
                         row->name);
    default:
        return error_set(err, "--%s does not go with --doctor", row->name);
    }
}

/* Of what was given on the command line; variables are for all that gpubind does. */
static int check_given(const struct options *options, const char *const *values,
                       struct gpubind_error *err)
{
    for (int i = 0; i < option_table.nrows; i++) {
        const struct option_row *row = &option_table.rows[i];

        if (values[i] && row->group != PLANNING && !option_is_for(row, options->action))
            return refuse(row, values[i], options->action, err);
    }
    return 0;
}

/* After an option that is not known: the number of ranks, which is the launcher's, stands behind gpubind. Of a
 * word of several letters, getopt leaves the first that it does not know in optopt, and has not gone past it. */
static void explain_launchers(char *const *argv, bool plans, struct gpubind_error *err)
{
    static const char *const names[] = {"-np", "-n", "--np", "--n"};
    const bool inside = optopt == 'n' && argv[optind] && strcmp(argv[optind], names[0]) == 0;
    char *const *word = &argv[inside ? optind : optind - 1];

    for (int i = 0; i < 4; i++)
        if (plans && strcmp(*word, names[i]) == 0)
            error_set(err, "%s is an option of mpirun; with --plan it is --ranks %s", *word,
                      word[1] ? word[1] : "N");
        else if (strcmp(*word, names[i]) == 0)
            error_set(err, "%s is an option of mpirun: mpirun %s %s gpubind ./app", *word, *word,
                      word[1] ? word[1] : "N");
}

static int read_arguments(int argc, char **argv, struct options *options, const char **values,
                          struct gpubind_error *err)
{
    struct arguments arguments = {options, values, NULL, false};
    const struct option_row *planning;
    int end = options_read_arguments(&option_table, ~0u, argc, argv, "gpubind --help", take,
                                     &arguments, err);

    if (end < 0 && !arguments.taking)
        explain_launchers(argv, options->action == ACTION_PLAN, err);
    if (end < 0)
        return -1;
    planning = arguments.planning;
    if (planning && !option_is_for(planning, options->action) && options->action != ACTION_HELP)
        return error_set(err, "--%s goes with --plan%s only", planning->name,
                         option_is_for(planning, ACTION_LIST) ? ", --list and --doctor" : "");
    if (check_given(options, values, err) < 0)
        return -1;
    options->command = argv + end;
    return 0;
}

/* That none is given to run is said where it is known whether a launcher started this. */
static int check_command(const struct options *options, struct gpubind_error *err)
{
    const char *command = options->command[0];

    if (options->action != ACTION_RUN && command)
        return error_set(err, "'%s' is one word too many: no command is run here", command);
    return 0;
}

int options_read(int argc, char **argv, struct options *options, struct gpubind_error *err)
{
    const char *values[OPTIONS_MAX] = {NULL}, *given[OPTIONS_MAX];

    options_default(options);
    options->prefs.ze = visible_ze_order(getenv("ZE_FLAT_DEVICE_HIERARCHY"),
                                         getenv("ZE_ENABLE_PCI_ID_DEVICE_ORDER"));
    if (read_arguments(argc, argv, options, values, err) < 0)
        return -1;
    memcpy(given, values, sizeof given);
    /* The environment is read after the options, which win. */
    if ((options->action == ACTION_RUN || options->action == ACTION_PLAN ||
         options->action == ACTION_LIST || options->action == ACTION_DOCTOR) &&
        options_take_rest(options, values, get_variable, NULL, NULL, err) < 0)
        return -1;
    for (int i = 0; i < option_table.nrows; i++)
        by_variable[i] = values[i] && !given[i];
    options->rules_digest = options_digest(values, PLACEMENT);
    options_say(values, PLACEMENT, options->rules_given, sizeof options->rules_given);
    options->settings_digest = options_digest(values, PROGRAM);
    options->timeout_given = options_given(values, "timeout");
    if (check_command(options, err) < 0)
        return -1;
    return options_check(options, err);
}

void options_help(struct text *text)
{
    text_add(text, "Usage: gpubind [OPTION...] [--] COMMAND [ARG...]\n"
                   "       gpubind --plan [OPTION...]\n"
                   "       gpubind --list [--topology FILE] [--json]\n"
                   "       gpubind --doctor [--json]\n"
                   "Give every MPI rank the right GPU, then run COMMAND as that rank:\n"
                   "       mpirun -np 8 gpubind ./app\n");
    options_describe(&option_table, ~0u, text);
    text_add(text,
             "\nEvery option but the last seven is also an environment variable: GPUBIND_ and "
             "its\nname in capitals with _ for -, as in GPUBIND_OVERFLOW=idle; flags take 1 "
             "or 0.\nAn option wins over the environment. See gpubind(1) and gpubind(7).\n");
}
