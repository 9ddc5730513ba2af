/* What the leading rank does for its node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bin/run.h"
#include "core/env/mps_env.h"
#include "core/report/render.h"
#include "host/launch/rank_directives.h"
#include "host/launch/sibling_ranks.h"
#include "host/mps/mps_control.h"

int run_prepare(void *context, struct gpubind_error *err)
{
    struct run *run = context;

    if (run->failure)
        return 0;
    if (placement_load(&run->placement, &run->options->rules, run->options->rules.topology, err) <
        0)
        return -1;
    /* A recorded machine stands for the node that this rank is on. */
    gethostname(run->placement.node.name, sizeof run->placement.node.name - 1);
    return 0;
}

/* forms: bits of enum report_form. */
static void report(struct run *run, int forms, bool why)
{
    const struct gpu_ranks no_peers = {0};
    const struct placement *placement = &run->placement;
    struct text text = {0};

    if (!run->options->quiet && run->notes.length)
        say_lines(run->notes.bytes);
    if (why && run->remarks.length)
        say_lines(run->remarks.bytes);
    if (why) {
        render_why(&placement->node, &placement->plan, &placement->policy, &text);
        say_lines(text.bytes);
        text_clear(&text);
    }
    if (forms & REPORT_JSON) {
        render_json(&placement->node, &placement->plan, NULL, &text);
        write_all(STDERR_FILENO, &text);
        text_clear(&text);
    }
    if (forms & REPORT_TABLE) {
        render_table(&placement->node, &placement->plan, &no_peers, &text);
        if (run->plugin == PLUGIN_KEPT)
            text_add(&text, "  planned by gpubind's plugin, CPUs bound by the launcher\n");
        if (placement->plan.notes & NOTE_GPUS_SHARED && !placement->node.recorded)
            text_add(&text, "  GPUs are shared: %s\n",
                     run->mps.runs ||
                             mps_is_served("", mps_directory(getenv("CUDA_MPS_PIPE_DIRECTORY")))
                         ? "an MPS server is running"
                         : "no MPS server is running, ranks take turns");
        write_all(STDERR_FILENO, &text);
    }
    text_clear(&text);
    text_clear(&run->notes);
}

bool run_complete(void *context, int came)
{
    struct run *run = context;
    int coming = sibling_ranks_coming(run->world.daemons, run->world.mixed);

    run->complete = coming < 0 ? run->world.mixed : coming <= came;
    return run->complete;
}

void run_say_failure(void *context, const struct gpubind_error *err)
{
    (void)context;
    fail(err);
}

static int render_directives(const struct run *run, const struct facts *facts,
                             struct rendezvous_message *answer, struct gpubind_error *err)
{
    const struct placement *placement = &run->placement;
    const struct plan_rank *rank = plan_find(&placement->plan, facts->local);
    struct text text = {0};
    struct env_list env;
    int status = 0;

    env.n = 0;
    if (facts->planned)
        /* Nothing is left to do, but an answer must not be empty. */
        text_add(&text, "=GPUBIND_MADE_BY=plugin%c", '\0');
    else
        status = render_env(&placement->node, &placement->plan, rank, &facts->prefs,
                            PACKAGE_VERSION, &env);
    if (status == 0 && run->mps.runs)
        status = mps_render_env(&placement->plan, rank, run->mps.pipe, run->mps.log, &env);
    if (status == 0)
        directives_render(&placement->plan, rank, !placement->node.recorded && !facts->planned,
                          &env, &text);
    env_list_clear(&env);
    if (status < 0 || text.failed) {
        text_clear(&text);
        return error_set(err, "out of memory");
    }
    *answer = (struct rendezvous_message){.bytes = text.bytes, .size = text.length};
    return 0;
}

static int check_facts(const struct rendezvous_message *messages, int n, struct gpubind_error *err)
{
    for (int i = 0; i < n; i++)
        if (facts_check(messages[i].bytes, messages[i].size, err) < 0)
            return -1;
    for (int i = 0; i < n; i++) {
        const struct facts *facts = messages[i].bytes;

        if (facts->failure[0])
            return error_set(err, "%s", facts->failure);
    }
    return 0;
}

/* Whether the other ranks exist but cannot be reached, as in network namespaces of their own. */
static bool is_cut_off(const struct run *run, int came)
{
    return came == 1 && run->world.local_size > 1 && !run->world.mixed && !run->complete;
}

/* How many ranks the node has at least: local ranks have no gaps. */
static int least_size(const struct run *run, const struct rendezvous_message *messages, int came)
{
    int least = run->world.local_size;

    for (int i = 0; i < came && !run->world.local_size && !run->world.unnumbered; i++) {
        const struct facts *facts = messages[i].bytes;

        if (facts->local >= least && facts->local < IDSET_MAX)
            least = facts->local + 1;
    }
    return least;
}

/* Those of the node's ranks that did not come: by their rank in the job where all of it is
 * here, else by their local rank. */
static void note_missing(struct run *run, const struct rendezvous_message *messages, int came,
                         int size)
{
    const struct world *world = &run->world;
    bool whole = world->local_size && world->size == world->local_size;
    struct idset missing;
    char *list;

    idset_clear(&missing);
    for (int i = 0; i < size && i < IDSET_MAX; i++)
        idset_add(&missing, i);
    for (int i = 0; i < came; i++) {
        const struct facts *facts = messages[i].bytes;

        idset_remove(&missing, whole ? facts->rank : facts->local);
    }
    list = idlist_text(&missing);
    text_add(&run->notes, "%d of %s %d ranks on this node came here; not counted: %srank%s %s\n",
             came, world->local_size ? "the" : "at least", size, whole ? "" : "local ",
             idset_count(&missing) == 1 ? "" : "s", list ? list : "");
    free(list);
}

static int note_absence(struct run *run, const struct rendezvous_message *messages, int came,
                        struct gpubind_error *err)
{
    int size = least_size(run, messages, came);

    if (is_cut_off(run, came)) {
        if (run->options->rules.nmasters)
            return error_set(err, "the ranks of this node cannot meet, so that --master cannot "
                                  "be told by all");
        if (run->options->mps)
            return error_set(err, "the ranks of this node cannot meet, so that --mps cannot "
                                  "start one server for all");
        text_add(&run->notes,
                 "no other of the %d ranks on this node came here; planned as if all "
                 "were like this one\n",
                 run->world.local_size);
    } else if (came < size) {
        note_missing(run, messages, came, size);
    }
    return 0;
}

/* Most often all ranks have the same: each line once. */
static void note_unknown(const struct rendezvous_message *messages, int n, struct text *notes)
{
    for (int i = 0; i < n; i++)
        for (const char *line = ((const struct facts *)messages[i].bytes)->unknown; *line;) {
            char one[sizeof((struct facts *)NULL)->unknown];
            int length = (int)strcspn(line, "\n") + 1;

            snprintf(one, sizeof one, "%.*s", length, line);
            if (!notes->bytes || !strstr(notes->bytes, one))
                text_add(notes, "%s", one);
            line += length;
        }
}

/* The facts of all ranks; those that cannot be reached are assumed to be like this one. The
 * caller frees. */
static struct facts *collect(const struct run *run, const struct rendezvous_message *messages,
                             int came, int *n, struct gpubind_error *err)
{
    bool cut_off = is_cut_off(run, came);
    struct facts *facts;

    *n = cut_off ? run->world.local_size : came;
    facts = calloc((size_t)*n, sizeof *facts);
    if (!facts)
        error_set(err, "out of memory");
    for (int i = 0; facts && i < came; i++)
        facts_unpack(&messages[i], &facts[i]);
    for (int i = came, local = 0; facts && i < *n; i++, local++) {
        local += local == facts[0].local;
        facts[i] = facts[0];
        facts[i].local = local;
        facts[i].rank = -1;
    }
    for (int i = 0; facts && i < came; i++)
        if (facts[i].unnumbered) {
            facts[i].local = 0;
            for (int j = 0; j < came; j++)
                facts[i].local += facts[j].rank < facts[i].rank;
        }
    return facts;
}

int run_decide(void *context, const struct rendezvous_message *messages, int came,
               struct rendezvous_message *answers, struct gpubind_error *err)
{
    struct run *run = context;
    struct facts *facts = NULL;
    bool why = false;
    int forms = 0, n = 0, status = -1;

    if (check_facts(messages, came, err) == 0 &&
        (!run->world.size ||
         rules_check_masters(&run->options->rules, run->world.size, err) == 0) &&
        note_absence(run, messages, came, err) == 0 &&
        (facts = collect(run, messages, came, &n, err)))
        status = placement_make(&run->placement, &run->options->rules, facts, n, &run->notes, err);
    if (status == 0)
        status = mps_start(&run->placement, facts, messages, came, &run->mps, &run->notes,
                           &run->remarks, err);
    for (int i = 0; i < came && status == 0; i++) {
        forms |= facts[i].report;
        why |= facts[i].verbose;
    }
    if (status == 0)
        note_unknown(messages, came, &run->notes);
    if (status == 0)
        report(run, forms, why);
    for (int i = 0; i < came && status == 0; i++)
        status = render_directives(run, &facts[i], &answers[i], err);
    free(facts);
    return status;
}
