/* The report over the nodes of a job. */
#include "core/doctor/doctor_nodes.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/doctor/doctor_internal.h"

/* ---- names */

/* A name with a number, which is the last one before a dot: "gpu-012.site" is 12 behind
 * "gpu-", three digits, before ".site". */
struct numbered {
    size_t start, digits; /* digits 0: it has none */
    unsigned long number;
};

static struct numbered read_name(const char *name)
{
    struct numbered numbered = {.start = strcspn(name, ".")};
    size_t end;

    while (numbered.start && !isdigit((unsigned char)name[numbered.start - 1]))
        numbered.start--;
    end = numbered.start;
    while (numbered.start && isdigit((unsigned char)name[numbered.start - 1]))
        numbered.start--;
    numbered.digits = end - numbered.start;
    if (numbered.digits)
        numbered.number = strtoul(name + numbered.start, NULL, 10);
    return numbered;
}

static int compare_names(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    struct numbered x = read_name(a), y = read_name(b);

    if (x.digits && y.digits && x.start == y.start && strncmp(a, b, x.start) == 0 &&
        x.number != y.number)
        return x.number < y.number ? -1 : 1;
    return strcmp(a, b);
}

/* Whether b is the next name after a. */
static bool follows(const char *a, const char *b)
{
    struct numbered x = read_name(a), y = read_name(b);
    bool padded = a[x.start] == '0' || b[y.start] == '0';

    return x.digits && y.digits && x.start == y.start && strncmp(a, b, x.start) == 0 &&
           y.number == x.number + 1 && (x.digits == y.digits || !padded) &&
           strcmp(a + x.start + x.digits, b + y.start + y.digits) == 0;
}

void doctor_node_names(const char **names, int n, struct text *text)
{
    qsort(names, (size_t)n, sizeof *names, compare_names);
    for (int first = 0, last; first < n; first = last + 1) {
        last = first;
        while (last + 1 < n && follows(names[last], names[last + 1]))
            last++;
        text_add(text, "%s%s", first ? "," : "", names[first]);
        if (last > first)
            text_add(text, "%s%s", last == first + 1 ? "," : "-", names[last]);
    }
}

/* ---- groups */

struct group {
    int first, n; /* of its nodes */
};

struct grouping {
    struct doctor_packed *heads;
    int *group; /* of each node */
    struct group *groups;
    int nnodes, n;
};

static bool same(const struct doctor_packed *a, const struct doctor_packed *b)
{
    return strcmp(a->error, b->error) == 0 && a->compared == b->compared &&
           memcmp(a->rest.bytes, b->rest.bytes, a->compared) == 0;
}

static void add_node(struct grouping *all, int node)
{
    int g = 0;

    while (g < all->n && !same(&all->heads[all->groups[g].first], &all->heads[node]))
        g++;
    if (g == all->n)
        all->groups[all->n++] = (struct group){.first = node};
    all->groups[g].n++;
    all->group[node] = g;
}

/* The largest that could be looked at; of those of one size the first. */
static int usual_group(const struct grouping *all)
{
    int usual = -1;

    for (int g = 0; g < all->n; g++)
        if (!all->heads[all->groups[g].first].error[0] &&
            (usual < 0 || all->groups[g].n > all->groups[usual].n))
            usual = g;
    return usual;
}

static const char **names_of(const struct grouping *all, int g)
{
    const char **names = calloc((size_t)all->groups[g].n, sizeof *names);

    for (int i = 0, n = 0; names && i < all->nnodes; i++)
        if (all->group[i] == g)
            names[n++] = all->heads[i].node;
    return names;
}

/* ---- rendering */

struct page {
    struct doctor_facts facts;
    struct doctor_report report;
};

/* "nodes n1-n7 (7)" or "node n8" */
static void add_who(const char **names, int n, struct text *who)
{
    text_add(who, "node%s ", n == 1 ? "" : "s");
    doctor_node_names(names, n, who);
    if (n > 1)
        text_add(who, " (%d)", n);
}

/* One group; usual is the page of the largest, which is told in full when page is it. */
static void render_group(const char **names, int n, const char *error, const struct page *page,
                         const struct page *usual, bool all, struct text *text)
{
    struct text who = {0};

    add_who(names, n, &who);
    if (error[0]) {
        text_add(text, "%s could not be looked at: %s\n", who.bytes ? who.bytes : "", error);
    } else {
        if (page != usual)
            text_add(&who, n == 1 ? " differs" : " differ");
        doctor_render_group(who.bytes ? who.bytes : "", &page->facts, &page->report,
                            page == usual ? NULL : &usual->report, all, text);
    }
    text->failed |= who.failed;
    text_clear(&who);
}

static void render_group_json(const char **names, int n, const char *version, const char *error,
                              struct page *page, struct text *text)
{
    struct text lines = {0};

    for (int i = 0; i < n; i++)
        text_add(&lines, "%s\n", names[i]);
    if (error[0]) {
        struct json json = {.text = text};

        json_open(&json, NULL, '{');
        json_string(&json, "node", names[0]);
        json_lines(&json, "nodes", lines.bytes, 0);
        json_string(&json, "version", version);
        json_string(&json, "error", error);
        json_close(&json, '}');
        text_add(text, "\n");
    } else {
        text_copy(page->facts.version, sizeof page->facts.version, version);
        doctor_render_json_group(lines.bytes, &page->facts, &page->report, text);
    }
    text->failed |= lines.failed;
    text_clear(&lines);
}

/* Group g, whose results go to page. False on bytes of another kind, or without memory. */
static bool render_one(const struct grouping *all, int g, struct page *page,
                       const struct page *usual, bool verbose, bool json, struct text *text,
                       int *worst)
{
    const struct doctor_packed *head = &all->heads[all->groups[g].first];
    const char **names = names_of(all, g);
    int n = all->groups[g].n, bad = 2;
    bool fine = names;

    if (fine && !head->error[0]) {
        fine = doctor_unpack(head, &page->facts, &page->report);
        bad = doctor_count(&page->report, DOCTOR_SLOWS) ? 1 : 0;
    }
    *worst = bad > *worst ? bad : *worst;
    if (fine) {
        qsort(names, (size_t)n, sizeof *names, compare_names);
        if (json)
            render_group_json(names, n, PACKAGE_VERSION, head->error, page, text);
        else
            render_group(names, n, head->error, page, usual, verbose, text);
    }
    free(names);
    return fine;
}

static bool render_all(const struct grouping *all, bool verbose, bool json, struct text *text,
                       int *worst)
{
    struct page *usual = calloc(1, sizeof *usual), *page = calloc(1, sizeof *page);
    int first = usual_group(all);
    bool fine = usual && page;

    if (fine && first >= 0)
        fine = render_one(all, first, usual, usual, verbose, json, text, worst);
    for (int g = 0; g < all->n && fine; g++)
        if (g != first) {
            fine = render_one(all, g, page, usual, verbose, json, text, worst);
            doctor_clear(&page->report);
        }
    if (!json)
        doctor_render_end(text);
    if (usual)
        doctor_clear(&usual->report);
    free(usual);
    free(page);
    return fine;
}

int doctor_render_nodes(const struct doctor_message *messages, int n, bool all, bool json,
                        struct text *text, int *worst, struct gpubind_error *err)
{
    struct grouping grouping = {.heads = calloc((size_t)n, sizeof *grouping.heads),
                                .group = calloc((size_t)n, sizeof *grouping.group),
                                .groups = calloc((size_t)n, sizeof *grouping.groups),
                                .nnodes = n};
    int status = 0;

    *worst = 0;
    if (!grouping.heads || !grouping.group || !grouping.groups)
        status = error_set(err, "out of memory");
    for (int i = 0; i < n && status == 0; i++) {
        if (!doctor_packed_head(&messages[i], PACKAGE_VERSION, &grouping.heads[i]))
            status = error_set(err, "a node answered that has another version of gpubind");
        else
            add_node(&grouping, i);
    }
    if (status == 0 && !render_all(&grouping, all, json, text, worst))
        status = error_set(err, "a node's answer is cut, or there is no memory for it");
    free(grouping.heads);
    free(grouping.group);
    free(grouping.groups);
    return status;
}
