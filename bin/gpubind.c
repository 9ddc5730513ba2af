/* The launcher's main program: reads the options, runs the command, prints help and errors. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bin/cmds.h"
#include "core/base/variables.h"

int write_all(int fd, const struct text *text)
{
    size_t done = 0;

    while (done < text->length) {
        ssize_t wrote = write(fd, text->bytes + done, text->length - done);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 1)
            return -1;
        done += (size_t)wrote;
    }
    return 0;
}

void say_lines(const char *text)
{
    struct text output = {0};

    while (text && *text) {
        int length = (int)strcspn(text, "\n");
        size_t from = output.length;

        text_add(&output, "gpubind: %.*s", length, text);
        if (!output.failed)
            text_clean(output.bytes + from);
        text_add(&output, "\n");
        text += length;
        text += *text == '\n';
    }
    /* A failure to write to stderr cannot be reported. */
    (void)write_all(STDERR_FILENO, &output);
    text_clear(&output);
}

int fail(const struct gpubind_error *err)
{
    struct text text = {0};

    text_add(&text, "%s", err->text);
    options_name_variables(err->text, &text);
    say_lines(text.failed ? err->text : text.bytes);
    text_clear(&text);
    return EXIT_OWN;
}

int print(const struct text *text)
{
    struct gpubind_error err;

    if (!text->failed && write_all(STDOUT_FILENO, text) == 0)
        return 0;
    error_set(&err, "cannot write: %s", text->failed ? "out of memory" : strerror(errno));
    return fail(&err);
}

static int print_help(void)
{
    struct text text = {0};
    int status;

    options_help(&text);
    status = print(&text);
    text_clear(&text);
    return status;
}

static int print_version(void)
{
    struct text text = {0};
    int status;

    text_add(&text, "gpubind %s\n", PACKAGE_VERSION);
    status = print(&text);
    text_clear(&text);
    return status;
}

/* The descriptor of a closed stdin, stdout or stderr must not be reused for a file of ours, into
 * which messages would be written. The program finds them closed, as we
 * did; opened for reading, they refuse what we write. */
static void hold_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Notes unknown GPUBIND_ variables; when a command is run, the leader does it once a node. */
static void say_unknown_variables(const struct options *options)
{
    struct text text = {0};

    if (options->quiet || (options->action != ACTION_PLAN && options->action != ACTION_LIST &&
                           options->action != ACTION_DOCTOR))
        return;
    variables_note_unknown(environ, "\n", &text);
    say_lines(text.bytes);
    text_clear(&text);
}

/* The process has rights that its caller has not: of a set-user-ID or set-group-ID file, or capabilities of
 * the file. AT_SECURE alone is set for a change of SELinux's domain, too, which gives no rights. */
static bool has_more_rights(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (!getauxval(AT_SECURE))
        return false;
    if (getuid() != geteuid() || getgid() != getegid())
        return true;
    return getuid() != 0 &&
           (syscall(SYS_capget, &header, data) < 0 || data[0].permitted || data[1].permitted);
}

/* It loads and reads what the environment names, and starts any command. */
static int refuse_rights(void)
{
    struct gpubind_error err;

    error_set(&err,
              "this file is set-user-ID, set-group-ID or has capabilities, which gpubind must not "
              "have: it starts any command");
    return fail(&err);
}

int main(int argc, char **argv)
{
    struct options options;
    struct gpubind_error err;

    hold_standard_files();
    if (has_more_rights())
        return refuse_rights();
    if (options_read(argc, argv, &options, &err) < 0)
        return options.action == ACTION_RUN ? cmd_fail(&options, &err, EXIT_OWN) : fail(&err);
    say_unknown_variables(&options);
    switch (options.action) {
    case ACTION_PLAN:
        return cmd_plan(&options);
    case ACTION_LIST:
        return cmd_list(&options);
    case ACTION_CHECK:
        return cmd_check(&options);
    case ACTION_PLUGIN:
        return cmd_plugin(&options);
    case ACTION_DOCTOR:
        return cmd_doctor(&options);
    case ACTION_HELP:
        return print_help();
    case ACTION_VERSION:
        return print_version();
    case ACTION_RUN:
        break;
    }
    if (!*options.command)
        return cmd_overview(&options, argv + 1);
    return cmd_run(&options);
}
