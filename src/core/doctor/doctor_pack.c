/* One node's facts and results as bytes. */
#include <stdlib.h>
#include <string.h>

#include "core/doctor/doctor_internal.h"
#include "core/doctor/doctor_nodes.h"

/* Texts, each with its NUL: the mark, the version, the node, the error; what nodes are compared
 * by, which is a fixed number of them; then GPUs and evidence. */
#define MARK "gpubind-doctor"

static void put(struct text *packed, const char *text)
{
    text_add(packed, "%s%c", text ? text : "", '\0');
}

static void put_number(struct text *packed, int number)
{
    text_add(packed, "%d%c", number, '\0');
}

void doctor_pack(const struct doctor_facts *facts, const struct doctor_report *report,
                 const char *error, struct text *packed)
{
    put(packed, MARK);
    put(packed, facts->version);
    put(packed, facts->node);
    put(packed, error);
    put(packed, facts->driver_version);
    put(packed, facts->launcher);
    put(packed, facts->container);
    put_number(packed, facts->ngpus);
    for (int c = 0; c < doctor_nchecks && report; c++) {
        put_number(packed, (int)report->results[c].state);
        put_number(packed, (int)report->results[c].severity);
        put(packed, report->results[c].sentence.bytes);
        put(packed, report->results[c].set.bytes);
    }
    for (int c = 0; c < doctor_nchecks && report; c++)
        put(packed, report->results[c].evidence.bytes);
    for (int g = 0; g < facts->ngpus && report; g++) {
        put(packed, facts->gpus[g].pci);
        put(packed, facts->gpus[g].uuid);
        put(packed, facts->gpus[g].model);
    }
}

/* ---- reading */

/* The next text, NULL when there is none or it does not end. */
static const char *take(struct doctor_message *rest)
{
    const char *text = rest->bytes;
    const char *end = rest->size ? memchr(text, '\0', rest->size) : NULL;

    if (!end)
        return NULL;
    rest->size -= (size_t)(end + 1 - text);
    rest->bytes = end + 1;
    return text;
}

static bool take_number(struct doctor_message *rest, int low, int high, int *number)
{
    const char *text = take(rest);

    *number = text ? atoi(text) : low - 1;
    return *number >= low && *number <= high;
}

bool doctor_packed_head(const struct doctor_message *message, const char *version,
                        struct doctor_packed *head)
{
    struct doctor_message rest = *message;
    const char *mark = take(&rest), *other = mark ? take(&rest) : NULL;

    head->node = other ? take(&rest) : NULL;
    head->error = head->node ? take(&rest) : NULL;
    if (!head->error || strcmp(mark, MARK) != 0 || strcmp(other, version) != 0)
        return false;
    head->rest = rest;
    for (int i = 0; !head->error[0] && i < 4 + 4 * doctor_nchecks; i++)
        if (!take(&rest))
            return false;
    head->compared = head->rest.size - rest.size;
    return true;
}

static bool take_text(struct doctor_message *rest, char *to, size_t size)
{
    const char *text = take(rest);

    if (text)
        text_copy(to, size, text);
    return text;
}

static bool take_lines(struct doctor_message *rest, struct text *to)
{
    const char *text = take(rest);

    if (text && *text)
        text_add(to, "%s", text);
    return text;
}

bool doctor_unpack(const struct doctor_packed *head, struct doctor_facts *facts,
                   struct doctor_report *report)
{
    struct doctor_message rest = head->rest;
    bool whole;

    doctor_facts_init(facts);
    memset(report, 0, sizeof *report);
    text_copy(facts->node, sizeof facts->node, head->node);
    whole = take_text(&rest, facts->driver_version, sizeof facts->driver_version) &&
            take_text(&rest, facts->launcher, sizeof facts->launcher) &&
            take_text(&rest, facts->container, sizeof facts->container) &&
            take_number(&rest, 0, DOCTOR_MAX_GPUS, &facts->ngpus);
    for (int c = 0; c < doctor_nchecks && whole; c++) {
        struct doctor_result *result = &report->results[c];
        int state = DOCTOR_FINE, severity = DOCTOR_NOTE;

        whole = take_number(&rest, DOCTOR_FINE, DOCTOR_MOOT, &state) &&
                take_number(&rest, DOCTOR_BREAKS, DOCTOR_NOTE, &severity) &&
                take_lines(&rest, &result->sentence) && take_lines(&rest, &result->set);
        result->state = (enum doctor_state)state;
        result->severity = (enum doctor_severity)severity;
    }
    for (int c = 0; c < doctor_nchecks && whole; c++)
        whole = take_lines(&rest, &report->results[c].evidence);
    for (int g = 0; g < facts->ngpus && whole; g++)
        whole = take_text(&rest, facts->gpus[g].pci, sizeof facts->gpus[g].pci) &&
                take_text(&rest, facts->gpus[g].uuid, sizeof facts->gpus[g].uuid) &&
                take_text(&rest, facts->gpus[g].model, sizeof facts->gpus[g].model);
    return whole;
}
