/* The plan does not depend on the order in which devices stand in the topology:
 * every recorded machine, with sibling bridges and PCI devices turned round. */
#include <stdlib.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/report/render.h"
#include "host/sys/file.h"
#include "tests/cases.h"
#include "tests/tap.h"

/* A file in lines; hwloc writes an element a line and indents by depth. */
struct lines {
    int n;
    char **line;
};

static void split(char *text, struct lines *lines)
{
    lines->n = 0;
    lines->line = NULL;
    for (char *line; (line = strsep(&text, "\n"));) {
        lines->line = realloc(lines->line, (size_t)(lines->n + 1) * sizeof *lines->line);
        lines->line[lines->n++] = line;
    }
}

static size_t depth(const char *line)
{
    return strspn(line, " ");
}

static bool is_device(const char *line)
{
    line += depth(line);
    return strncmp(line, "<object type=\"Bridge\"", 21) == 0 ||
           strncmp(line, "<object type=\"PCIDev\"", 21) == 0;
}

/* The line behind the element that begins in line at. */
static int end_of(const struct lines *lines, int at, int end)
{
    const char *line = lines->line[at];
    int next = at + 1;

    if (strcmp(line + strlen(line) - 2, "/>") == 0)
        return next;
    while (next < end && depth(lines->line[next]) > depth(line))
        next++;
    return next < end ? next + 1 : end;
}

/* Writes lines begin to end, each run of neighbouring devices backwards, and
 * inside them likewise. Returns the number of devices that moved. */
static int turn(const struct lines *lines, int begin, int end, struct text *text)
{
    int starts[1024], n, moved = 0;

    for (int at = begin; at < end;) {
        if (!is_device(lines->line[at])) {
            text_add(text, "%s\n", lines->line[at++]);
            continue;
        }
        for (n = 0; at < end && n < 1023 && is_device(lines->line[at]); n++) {
            starts[n] = at;
            at = end_of(lines, at, end);
        }
        starts[n] = at;
        moved += n > 1 ? n : 0;
        for (; n > 0; n--) {
            text_add(text, "%s\n", lines->line[starts[n - 1]]);
            moved += turn(lines, starts[n - 1] + 1, starts[n], text);
        }
    }
    return moved;
}

/* The plan for one rank a GPU and three more, in JSON, hash and all. */
static void plan_json(const char *path, int per_rank, struct text *text)
{
    const struct gpu_ranks nobody = {0, NULL};
    struct node node;
    struct job job;
    struct policy policy;
    struct plan plan;
    struct gpubind_error err;

    machine_load(path, &node);
    snprintf(node.name, sizeof node.name, "here");
    job_unbound(&node, node.ngpus / per_rank + 3, &job);
    policy_default(&policy);
    policy.gpus_per_rank = per_rank;
    if (plan_make(&node, &job, &policy, &plan, &err) < 0)
        text_add(text, "%s", err.text);
    else
        render_json(&node, &plan, &nobody, text);
    plan_clear(&plan);
    job_clear(&job);
    node_clear(&node);
}

static void compare(const char *path, const char *turned, const char *title, int per_rank)
{
    struct text before = {0}, after = {0};
    char what[256];

    plan_json(path, per_rank, &before);
    plan_json(turned, per_rank, &after);
    snprintf(what, sizeof what, "%s turned round, %d GPU(s) a rank", title, per_rank);
    tap_is(after.bytes, before.bytes, what);
    text_clear(&before);
    text_clear(&after);
}

static void try_machine(const char *path, const char *turned)
{
    char *bytes = file_read(path, NULL);
    struct text text = {0};
    struct lines lines;
    FILE *file = fopen(turned, "w");
    int moved;

    split(bytes, &lines);
    moved = turn(&lines, 0, lines.n, &text);
    fwrite(text.bytes, 1, text.length, file);
    fclose(file);
    if (moved == 0)
        tap_skip(machine_title(path), "no two devices stand side by side");
    for (int per_rank = 1; moved && per_rank <= 2; per_rank++)
        compare(path, turned, machine_title(path), per_rank);
    text_clear(&text);
    free(lines.line);
    free(bytes);
}

int main(void)
{
    char **machines = machines_list();
    char turned[] = "/tmp/gpubind-test-turned.XXXXXX";
    int fd = mkstemp(turned);

    close(fd);
    for (int m = 0; machines[m]; m++)
        try_machine(machines[m], turned);
    unlink(turned);
    return tap_done();
}
