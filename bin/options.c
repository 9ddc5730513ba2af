#include "bin/options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"
#include "host/launcher.h"

enum kind { KIND_FLAG, KIND_WORD, KIND_NUMBER, KIND_TEXT, KIND_MASTERS, KIND_LAUNCHER, KIND_ACTION };

/* What an option belongs to. */
enum group { PLACEMENT, PROGRAM, RUNNING, PLANNING, ACTIONS, GROUPS };

static const char *const group_titles[GROUPS] = {
    "Placement (all ranks of a node must agree on these)", "What the program sees",
    "Running", "Planning (with --plan)", "Instead of running a command"};

/* One option: its row is what --help prints, what the parser knows, where the
 * value goes, and how its environment variable is called (GPUBIND_ and the name
 * in capitals; actions have none). */
struct row {
    enum group group;
    enum kind kind;
    char letter;
    const char *name, *argument, *help;
    const char *words; /* KIND_WORD: "a|b|c", the value is the position */
    size_t offset;     /* in struct options; int, bool or const char * */
    int low, high;     /* KIND_NUMBER; the value of KIND_ACTION is low */
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
    {PLACEMENT, KIND_MASTERS, 0, "master", "RANK[,RANK...]|none",
     "ranks that take no GPU; it goes to the next rank of their node (none)", NULL, 0, 0, 0},
    {PLACEMENT, KIND_WORD, 0, "overflow", "share|idle|error",
     "more ranks than GPUs: share them, leave the last ranks idle, or refuse (share)",
     "share|idle|error", AT(rules.policy.overflow), 0, 0},
    {PLACEMENT, KIND_NUMBER, 0, "gpus-per-rank", "N",
     "give every rank a set of N GPUs that are close to each other (1)", NULL,
     AT(rules.policy.gpus_per_rank), 1, NODE_MAX_GPUS},
    {PLACEMENT, KIND_NUMBER, 0, "ranks-per-gpu", "N",
     "let at most N ranks share a GPU (no limit with --overflow share, else 1)", NULL,
     AT(rules.policy.ranks_per_gpu), 1, JOB_MAX_LOCAL},
    {PLACEMENT, KIND_TEXT, 0, "map", "LIST|@FILE",
     "use these GPUs in this order: indices, PCI addresses or UUIDs", NULL, AT(rules.map), 0, 0},
    {PLACEMENT, KIND_WORD, 0, "policy", "closest|spread|pack",
     "prefer near GPUs, many packages, or few packages (closest)", "closest|spread|pack",
     AT(rules.policy.gpus), 0, 0},
    {PLACEMENT, KIND_WORD, 0, "bind", "gpu|core|l3|numa|package|none",
     "bind ranks to a fair share of the cores near their GPU, or to one core, or to the "
     "object that holds it, or not at all (gpu)",
     "gpu|core|l3|numa|package|none", AT(rules.policy.bind), 0, 0},
    {PLACEMENT, KIND_NUMBER, 0, "smt", "N", "hardware threads to use of each core (all)", NULL,
     AT(rules.policy.smt), 1, NODE_MAX_SMT},
    {PLACEMENT, KIND_WORD, 0, "membind", "none|local",
     "prefer the memory next to the rank's cores (local)", "none|local",
     AT(rules.policy.membind), 0, 0},
    {PLACEMENT, KIND_FLAG, 0, "require-gpu", NULL, "a node without a usable GPU is an error",
     NULL, AT(rules.policy.require_gpu), 0, 0},
    {PLACEMENT, KIND_TEXT, 0, "topology", "FILE",
     "use a recorded machine (hwloc XML); a command then runs unbound", NULL,
     AT(rules.topology), 0, 0},
    {PROGRAM, KIND_WORD, 0, "visible", "own|first|ordered|all",
     "GPUs that a rank sees: its own; all, its own first; all, its own at (local rank mod "
     "their number); untouched (own)",
     "own|first|ordered|all", AT(prefs.visible), 0, 0},
    {PROGRAM, KIND_WORD, 0, "ids", "uuid|index", "how visible GPUs are written (uuid)",
     "uuid|index", AT(prefs.ids), 0, 0},
    {PROGRAM, KIND_WORD, 0, "omp", "none|auto",
     "set OMP_NUM_THREADS and OMP_PLACES from the rank's cores (auto)", "none|auto",
     AT(prefs.omp), 0, 0},
    {PROGRAM, KIND_WORD, 0, "nic", "auto|ucx|ofi|none",
     "export the nearest NIC, also as UCX_NET_DEVICES or libfabric's variable (auto)",
     "auto|ucx|ofi|none", AT(prefs.nic), 0, 0},
    {RUNNING, KIND_LAUNCHER, 0, "launcher", "NAME",
     "read this launcher's environment: NAMES, auto or none (auto)", NULL, AT(launcher), 0, 0},
    {RUNNING, KIND_NUMBER, 0, "timeout", "SECONDS",
     "wait so long for the next rank of the node (10)", NULL, AT(timeout_s), 1, 86400},
    {RUNNING, KIND_FLAG, 0, "report", NULL, "say who got what: one table a node, on stderr", NULL,
     AT(report), 0, 0},
    {RUNNING, KIND_FLAG, 'v', "verbose", NULL, "say why, too", NULL, AT(verbose), 0, 0},
    {RUNNING, KIND_FLAG, 'q', "quiet", NULL, "no notices, errors only", NULL, AT(quiet), 0, 0},
    {PLANNING, KIND_FLAG, 0, "json", NULL, "one JSON object a node, one node a line", NULL,
     AT(json), 0, 0},
    {PLANNING, KIND_NUMBER, 0, "ranks", "N", "ranks of the job (one a GPU or set of GPUs)", NULL, AT(ranks), 1,
     LAYOUT_MAX_RANKS},
    {PLANNING, KIND_TEXT, 0, "ranks-file", "FILE",
     "ranks from an Open MPI rankfile (lines 'rank N=HOST [slot=CPUS]'), or a host a line", NULL, AT(ranks_file), 0,
     0},
    {PLANNING, KIND_TEXT, 0, "nodes", "N|NAME[:SLOTS][=FILE],...",
     "nodes of the job, each like this one or as in its own hwloc XML; FILE.xml alone will do (1)", NULL, AT(nodes), 0,
     0},
    {PLANNING, KIND_WORD, 0, "distribution", "block|cyclic", "how ranks go to nodes (block)",
     "block|cyclic", AT(cyclic), 0, 0},
    {PLANNING, KIND_TEXT, 0, "cpuset", "CPUS", "CPUs that the job may use (all)", NULL,
     AT(cpuset), 0, 0},
    {ACTIONS, KIND_ACTION, 0, "plan", NULL, "print who would get what", NULL, AT(action),
     ACTION_PLAN, 0},
    {ACTIONS, KIND_ACTION, 0, "check", NULL,
     "as the program of an outer gpubind: compare what this rank got with its plan", NULL,
     AT(action), ACTION_CHECK, 0},
    {ACTIONS, KIND_ACTION, 'h', "help", NULL, "print this", NULL, AT(action), ACTION_HELP, 0},
    {ACTIONS, KIND_ACTION, 'V', "version", NULL, "print the version", NULL, AT(action),
     ACTION_VERSION, 0},
};
#define NROWS ((int)(sizeof rows / sizeof rows[0]))

static int *int_at(struct options *options, const struct row *row)
{
    return (int *)((char *)options + row->offset);
}

/* Flags and two-way choices are bool, longer choices are enums. */
static void store(struct options *options, const struct row *row, int value)
{
    void *at = (char *)options + row->offset;

    if (row->kind == KIND_FLAG || at == &options->rules.policy.membind ||
        at == &options->prefs.omp || at == &options->cyclic)
        *(bool *)at = value;
    else
        *int_at(options, row) = value;
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

/* The environment. What an outer gpubind exported is not a setting. */
static int read_environment(struct options *options, const char **values,
                            struct gpubind_error *err)
{
    bool nested = getenv("GPUBIND_PLAN") != NULL;

    for (int i = 0; i < NROWS; i++) {
        char name[64];
        const char *value;

        variable_name(&rows[i], name, sizeof name);
        value = rows[i].kind == KIND_ACTION ? NULL : getenv(name);
        if (!value || !*value || (nested && strcmp(rows[i].name, "nic") == 0))
            continue;
        if (take(options, &rows[i], value, name, err) < 0)
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
        return &rows[code - 256];
    for (int i = 0; i < NROWS; i++)
        if (rows[i].letter == code)
            return &rows[i];
    return NULL;
}

static int read_arguments(int argc, char **argv, struct options *options, const char **values,
                          struct gpubind_error *err)
{
    struct option longs[NROWS + 1];
    char letters[NROWS + 3] = "+:";
    const char *only_plan = NULL;
    int code;

    memset(longs, 0, sizeof longs);
    for (int i = 0; i < NROWS; i++) {
        longs[i] = (struct option){rows[i].name,
                                   rows[i].argument ? required_argument : no_argument, NULL,
                                   256 + i};
        if (rows[i].letter)
            letters[strlen(letters)] = rows[i].letter;
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
        values[row - rows] = optarg ? optarg : "1";
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
    const char *values[NROWS] = {NULL};

    memset(options, 0, sizeof *options);
    policy_default(&options->rules.policy);
    options->prefs.omp = true;
    options->launcher = "auto";
    options->timeout_s = 10;
    if (read_environment(options, values, err) < 0 ||
        read_arguments(argc, argv, options, values, err) < 0)
        return -1;
    for (int i = 0; i < NROWS; i++)
        if (values[i] && rows[i].group == PLACEMENT)
            add_digest(options, &rows[i], values[i]);
    return check_options(options, err);
}

/* Words up to the 79th column, further lines below the first. */
static void add_wrapped(struct text *text, const char *words, int indent)
{
    int column = indent;

    text_add(text, "%*s", indent, "");
    while (*words) {
        int length = (int)strcspn(words, " ");

        if (column > indent && column + 1 + length > 79) {
            text_add(text, "\n%*s", indent, "");
            column = indent;
        }
        text_add(text, "%s%.*s", column > indent ? " " : "", length, words);
        column += length + (column > indent);
        words += length;
        words += *words == ' ';
    }
    text_add(text, "\n");
}

static void add_row(struct text *text, const struct row *row)
{
    struct text names = {0};

    text_add(&names, "  %s--%s%s%s", row->letter ? "-, " : "    ", row->name,
             row->argument ? " " : "", row->argument ? row->argument : "");
    if (row->letter && names.bytes)
        names.bytes[3] = row->letter;
    text_add(text, "%s\n", names.bytes ? names.bytes : "");
    if (row->kind == KIND_LAUNCHER) {
        struct text help = {0}, known = {0};
        const char *at = strstr(row->help, "NAMES");

        launcher_names(&known);
        text_add(&help, "%.*s%s%s", (int)(at - row->help), row->help, known.bytes, at + 5);
        add_wrapped(text, help.bytes, 10);
        text_clear(&help);
        text_clear(&known);
    } else {
        add_wrapped(text, row->help, 10);
    }
    text_clear(&names);
}

void options_help(struct text *text)
{
    text_add(text, "Usage: gpubind [OPTION...] [--] COMMAND [ARG...]\n"
                   "       gpubind --plan [OPTION...]\n"
                   "Give every MPI rank the right GPU, then run COMMAND as that rank:\n"
                   "       mpirun -np 8 gpubind ./app\n");
    for (int group = 0; group < GROUPS; group++) {
        text_add(text, "\n%s:\n", group_titles[group]);
        for (int i = 0; i < NROWS; i++)
            if ((int)rows[i].group == group)
                add_row(text, &rows[i]);
    }
    text_add(text, "\nEvery option but the last four is also an environment variable: GPUBIND_ and "
                   "its\nname in capitals with _ for -, as in GPUBIND_OVERFLOW=idle; flags take 1 "
                   "or 0.\nAn option wins over the environment. See gpubind(1) and gpubind(7).\n");
}
