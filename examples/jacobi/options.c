#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"

enum kind { FLAG, NUMBER, SIZE, WORD, FILE_NAME };

/* One row an option: how it is read, and what --help says. */
static const struct row {
    const char *name, *argument, *help;
    enum kind kind;
    size_t at; /* in struct options */
    int low, high;
    const char *words; /* "a|b|c" */
} rows[] = {
    {"version", "NAME", "one of those below, or all", WORD, 0, 0, 0, NULL},
    {"size", "ROWSxCOLUMNS", "the grid of all ranks together (4096x4096)", SIZE, 0, 0, 0, NULL},
    {"per-gpu", "ROWSxCOLUMNS", "the strip of each rank, in place of --size", SIZE, 1, 0, 0, NULL},
    {"steps", "N", "that are timed (1000)", NUMBER, offsetof(struct options, steps), 1, 100000000,
     NULL},
    {"warmup", "N", "steps before that (20)", NUMBER, offsetof(struct options, warmup), 0,
     100000000, NULL},
    {"norm-every", "K", "steps: how much the grid changes, 0: never (0)", NUMBER,
     offsetof(struct options, norm_every), 0, 100000000, NULL},
    {"type", "float|double", "of the cells (float)", WORD, 1, 0, 0, "float|double"},
    {"periodic", NULL, "the first and the last row are neighbours", FLAG,
     offsetof(struct options, periodic), 0, 0, NULL},
    {"check", NULL, "compare with what one process computes alone; small grids", FLAG,
     offsetof(struct options, check), 0, 0, NULL},
    {"no-exchange", NULL, "the same kernels, no messages: the numbers are wrong", FLAG,
     offsetof(struct options, no_exchange), 0, 0, NULL},
    {"graph", NULL, "steps are captured once and replayed; version halo alone", FLAG,
     offsetof(struct options, graph), 0, 0, NULL},
    {"compute", "auto|gpu|host", "who does the arithmetic (gpu, else host)", WORD, 2, 0, 0,
     "auto|gpu|host"},
    {"march", "ROWS", "that a warp of the kernel goes down (chosen)", NUMBER,
     offsetof(struct options, march), 4, 4096, NULL},
    {"csv", NULL, "the results as CSV", FLAG, offsetof(struct options, csv), 0, 0, NULL},
    {"timeline", "FILE", "when kernels and exchanges ran, as CSV", FILE_NAME,
     offsetof(struct options, timeline), 0, 0, NULL},
    {"quiet", NULL, "no lines on how far it is", FLAG, offsetof(struct options, quiet), 0, 0, NULL},
    {"help", NULL, "this", FLAG, offsetof(struct options, help), 0, 0, NULL},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

void options_help(FILE *to)
{
    fprintf(to, "usage: mpirun -np N gpubind ./jacobi [OPTION...]\n"
                "Jacobi's method on a grid in strips of rows, one a GPU.\n\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(to, "  --%-12s%-14s %s\n", rows[i].name, rows[i].argument ? rows[i].argument : "",
                rows[i].help);
    fprintf(to, "\nVersions:\n");
    for (int i = 0; i < VERSIONS; i++)
        fprintf(to, "  %-12s %s\n", versions[i].name, versions[i].what);
    fprintf(to, "\nExit status: 0, 1 when --check finds wrong numbers or something failed,\n"
                "2 for a wrong option.\n");
}

/* Reads digits up to a character of ends or the end; -1: they are no number from low to high. */
static long read_number(const char *text, const char **end, long low, long high)
{
    char *behind;
    long value;

    errno = 0;
    value = strtol(text, &behind, 10);
    *end = behind;
    return isdigit((unsigned char)*text) && !errno && value >= low && value <= high ? value : -1;
}

static int read_size(struct options *options, const struct row *row, const char *text, char *err,
                     size_t size)
{
    const char *end, *last;
    long n = read_number(text, &end, 1, 10000000);
    long columns = *end == 'x' ? read_number(end + 1, &last, 1, 10000000) : -1;

    if (n < 0 || columns < 0 || *last) {
        snprintf(err, size, "--%s: '%s' is no ROWSxCOLUMNS, as 4096x4096", row->name, text);
        return -1;
    }
    options->rows = (int)n;
    options->columns = (int)columns;
    options->per_gpu = row->at == 1;
    return 0;
}

/* The position of the word in "a|b|c", or -1. */
static int find_word(const char *words, const char *word)
{
    for (int position = 0;; position++, words++) {
        size_t length = strcspn(words, "|");

        if (strlen(word) == length && memcmp(words, word, length) == 0)
            return position;
        words += length;
        if (!*words)
            return -1;
    }
}

static int read_version(struct options *options, const char *text, char *err, size_t size)
{
    options->version = -1;
    if (strcmp(text, "all") == 0)
        return 0;
    for (int i = 0; i < VERSIONS; i++)
        if (strcmp(text, versions[i].name) == 0)
            options->version = i;
    if (options->version >= 0)
        return 0;
    snprintf(err, size, "--version: '%s' is none of all", text);
    for (int i = 0; i < VERSIONS; i++)
        snprintf(err + strlen(err), size - strlen(err), ", %s", versions[i].name);
    return -1;
}

static int read_word(struct options *options, const struct row *row, const char *text, char *err,
                     size_t size)
{
    int position;

    if (!row->words)
        return read_version(options, text, err, size);
    position = find_word(row->words, text);
    if (position < 0) {
        snprintf(err, size, "--%s: '%s' is none of %s", row->name, text, row->words);
        return -1;
    }
    if (row->at == 1)
        options->doubles = position == 1;
    else
        options->compute = text;
    return 0;
}

static int take(struct options *options, const struct row *row, const char *text, char *err,
                size_t size)
{
    char *at = (char *)options + row->at;
    const char *end;
    long number;

    switch (row->kind) {
    case FLAG:
        *(bool *)at = true;
        return 0;
    case FILE_NAME:
        *(const char **)(void *)at = text;
        return 0;
    case SIZE:
        return read_size(options, row, text, err, size);
    case WORD:
        return read_word(options, row, text, err, size);
    case NUMBER:
        number = read_number(text, &end, row->low, row->high);
        if (number >= 0 && !*end) {
            *(int *)(void *)at = (int)number;
            return 0;
        }
        snprintf(err, size, "--%s: '%s' is no number from %d to %d", row->name, text, row->low,
                 row->high);
    }
    return -1;
}

/* What does not go together; NULL: all does. */
static const char *conflict(const struct options *options)
{
    const bool halo = options->version >= 0 && versions[options->version].can_be_graph;

    if (options->check && options->no_exchange)
        return "--check: without messages, by --no-exchange, the numbers are wrong";
    if (options->graph && !halo)
        return "--graph: takes --version halo";
    if (options->graph && (options->steps % 2 || options->warmup < 2))
        return "--graph: takes an even number of --steps after 2 of --warmup";
    if (options->graph && options->timeline)
        return "--graph: a captured step has no --timeline";
    if (options->graph && options->norm_every > 1 && options->norm_every % 2)
        return "--graph: --norm-every is 0, 1 or an even number there";
    if (options->graph && strcmp(options->compute, "host") == 0)
        return "--graph: takes kernels, not --compute host";
    return NULL;
}

int options_read(struct options *options, int argc, char **argv, char *text, size_t size)
{
    struct option longs[ROWS + 1] = {0};
    const char *wrong;
    int found = 0;

    *options = (struct options){.version = -1,
                                .rows = 4096,
                                .columns = 4096,
                                .steps = 1000,
                                .warmup = 20,
                                .compute = "auto"};
    for (int i = 0; i < ROWS; i++)
        longs[i] = (struct option){rows[i].name, rows[i].argument ? required_argument : no_argument,
                                   NULL, 0};
    opterr = 0;
    for (;;) {
        int which = 0, at = optind;

        found = getopt_long(argc, argv, "", longs, &which);
        if (found == -1)
            break;
        if (found == '?') {
            snprintf(text, size, "%s: no such option, or not with what it needs; see --help",
                     argv[at]);
            return -1;
        }
        if (take(options, &rows[which], optarg, text, size) < 0)
            return -1;
    }
    wrong = conflict(options);
    if (wrong)
        snprintf(text, size, "%s", wrong);
    else if (optind < argc)
        snprintf(text, size, "'%s' is no option", argv[optind]);
    return wrong || optind < argc ? -1 : 0;
}
