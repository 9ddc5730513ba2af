#include "bench/output/output.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/lib/program.h"

int output_open(const char *option, const char *path, FILE **file, struct gpubind_error *err)
{
    *file = path ? fopen(path, "w") : NULL;
    if (path && !*file)
        return error_set(err, "--%s: %s cannot be written", option, path);
    return 0;
}

int output_close(const char *option, const char *path, FILE *file, struct text *text)
{
    struct gpubind_error err;
    bool good = !text->failed;

    if (good && text->length)
        good = fwrite(text->bytes, 1, text->length, file) == text->length;
    good &= fclose(file) == 0;
    text_clear(text);
    if (good)
        return 0;
    error_set(&err, "--%s: %s cannot be written", option, path);
    return bench_fail(&err);
}

/* Removes regular files only, never a device. */
void output_discard(const char *path, FILE *file)
{
    struct stat status;
    bool regular;

    if (!file)
        return;
    regular = fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode);
    fclose(file);
    if (regular)
        unlink(path);
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
