#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bin/modes.h"

void write_all(int fd, const struct text *text)
{
    size_t done = 0;

    while (done < text->length) {
        ssize_t wrote = write(fd, text->bytes + done, text->length - done);

        if (wrote < 1)
            return;
        done += (size_t)wrote;
    }
}

void say_lines(const char *text)
{
    struct text said = {0};

    while (text && *text) {
        int length = (int)strcspn(text, "\n");

        text_add(&said, "gpubind: %.*s\n", length, text);
        text += length;
        text += *text == '\n';
    }
    write_all(STDERR_FILENO, &said);
    text_clear(&said);
}

int fail(const struct gpubind_error *err)
{
    say_lines(err->text);
    return EXIT_OWN;
}

static int print(struct text *text)
{
    write_all(STDOUT_FILENO, text);
    text_clear(text);
    return 0;
}

int main(int argc, char **argv)
{
    struct options options;
    struct gpubind_error err;
    struct text text = {0};

    if (options_read(argc, argv, &options, &err) < 0)
        return fail(&err);
    switch (options.action) {
    case ACTION_PLAN:
        return mode_plan(&options);
    case ACTION_CHECK:
        return mode_check(&options);
    case ACTION_HELP:
        options_help(&text);
        return print(&text);
    case ACTION_VERSION:
        text_add(&text, "gpubind %s\n", PACKAGE_VERSION);
        return print(&text);
    case ACTION_RUN:
        break;
    }
    return mode_run(&options);
}
