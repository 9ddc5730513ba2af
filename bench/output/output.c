#include "bench/output/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/lib/program.h"

int output_check(const char *option, const char *path, struct gpubind_error *err)
{
    const bool was_there = access(path, F_OK) == 0;
    FILE *file = fopen(path, "a");

    if (!file)
        return error_set(err, "--%s: %s cannot be written: %s", option, path, strerror(errno));
    fclose(file);
    if (!was_there)
        unlink(path);
    return 0;
}

static bool write_file(const char *path, const char *mode, const struct text *text)
{
    FILE *file = fopen(path, mode);
    bool good = file != NULL;

    if (good && text->length)
        good = fwrite(text->bytes, 1, text->length, file) == text->length;
    if (file)
        good &= fclose(file) == 0;
    return good;
}

/* Writes a file beside it, and gives that its name. */
static bool replace_file(const char *path, const struct text *text)
{
    char *real = realpath(path, NULL); /* a link stays one */
    struct text beside = {0};
    bool good;

    text_add(&beside, "%s.%d.new", real ? real : path, (int)getpid());
    good = !beside.failed && write_file(beside.bytes, "wx", text);
    if (good)
        good = rename(beside.bytes, real ? real : path) == 0;
    if (!good && !beside.failed)
        unlink(beside.bytes);
    text_clear(&beside);
    free(real);
    return good;
}

/* What is no regular file has nothing to keep; nor has one in a folder that takes no other. */
bool output_replace(const char *path, const struct text *text, bool is_last)
{
    struct stat status;

    if (text->failed)
        return false;
    if ((stat(path, &status) < 0 || S_ISREG(status.st_mode)) && replace_file(path, text))
        return true;
    return is_last && write_file(path, "w", text);
}

int output_table(const struct bench_options *options, struct table *table)
{
    const struct table_format *format = options->csv ? &table_csv : &table_text;
    struct text text = {0};

    if (table->unwritable)
        return EXIT_OWN;
    if (options->json) {
        table_print_json(table, &text);
    } else {
        if (!table->begun)
            format->head(table, &text);
        format->rows(table, table->nprinted, &text);
        table->begun = true;
        table->nprinted = table->nrows;
    }
    return bench_print(&text);
}

void output_rows(const struct bench_options *options, struct table *table)
{
    if (!table->streams || options->json || table->unwritable)
        return;
    output_progress_end();
    table->one_by_one = true;
    table->unwritable = output_table(options, table) != 0;
}

void output_progress(const struct bench_options *options, const char *format, ...)
{
    bool terminal = isatty(STDERR_FILENO);
    struct text text = {0};
    char line[160];
    va_list args;

    if (!options->progress && !terminal)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_add(&text, terminal ? "\r\033[K%s\r" : "gpubind-bench: %s\n", line);
    fputs(text.bytes ? text.bytes : "", stderr);
    text_clear(&text);
}

void output_progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
}
