/* Reads a script and carries out its lines. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/plugin/server.h"

#define ROUNDS_MAX 1000000

static int step_forget(const struct words *words)
{
    return nspace_forget(words->word[1]);
}

static int step_memory(const struct words *words)
{
    (void)words;
    /* Failing runs are compared with one that fails nowhere, and numbers vary. */
    if (!options.campaign)
        report_memory();
    return EXIT_OK;
}

static int step_cpu(const struct words *words)
{
    static clock_t before;
    const clock_t now = clock();

    (void)words;
    if (!options.campaign)
        printf("cpu: %ld ms\n", (long)((now - before) * 1000 / CLOCKS_PER_SEC));
    before = now;
    return EXIT_OK;
}

static int step_echo(const struct words *words)
{
    for (size_t i = 1; i < words->n; i++)
        printf("%s%s", i > 1 ? " " : "", words->word[i]);
    printf("\n");
    return EXIT_OK;
}

static const struct {
    const char *name;
    size_t fewest, most; /* words, the name included */
    int (*run)(const struct words *words);
} steps[] = {
    {"application", 2, WORDS_MAX, application_step},
    {"nspace", 3, WORDS_MAX, nspace_register},
    {"fork", 3, WORDS_MAX, fork_step},
    {"key", 4, 5, key_step},
    {"crash", 2, 2, crash_step},
    {"forget", 2, 2, step_forget},
    {"memory", 1, 1, step_memory},
    {"cpu", 1, 1, step_cpu},
    {"echo", 1, WORDS_MAX, step_echo},
};

int script_read(const char *path, struct script *script)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t size = 0, room = 0;

    memset(script, 0, sizeof *script);
    script->name = path;
    if (!file) {
        perror(path);
        return -1;
    }
    while (getline(&line, &size, file) >= 0) {
        if (script->nlines == room) {
            char **more = realloc(script->lines, (room + 64) * sizeof *more);

            if (!more)
                break;
            script->lines = more;
            room += 64;
        }
        script->lines[script->nlines++] = strdup(line);
    }
    free(line);
    if (file != stdin)
        fclose(file);
    return 0;
}

void script_clear(struct script *script)
{
    for (size_t i = 0; i < script->nlines; i++)
        free(script->lines[i]);
    free(script->lines);
    memset(script, 0, sizeof *script);
}

static int complain(const struct script *script, size_t at, const char *what)
{
    fprintf(stderr, "%s:%zu: %s: %s", script->name, at + 1, what, script->lines[at]);
    return EXIT_USAGE;
}

/* The line of the `end` that belongs to the `repeat` on line `at`; nlines if none. */
static size_t find_end(const struct script *script, size_t at)
{
    struct words words;
    int depth = 0;

    for (; at < script->nlines; at++) {
        if (words_split(script->lines[at], -1, &words) < 0 || words.n == 0)
            continue;
        if (strcmp(words.word[0], "repeat") == 0)
            depth++;
        else if (strcmp(words.word[0], "end") == 0 && --depth == 0)
            return at;
    }
    return script->nlines;
}

static int run_line(const struct script *script, size_t at, const struct words *words)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int status;

        if (strcmp(words->word[0], steps[i].name) != 0)
            continue;
        if (words->n < steps[i].fewest || words->n > steps[i].most)
            return complain(script, at, "too few or too many words");
        status = steps[i].run(words);
        if (status == EXIT_USAGE)
            complain(script, at, "makes no sense");
        return status;
    }
    return complain(script, at, "no such step");
}

static int run_lines(const struct script *script, size_t from, size_t to, long round);

/* Goes over the lines between `repeat` and its `end`; *at becomes the `end`. */
static int run_repeat(const struct script *script, size_t *at, const struct words *words)
{
    size_t begin = *at, end = find_end(script, begin);
    unsigned long rounds;
    int status = EXIT_OK;

    if (words->n != 2 || word_number(words->word[1], ROUNDS_MAX, &rounds) < 0)
        return complain(script, begin, "repeat wants a number");
    if (end == script->nlines)
        return complain(script, begin, "repeat without end");
    for (unsigned long i = 0; i < rounds && status != EXIT_USAGE; i++) {
        int now = run_lines(script, begin + 1, end, (long)i);

        status = now == EXIT_OK ? status : now;
    }
    *at = end;
    return status;
}

/* A step that PMIx refuses does not stop the script; a mistake in the script does. */
static int run_lines(const struct script *script, size_t from, size_t to, long round)
{
    struct words words;
    int status = EXIT_OK;

    for (size_t at = from; at < to; at++) {
        int now;

        if (words_split(script->lines[at], round, &words) < 0)
            return complain(script, at, "too long, or a quote is open");
        if (words.n == 0)
            continue;
        now = strcmp(words.word[0], "repeat") == 0 ? run_repeat(script, &at, &words)
                                                   : run_line(script, at, &words);
        if (now == EXIT_USAGE)
            return now;
        status = now == EXIT_OK ? status : now;
    }
    return status;
}

int script_run(const struct script *script)
{
    return run_lines(script, 0, script->nlines, -1);
}
