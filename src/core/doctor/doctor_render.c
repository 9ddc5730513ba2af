/* The doctor's report as text and as JSON. */
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/doctor/doctor.h"
#include "core/doctor/doctor_internal.h"

static const char *const severity_words[] = {"breaks", "slows", "note"};

static const char *result_word(const struct doctor_result *result)
{
    static const char *const words[] = {"fine", NULL, "unknown", "moot"};

    return result->state == DOCTOR_FOUND ? severity_words[result->severity] : words[result->state];
}

static void add_lines(struct text *text, const char *label, const struct text *lines)
{
    for (const char *at = lines->bytes; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        text_add(text, "    %-5s %.*s\n", label, (int)strcspn(at, "\n"), at);
        label = "";
    }
}

static void add_result(struct text *text, int check, const struct doctor_result *result)
{
    struct text words = {0};

    text_add(&words, "%s: %s: %s", result_word(result), doctor_checks[check].name,
             result->sentence.length ? result->sentence.bytes : doctor_checks[check].title);
    text_add_wrapped(text, words.bytes ? words.bytes : "", 0);
    text->failed |= words.failed;
    text_clear(&words);
    add_lines(text, "seen", &result->evidence);
    add_lines(text, "set", &result->set);
}

static void add_findings(const struct doctor_report *report, struct text *text)
{
    for (int severity = DOCTOR_BREAKS; severity <= DOCTOR_NOTE; severity++)
        for (int c = 0; c < doctor_nchecks; c++)
            if (report->results[c].state == DOCTOR_FOUND &&
                (int)report->results[c].severity == severity)
                add_result(text, c, &report->results[c]);
}

static bool same_reason(const struct doctor_result *a, const struct doctor_result *b)
{
    return a->state == b->state && (a->sentence.length == 0) == (b->sentence.length == 0) &&
           (a->sentence.length == 0 || strcmp(a->sentence.bytes, b->sentence.bytes) == 0);
}

/* "WORDS (reason): name, name", a paragraph for each reason. */
static void add_names(const struct doctor_report *report, enum doctor_state state,
                      const char *words, struct text *text)
{
    for (int c = 0; c < doctor_nchecks; c++) {
        const struct doctor_result *result = &report->results[c];
        struct text names = {0};
        int first = 0;

        while (!same_reason(&report->results[first], result))
            first++;
        if (result->state != state || first < c)
            continue;
        text_add(&names, "%s%s%s%s:", words, result->sentence.length ? " (" : "",
                 result->sentence.length ? result->sentence.bytes : "",
                 result->sentence.length ? ")" : "");
        for (int d = c; d < doctor_nchecks; d++)
            if (same_reason(&report->results[d], result))
                text_add(&names, "%s %s", d > c ? "," : "", doctor_checks[d].name);
        text_add_wrapped(text, names.bytes ? names.bytes : "", 0);
        text->failed |= names.failed;
        text_clear(&names);
    }
}

static void add_title(const char *who, const struct doctor_facts *facts,
                      const struct doctor_report *report, struct text *text)
{
    int faults = doctor_count(report, DOCTOR_SLOWS);
    int notes = doctor_count(report, DOCTOR_NOTE) - faults;

    text_add(text, "%s: ", who);
    if (faults)
        text_add(text, "%d thing%s slow%s or break%s GPU jobs", faults, faults == 1 ? "" : "s",
                 faults == 1 ? "s" : "", faults == 1 ? "s" : "");
    else
        text_add(text, "nothing was found that slows or breaks GPU jobs");
    if (notes)
        text_add(text, ", %d note%s", notes, notes == 1 ? "" : "s");
    text_add(text, " (%d NVIDIA GPU%s", facts->ngpus, facts->ngpus == 1 ? "" : "s");
    if (facts->driver_version[0])
        text_add(text, ", driver %s", facts->driver_version);
    if (doctor_in_job(facts))
        text_add(text, ", %s", facts->launcher);
    if (facts->container[0])
        text_add(text, ", %s", facts->container);
    text_add(text, ")\n");
}

static bool same_text(const struct text *a, const struct text *b)
{
    return a->length == b->length && (a->length == 0 || strcmp(a->bytes, b->bytes) == 0);
}

static void add_differences(const struct doctor_report *report, const struct doctor_report *usual,
                            struct text *text)
{
    for (int c = 0; c < doctor_nchecks; c++) {
        const struct doctor_result *a = &report->results[c], *b = &usual->results[c];

        if (a->state != b->state || a->severity != b->severity ||
            !same_text(&a->sentence, &b->sentence) || !same_text(&a->set, &b->set))
            add_result(text, c, a);
    }
}

void doctor_render_group(const char *who, const struct doctor_facts *facts,
                         const struct doctor_report *report, const struct doctor_report *usual,
                         bool all, struct text *text)
{
    add_title(who, facts, report, text);
    if (usual) {
        add_differences(report, usual, text);
    } else if (all) {
        for (int c = 0; c < doctor_nchecks; c++)
            add_result(text, c, &report->results[c]);
    } else {
        add_findings(report, text);
        add_names(report, DOCTOR_UNKNOWN, "could not be looked at", text);
        add_names(report, DOCTOR_FINE, "looked at and fine", text);
        add_names(report, DOCTOR_MOOT, "does not matter here", text);
    }
}

void doctor_render_end(struct text *text)
{
    text_add(text, "See gpubind-doctor(7); gpubind --plugin-info looks at the PMIx plugin.\n");
}

void doctor_render(const struct doctor_facts *facts, const struct doctor_report *report, bool all,
                   struct text *text)
{
    char who[sizeof facts->node + 8];

    snprintf(who, sizeof who, "node %s", facts->node);
    doctor_render_group(who, facts, report, NULL, all, text);
    doctor_render_end(text);
}

void doctor_render_json(const struct doctor_facts *facts, const struct doctor_report *report,
                        struct text *text)
{
    doctor_render_json_group(facts->node, facts, report, text);
}

void doctor_render_json_group(const char *nodes, const struct doctor_facts *facts,
                              const struct doctor_report *report, struct text *text)
{
    struct json json = {.text = text};

    json_open(&json, NULL, '{');
    json_string(&json, "node", facts->node);
    json_lines(&json, "nodes", nodes, 0);
    json_string(&json, "version", facts->version);
    json_string(&json, "driver", facts->driver_version);
    json_string(&json, "launcher", doctor_in_job(facts) ? facts->launcher : NULL);
    json_string(&json, "container", facts->container);
    json_value(&json, "found", "%d", doctor_count(report, DOCTOR_SLOWS));
    json_open(&json, "gpus", '[');
    for (int g = 0; g < facts->ngpus; g++) {
        json_open(&json, NULL, '{');
        json_string(&json, "pci", facts->gpus[g].pci);
        json_string(&json, "uuid", facts->gpus[g].uuid);
        json_string(&json, "model", facts->gpus[g].model);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_open(&json, "checks", '[');
    for (int c = 0; c < doctor_nchecks; c++) {
        const struct doctor_result *result = &report->results[c];

        json_open(&json, NULL, '{');
        json_string(&json, "check", doctor_checks[c].name);
        json_string(&json, "result", result_word(result));
        json_string(&json, "text", result->sentence.bytes);
        json_lines(&json, "evidence", result->evidence.bytes, 0);
        json_lines(&json, "set", result->set.bytes, 0);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(text, "\n");
}
