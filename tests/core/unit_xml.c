/* Damaged hwloc XML: gpubind --plan plans all the same, or says one sentence and
 * exits 125; it never crashes, hangs or prints half a plan. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/text.h"
#include "host/sys/file.h"
#include "tests/cases.h"
#include "tests/tap.h"

static char folder[] = "/tmp/gpubind-test-xml.XXXXXX";
static char xml[64], out[64], err[64];

static void write_file(const char *path, const struct text *text)
{
    FILE *file = fopen(path, "w");

    if (!file || fwrite(text->bytes, 1, text->length, file) != text->length) {
        printf("Bail out! cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fclose(file);
}

static void redirect(const char *path, int to)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || dup2(fd, to) < 0)
        _exit(99);
}

/* The wait status. */
static int run_plan(void)
{
    static char program[4096];
    const char *top = getenv("top_builddir");
    int status;
    pid_t child = fork();

    if (child == 0) {
        redirect(out, STDOUT_FILENO);
        redirect(err, STDERR_FILENO);
        /* What hwloc leaks over a broken file is not ours. */
        setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
        unsetenv("CUDA_VISIBLE_DEVICES");
        alarm(120);
        snprintf(program, sizeof program, "%s/bin/gpubind", top ? top : ".");
        execl(program, program, "--plan", "--json", "--ranks", "5", "--topology", xml, NULL);
        _exit(98);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static int count_sentences(const char *text)
{
    int n = 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, "gpubind: ", 9) == 0;
    }
    return n;
}

/* NULL when all is well. */
static const char *judge(int status)
{
    char *said = file_read(err, NULL), *planned = file_read(out, NULL);
    const char *verdict = NULL;

    if (!said || !planned)
        verdict = "what it said cannot be read";
    else if (!WIFEXITED(status))
        verdict = WTERMSIG(status) == SIGALRM ? "it hangs" : "it crashes";
    else if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 125)
        verdict = "its exit status is neither 0 nor 125";
    else if (WEXITSTATUS(status) == 125 && (*planned || count_sentences(said) != 1))
        verdict = "it fails with something else than one sentence";
    else if (WEXITSTATUS(status) == 0 && strncmp(planned, "{\"node\":", 8) != 0)
        verdict = "it prints no plan";
    if (verdict)
        tap_diag("status 0x%x, said: %.300s", (unsigned)status, said ? said : "");
    free(said);
    free(planned);
    return verdict;
}

static void add(struct text *into, const char *from, size_t length)
{
    text_add(into, "%.*s", (int)length, from);
}

/* Start of the nth attribute value, or of anything when there is none. */
static size_t some_value(struct dice *dice, const char *text, size_t length)
{
    size_t at = (size_t)dice_below(dice, (int)length);
    const char *found = strstr(text + at, "=\"");

    return found ? (size_t)(found - text) + 2 : at;
}

static void mutate(struct dice *dice, const char *text, struct text *into)
{
    static const char *const values[] = {
        "",    "-1",     "0",    "99999999", "18446744073709551616", "0x0", "0xffffffff",
        "xyz", "PCIDev", "Core", "&#1;"};
    size_t length = strlen(text), at = some_value(dice, text, length), end;
    size_t span = 1 + (size_t)dice_below(dice, 400);

    span = at + span > length ? length - at : span;
    switch (dice_below(dice, 6)) {
    case 0: /* cut off */
        add(into, text, (size_t)dice_below(dice, (int)length));
        return;
    case 1: /* a hole */
        add(into, text, at);
        add(into, text + at + span, length - at - span);
        return;
    case 2: /* a piece twice */
        add(into, text, at + span);
        add(into, text + at, length - at);
        return;
    case 3: /* a byte */
        add(into, text, at);
        text_add(into, "%c", 1 + dice_below(dice, 255));
        add(into, text + at + 1, length - at - 1);
        return;
    default: /* another value */
        end = at + strcspn(text + at, "\"");
        add(into, text, at);
        text_add(into, "%s", values[dice_below(dice, 11)]);
        add(into, text + end, length - end);
    }
}

/* Two PUs, of which one lacks complete_cpuset and nodeset: hwloc 2.9 dies of it. */
static const char half_an_object[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
    "<topology version=\"2.0\">\n"
    " <object type=\"Machine\" gp_index=\"1\" os_index=\"0\" cpuset=\"0x3\" complete_cpuset=\"0x3\""
    " nodeset=\"0x1\" complete_nodeset=\"0x1\" allowed_cpuset=\"0x3\" allowed_nodeset=\"0x1\">\n"
    "  <object type=\"NUMANode\" gp_index=\"2\" os_index=\"0\" cpuset=\"0x3\""
    " complete_cpuset=\"0x3\" nodeset=\"0x1\" complete_nodeset=\"0x1\"/>\n"
    "  <object type=\"PU\" gp_index=\"3\" os_index=\"0\" cpuset=\"0x1\" complete_cpuset=\"0x1\""
    " nodeset=\"0x1\" complete_nodeset=\"0x1\"/>\n"
    "  <object type=\"PU\" gp_index=\"4\" os_index=\"1\" cpuset=\"0x2\" complete_nodeset=\"0x1\"/>\n"
    " </object>\n"
    "</topology>\n";

static void try_machine(struct dice *dice, const char *path, int wanted)
{
    char *text = file_read(path, NULL);
    int failed = 0, planned = 0;

    for (int i = 0; text && i < wanted; i++) {
        struct text damaged = {0};
        const char *verdict;
        int status;

        text_add(&damaged, "%s", "");
        mutate(dice, text, &damaged);
        write_file(xml, &damaged);
        text_clear(&damaged);
        status = run_plan();
        planned += status == 0;
        verdict = judge(status);
        if (verdict && failed++ == 0)
            tap_diag("mutant %d: %s", i, verdict);
    }
    tap_ok(text && failed == 0, "%s: %d mutants, %d of them planned for", machine_title(path),
           wanted, planned);
    free(text);
}

/* What hwloc makes of it differs from version to version; dying is not on. */
static void try_whole(const char *bytes, bool refused, const char *what)
{
    struct text text = {0};
    const char *verdict;
    int status;

    text_add(&text, "%s", bytes);
    write_file(xml, &text);
    text_clear(&text);
    status = run_plan();
    verdict = judge(status);
    tap_ok(!verdict && (!refused || WEXITSTATUS(status) == 125), "%s is %s", what,
           refused ? "refused" : "refused or planned for");
}

int main(void)
{
    struct dice dice = {dice_seed(6)};
    char **machines = machines_list();
    int wanted = cases_wanted(15);

    if (!mkdtemp(folder)) {
        printf("Bail out! %s: %s\n", folder, strerror(errno));
        return 1;
    }
    snprintf(xml, sizeof xml, "%s/m.xml", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(err, sizeof err, "%s/err", folder);
    try_whole("", true, "an empty file");
    try_whole("nonsense", true, "plain text");
    try_whole("<?xml version=\"1.0\"?>\n<a/>\n", true, "XML of another kind");
    try_whole("<topology version=\"2.0\"></topology>\n", true, "a topology without objects");
    try_whole(half_an_object, false, "a topology with half an object");
    for (int m = 0; machines[m]; m++)
        try_machine(&dice, machines[m], wanted);
    unlink(xml);
    unlink(out);
    unlink(err);
    rmdir(folder);
    return tap_done();
}
