/* Settings: the command line, variables, the plugin's parameters. An input is lines. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/lib/options.h"
#include "bin/options.h"
#include "bin/plugin_plan.h"
#include "host/launch/launcher.h"
#include "host/launch/options.h"
#include "plugin/settings.h"
#include "tests/fuzz/fuzz.h"

#define MAX_LINES 40

/* Lines up to an empty one, ended by NULL. */
static int read_lines(struct fuzz_input *input, char *lines[MAX_LINES + 1])
{
    char *line = NULL;
    int n = 0;

    while (n < MAX_LINES && (line = fuzz_line(input)) && *line)
        lines[n++] = line;
    if (line && !*line)
        free(line);
    lines[n] = NULL;
    return n;
}

static void free_lines(char **lines)
{
    for (; *lines; lines++)
        free(*lines);
}

/* What was taken is what the table allows. */
static void check_options(const struct options *options)
{
    for (int i = 0; i < option_table.nrows; i++) {
        const struct option_row *row = &option_table.rows[i];
        const void *at = (const char *)options + row->offset;
        int number = 0;

        if (row->kind == OPTION_NUMBER)
            number = *(const int *)at;
        if (row->kind == OPTION_NUMBER)
            FUZZ_CHECK(number == 0 || (number >= row->low && number <= row->high));
    }
    FUZZ_CHECK(options->rules.nmasters >= 0 && options->rules.nmasters <= RULES_MAX_MASTERS);
    for (int m = 0; m < options->rules.nmasters; m++)
        FUZZ_CHECK(options->rules.masters[m] >= 0);
    FUZZ_CHECK((unsigned)options->prefs.visible <= VISIBLE_ALL);
    FUZZ_CHECK(options->launcher && launcher_known(options->launcher));
}

void fuzz_options(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *words[MAX_LINES + 2] = {(char *)"gpubind"}, *order[MAX_LINES + 2];
    char *variables[MAX_LINES + 1];
    struct options options, again;
    struct gpubind_error err;
    int argc = 1 + read_lines(&input, words + 1), status;

    read_lines(&input, variables);
    fuzz_environment(variables);
    fuzz_expect(&err);
    memcpy(order, words, sizeof order);
    optind = 0; /* glibc's getopt begins anew */
    status = options_read(argc, words, &options, &err);
    optind = 0;
    FUZZ_CHECK(options_read(argc, order, &again, NULL) == status);
    fuzz_environment_restore();
    if (status < 0) {
        fuzz_refused(&err);
    } else {
        check_options(&options);
        FUZZ_CHECK(options.rules_digest == again.rules_digest);
        FUZZ_CHECK(options.action == ACTION_RUN || !*options.command);
    }
    free_lines(words + 1);
    free_lines(variables);
}

void fuzz_bench_options(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *words[MAX_LINES + 2] = {(char *)"pt2pt"}, *given[MAX_LINES + 1];
    struct bench_options options;
    struct gpubind_error err;
    int argc = 1 + read_lines(&input, given);

    memcpy(words + 1, given, (size_t)argc * sizeof *given);
    fuzz_expect(&err);
    optind = 0;
    if (bench_options_read(SUBCOMMAND_PT2PT, argc, words, &options, &err) < 0) {
        fuzz_refused(&err);
    } else {
        FUZZ_CHECK(options.nsizes > 0 && options.nsizes <= BENCH_MAX_SIZES);
        for (int i = 0; i < options.nsizes; i++)
            FUZZ_CHECK(options.sizes[i] > 0 && options.sizes[i] <= BENCH_MAX_SIZE);
        FUZZ_CHECK(bench_buffers_word(options.buffers) && options.measures);
    }
    free_lines(given);
}

void fuzz_launcher(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *forced = fuzz_line(&input), *variables[MAX_LINES + 1];
    struct text remarks = {0}, notes = {0};
    struct gpubind_error err;
    struct world world;
    int status;

    read_lines(&input, variables);
    fuzz_environment(variables);
    fuzz_expect(&err);
    status = launcher_read(forced && launcher_known(forced) ? forced : "auto", &world, &remarks,
                           &notes, &err);
    fuzz_environment_restore();
    if (status < 0) {
        fuzz_refused(&err);
    } else {
        FUZZ_CHECK(world.rank >= 0 && world.size >= 0 && world.local >= 0);
        FUZZ_CHECK(!world.size || world.rank < world.size);
        FUZZ_CHECK(world.local_size >= 0 && world.local_size <= JOB_MAX_LOCAL);
        FUZZ_CHECK(!world.local_size || world.local < world.local_size);
        FUZZ_CHECK(memchr(world.job, '\0', sizeof world.job));
    }
    text_clear(&remarks);
    text_clear(&notes);
    free_lines(variables);
    free(forced);
}

/* A parameter for each row, as far as the lines go, then the job's variables. */
void fuzz_plugin_settings(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    char *parameters[MAX_LINES + 1] = {NULL}, *variables[MAX_LINES + 1];
    struct options options;
    struct text refused = {0};
    struct gpubind_error err;

    for (int n = read_lines(&input, parameters), i = 0; i < option_table.nrows; i++)
        settings_parameter[i] = i < n ? parameters[i] : NULL;
    read_lines(&input, variables);
    fuzz_expect(&err);
    (void)settings_off(variables);
    if (settings_read(variables, &options, &refused, &err) < 0)
        fuzz_refused(&err);
    else
        check_options(&options);
    if (settings_read_limits(variables, &options, &err) == 0)
        check_options(&options);
    text_clear(&refused);
    free_lines(parameters);
    free_lines(variables);
}

/* What a rank finds that may be a plan of the plugin's. */
void fuzz_plugin_plan(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    static struct facts facts;
    char *variables[MAX_LINES + 1];
    struct options options;
    struct gpubind_error err;

    read_lines(&input, variables);
    fuzz_environment(variables);
    options_default(&options);
    fuzz_expect(&err);
    memset(&facts, 0, sizeof facts);
    snprintf(facts.version, sizeof facts.version, "%s", PACKAGE_VERSION);
    (void)plugin_plan_state(&options);
    if (plugin_plan_read(&facts, &err) < 0)
        fuzz_refused(&err);
    else
        FUZZ_CHECK(facts_check(&facts, sizeof facts, &err) == 0);
    fuzz_environment_restore();
    free_lines(variables);
}
