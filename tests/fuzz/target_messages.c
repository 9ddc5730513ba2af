/* What another process sent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/msg/msg_header.h"
#include "core/topo/node_serialize.h"
#include "host/launch/placement.h"
#include "host/launch/rank_directives.h"
#include "tests/cases.h"
#include "tests/fuzz/fuzz.h"

static struct node copy_node(const struct node *node)
{
    struct gpubind_error err;
    struct node copy;
    size_t size;
    void *bytes = node_pack(node, &size);

    FUZZ_CHECK(node_unpack(bytes, size, &copy, &err) == 0);
    free(bytes);
    return copy;
}

/* What the child that discovers sends: a good node with changes, some more bytes or
 * fewer. */
void fuzz_packed(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    struct policy policy;
    struct gpubind_error err;
    struct node node;
    struct job job;
    size_t packed_size;
    char *packed = node_pack(fuzz_node(), &packed_size);
    size_t cut = fuzz_byte(&input);

    policy_default(&policy);
    policy.gpus_per_rank = 1 + (int)(fuzz_byte(&input) % 3);
    fuzz_patch(&input, packed, packed_size);
    packed = realloc(packed, packed_size - cut);
    fuzz_expect(&err);
    if (node_unpack(packed, packed_size - cut, &node, &err) < 0) {
        fuzz_refused(&err);
    } else {
        job_unbound(&node, 5, &job);
        fuzz_plan(&node, &job, &policy);
        job_clear(&job);
    }
    node_clear(&node);
    free(packed);
}

/* What the ranks of a node say to their leader, and what follows from it. */
static void place(const struct facts *facts, int n, const struct rules *rules)
{
    struct placement placement = {.node = copy_node(fuzz_node())};
    struct text notes = {0};
    struct gpubind_error err;

    fuzz_expect(&err);
    if (placement_make(&placement, rules, facts, n, &notes, &err) < 0)
        fuzz_refused(&err);
    else
        fuzz_check_plan(&placement.node, &placement.plan);
    for (int i = 0; placement.plan.nranks && i < n; i++) {
        const struct plan_rank *rank = plan_find(&placement.plan, facts[i].local);
        struct text directives = {0};
        struct env_list env;

        FUZZ_CHECK(rank && render_env(&placement.node, &placement.plan, rank, &facts[i].prefs,
                                      PACKAGE_VERSION, &env) == 0);
        directives_render(&placement.plan, rank, true, &env, &directives);
        FUZZ_CHECK(directives.length && !directives.bytes[directives.length - 1]);
        env_list_clear(&env);
        text_clear(&directives);
    }
    text_clear(&notes);
    placement_clear(&placement);
}

struct fuzz_message {
    struct facts facts;
    char values[256]; /* of visible */
};

/* The values end where those of the variables that are set do. */
static size_t message_size(const struct fuzz_message *message)
{
    size_t at = 0;

    for (int which = 0; which < VISIBLE_VARIABLES && at < sizeof message->values; which++)
        if (*(const unsigned char *)&message->facts.has_visible[which])
            at += strnlen(message->values + at, sizeof message->values - at) + 1;
    return sizeof message->facts + (at < sizeof message->values ? at : sizeof message->values);
}

void fuzz_facts(const char *bytes, size_t size)
{
    struct fuzz_input input = {bytes, bytes + size};
    static struct rules rules;
    int n = 1 + (int)fuzz_byte(&input) % 4, good = 0;
    struct fuzz_message *messages = calloc((size_t)n, sizeof *messages);
    struct facts *facts = calloc((size_t)n, sizeof *facts);
    struct gpubind_error err;

    policy_default(&rules.policy);
    rules.policy.bind = (enum bind_level)(fuzz_byte(&input) % (BIND_NONE + 1));
    for (int i = 0; i < n; i++) {
        messages[i].facts.rank = messages[i].facts.local = i;
        snprintf(messages[i].facts.version, sizeof facts->version, "%s", PACKAGE_VERSION);
        idset_add(&messages[i].facts.cpus, i);
        node_pus(fuzz_node(), &messages[i].facts.allowed_cpus);
    }
    fuzz_patch(&input, messages, (size_t)n * sizeof *messages);
    for (int i = 0; i < n; i++) {
        const struct rendezvous_message message = {&messages[i], message_size(&messages[i]), 0};

        fuzz_expect(&err);
        if (facts_check(message.bytes, message.size, &err) < 0) {
            fuzz_refused(&err);
        } else {
            facts_unpack(&message, &facts[i]);
            good++;
        }
    }
    if (good == n)
        place(facts, n, &rules);
    free(facts);
    free(messages);
}

/* What the leader answers. */
void fuzz_directives(const char *bytes, size_t size)
{
    char *directives = malloc(size + 1), *none[] = {NULL};
    struct text notes = {0};
    struct gpubind_error err;

    memcpy(directives, bytes, size);
    directives = realloc(directives, size ? size : 1);
    fuzz_expect(&err);
    fuzz_environment(none);
    if (directives_apply(directives, size, &notes, &err) < 0)
        fuzz_refused(&err);
    clearenv();
    fuzz_environment_restore();
    text_clear(&notes);
    free(directives);
}

/* What one rank's library writes to another's. */
void fuzz_wire(const char *bytes, size_t size)
{
    char *message = malloc(size + 1);
    struct gpubind_error err;
    struct msg_header header;

    memcpy(message, bytes, size);
    message = realloc(message, size ? size : 1);
    fuzz_expect(&err);
    if (msg_check(message, size, &err) < 0) {
        fuzz_refused(&err);
    } else if (msg_kind(message) == MSG_CTS || msg_kind(message) == MSG_CREDIT) {
        FUZZ_CHECK(size >= sizeof(struct msg_cts));
    } else {
        FUZZ_CHECK(size >= sizeof header);
        memcpy(&header, message, sizeof header);
        FUZZ_CHECK(!(header.flags & MSG_EAGER) || header.nbytes == size - sizeof header);
    }
    free(message);
}
