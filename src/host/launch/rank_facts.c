/* What a rank says of itself: read in its process, checked in the leader's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/variables.h"
#include "host/discover/nvidia.h"
#include "host/launch/placement.h"
#include "host/sys/bind.h"
#include "host/sys/process.h"

/* Whole lines, as many as there is room for. */
static void read_unknown(struct facts *facts)
{
    struct text text = {0};
    char *end;

    variables_note_unknown(environ, "\n", &text);
    snprintf(facts->unknown, sizeof facts->unknown, "%s", text.bytes ? text.bytes : "");
    end = strrchr(facts->unknown, '\n');
    if (end)
        end[1] = '\0';
    text_clear(&text);
}

int facts_read(const struct world *world, struct facts *facts, struct gpubind_error *err)
{
    struct binding_policy policy;

    memset(facts, 0, sizeof *facts);
    binding_policy_read(world, &policy);
    facts->binding = policy.binding;
    facts->rank = world->rank;
    facts->local = world->local;
    facts->unnumbered = world->unnumbered;
    facts->has_memory_policy = bind_has_memory_policy();
    nvidia_minors("", &facts->minors);
    read_unknown(facts);
    for (int which = 0; which < VISIBLE_VARIABLES; which++) {
        facts->visible[which] = getenv(visible_variable(which));
        facts->has_visible[which] = facts->visible[which] != NULL;
    }
    if (process_cpus(&facts->cpus, err) < 0)
        return -1;
    facts->allowed_cpus = facts->cpus;
    if (facts->binding == BINDING_ASKED)
        return 0;
    return process_cpus_before_binding(policy.has_daemon ? &policy.daemon : NULL,
                                       &facts->allowed_cpus, err);
}

int facts_pack(const struct facts *facts, struct rendezvous_message *message,
               struct gpubind_error *err)
{
    size_t size = sizeof *facts;
    char *at;

    for (int which = 0; which < VISIBLE_VARIABLES; which++) {
        size += facts->has_visible[which] ? strlen(facts->visible[which]) + 1 : 0;
        if (size > RENDEZVOUS_MAX)
            return error_set(err, "%s is too long: there are %zu bytes for it and its like",
                             visible_variable(which), RENDEZVOUS_MAX - sizeof *facts);
    }
    *message = (struct rendezvous_message){.bytes = malloc(size), .size = size};
    if (!message->bytes)
        return error_set(err, "out of memory");
    memcpy(message->bytes, facts, sizeof *facts);
    at = (char *)message->bytes + sizeof *facts;
    for (int which = 0; which < VISIBLE_VARIABLES; which++)
        if (facts->has_visible[which])
            at = stpcpy(at, facts->visible[which]) + 1;
    return 0;
}

void facts_unpack(const struct rendezvous_message *message, struct facts *facts)
{
    const char *at = (const char *)message->bytes + sizeof *facts;

    memcpy(facts, message->bytes, sizeof *facts);
    for (int which = 0; which < VISIBLE_VARIABLES; which++) {
        facts->visible[which] = facts->has_visible[which] ? at : NULL;
        at += facts->has_visible[which] ? strlen(at) + 1 : 0;
    }
}

/* ---- options that differ */

/* The line of the option that LINE begins with; NULL: it is none of LINES. */
static const char *find_option(const char *lines, const char *line)
{
    const size_t length = strcspn(line, " \n");

    while (*lines && (strncmp(lines, line, length) != 0 || strcspn(lines, " \n") != length)) {
        lines += strcspn(lines, "\n");
        lines += *lines == '\n';
    }
    return *lines ? lines : NULL;
}

/* The first line of A that is none of B's. */
static const char *first_difference(const char *a, const char *b)
{
    while (*a) {
        const char *other = find_option(b, a);
        const size_t length = strcspn(a, "\n");

        if (!other || strcspn(other, "\n") != length || strncmp(other, a, length) != 0)
            return a;
        a += length;
        a += *a == '\n';
    }
    return NULL;
}

/* An option as a rank was given it. */
static void add_given(const char *lines, const char *line, struct text *text)
{
    const char *own = find_option(lines, line);

    if (own)
        text_add(text, "%.*s", (int)strcspn(own, "\n"), own);
    else
        text_add(text, "no %.*s", (int)strcspn(line, " \n"), line);
}

int facts_refuse_difference(const struct facts *a, const struct facts *b, struct gpubind_error *err)
{
    const bool known = (a->given[0] || !a->rules_digest) && (b->given[0] || !b->rules_digest);
    const char *line = known ? first_difference(a->given, b->given) : NULL;
    struct text text = {0};

    if (known && !line)
        line = first_difference(b->given, a->given);
    if (line) {
        text_add(&text, ": ");
        add_given(a->given, line, &text);
        text_add(&text, " and ");
        add_given(b->given, line, &text);
    }
    error_set(err, "local ranks %d and %d were given different placement options%s", a->local,
              b->local, text.bytes ? text.bytes : "");
    text_clear(&text);
    return -1;
}

/* ---- checks: the sender is a process of the same user, not necessarily of this build */

static bool is_text(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

/* A bool with another value must not even be read as one. */
static bool is_bool(const bool *flag)
{
    return *(const unsigned char *)flag <= 1;
}

static bool has_good_texts(const struct facts *facts)
{
    return is_text(facts->planned_gpus, sizeof facts->planned_gpus) &&
           is_text(facts->given, sizeof facts->given) &&
           is_text(facts->failure, sizeof facts->failure) &&
           is_text(facts->unknown, sizeof facts->unknown);
}

/* A text for each variable that is set stands behind the facts, and nothing else. */
static bool has_good_visible(const struct facts *facts, size_t size)
{
    const char *at = (const char *)facts + sizeof *facts;
    size_t left = size - sizeof *facts;

    for (int which = 0; which < VISIBLE_VARIABLES; which++) {
        if (!is_bool(&facts->has_visible[which]))
            return false;
        if (!facts->has_visible[which])
            continue;
        if (!is_text(at, left))
            return false;
        left -= strlen(at) + 1;
        at += strlen(at) + 1;
    }
    return left == 0;
}

static bool has_good_prefs(const struct prefs *prefs)
{
    return (unsigned)prefs->visible <= VISIBLE_ALL && (unsigned)prefs->ids <= IDS_INDEX &&
           (unsigned)prefs->nic <= NIC_NONE && is_bool(&prefs->omp) &&
           is_bool(&prefs->ze.composite) && is_bool(&prefs->ze.by_pci);
}

int facts_check(const void *bytes, size_t size, struct gpubind_error *err)
{
    const struct facts *facts = bytes;

    if (size < sizeof *facts || !is_text(facts->version, sizeof facts->version) ||
        strcmp(facts->version, PACKAGE_VERSION) != 0)
        return error_set(err, "the ranks of this node run different versions of gpubind");
    if (facts->rank < 0 || facts->local < 0 || (unsigned)facts->binding > BINDING_UNKNOWN ||
        !is_bool(&facts->unnumbered) || (unsigned)facts->report > (REPORT_TABLE | REPORT_JSON) ||
        !is_bool(&facts->verbose) || !is_bool(&facts->mps) || !is_bool(&facts->has_memory_policy) ||
        !is_bool(&facts->planned) || !is_bool(&facts->planned_master) ||
        !has_good_prefs(&facts->prefs) || !has_good_texts(facts) || !has_good_visible(facts, size))
        return error_set(err, "a process of this node says what no rank can have said");
    return 0;
}
